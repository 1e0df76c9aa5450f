"""Outputs, gradients and training steps of stacked networks, for tensors on the CPU."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from bnnbench.cpp.library import ARRAY, NUMBER, REAL, WORD, Addresses, has_native_code, library
from bnnbench.divergences.kl import KL
from bnnbench.inheritance import Replacement, first_replaced
from bnnbench.likelihoods import Gaussian, Heteroscedastic, HeteroscedasticSoftplus, Likelihood
from bnnbench.losses import NLL
from bnnbench.nn import MLP
from bnnbench.optim import NativeUpdate
from bnnbench.random_streams import Streams
from bnnbench.settings import Training
from bnnbench.types import Hyper, TrainingSet


def predict_outputs(mlp: MLP, networks: Tensor, inputs: Tensor, outputs: Tensor) -> None:
    """Write the outputs of networks to `outputs`.

    Args:
        mlp: the network shape.
        networks: `[S, R, P]`, float32.
        inputs: `[R, M, D]`, float32.
        outputs: `[S, R, M, O]`, float32, contiguous.

    Raises:
        UserError: if a tensor has another type or shape.
    """
    code, address = library().code, Addresses()
    assert code is not None
    samples, (sets, rows, _) = len(networks), inputs.shape
    code.evaluate(
        (ctypes.c_int64 * len(mlp.sizes))(*mlp.sizes), len(mlp.sizes) - 1, samples, sets, rows,
        address.read("of weights", networks, torch.float32, samples, sets, mlp.n_weights),
        address.read("of inputs", inputs, torch.float32, sets, rows, mlp.sizes[0]),
        address.write("of outputs", outputs, torch.float32, samples, sets, rows, mlp.sizes[-1]),
    )  # fmt: skip


def propagate_moments(
    mlp: MLP, loc: Tensor, scale: Tensor, inputs: Tensor
) -> tuple[Tensor, Tensor]:
    """Return means and variances of the outputs of networks with one output, `[R, M]` each.

    Args:
        mlp: the network shape.
        loc: `[R, P]`, means of the weights, float32.
        scale: `[R, P]`, standard deviations, float32.
        inputs: `[R, M, D]`, float32.

    Raises:
        UserError: if a tensor has another type or shape.
    """
    code, address = library().code, Addresses()
    assert code is not None
    sets, rows, _ = inputs.shape
    mean, variance = (torch.empty(sets, rows, dtype=torch.float32, device="cpu") for _ in range(2))
    code.propagate_moments(
        (ctypes.c_int64 * len(mlp.sizes))(*mlp.sizes), len(mlp.sizes) - 1, sets, rows,
        address.read("of means", loc, torch.float32, sets, mlp.n_weights),
        address.read("of standard deviations", scale, torch.float32, sets, mlp.n_weights),
        address.read("of inputs", inputs, torch.float32, sets, rows, mlp.sizes[0]),
        mean.data_ptr(), variance.data_ptr(),
    )  # fmt: skip
    return mean, variance


DENSITY = ("value", "gradient", "outputs", "hyper_names", "mean_slope", "slopes", "curvature_roots",
           "curvatures")  # fmt: skip

COMPONENTS: Mapping[type, tuple[str, ...]] = {
    Gaussian: DENSITY, HeteroscedasticSoftplus: DENSITY, Heteroscedastic: DENSITY, NLL: DENSITY,
    KL: ("gradient",),
}  # fmt: skip
"""The likelihoods, losses and divergences that native code supports, subclasses first, with their
attributes that it replaces."""


def has_native_gradients(likelihood: Likelihood, like: Tensor) -> bool:
    """Whether native code supports the likelihood, its loss and tensors like `like`."""
    parts = (likelihood, likelihood.loss)
    return are_supported(*parts) and not replaced_part(*parts) and has_native_code(like)


def are_supported(*parts: object) -> bool:
    """Whether native code supports the classes of components, or base classes of them."""
    return all(isinstance(part, tuple(COMPONENTS)) for part in parts)


def replaced_part(*parts: object) -> Replacement | None:
    """Return the first attribute that a subclass of a supported component replaces."""
    for part in parts:
        if type(part) in COMPONENTS:  # the usual case, which must be fast
            continue
        base = next((cls for cls in COMPONENTS if isinstance(part, cls)), None)
        found = base and first_replaced(part, base, COMPONENTS[base])
        if found:
            return found
    return None


def fits_state(update: NativeUpdate, mlp: MLP, state: Mapping[str, Tensor], replicas: int) -> bool:
    """Whether a state has the entries of a native update, in the shapes that it changes."""
    return all(
        name in state and state[name].shape == (replicas, size)
        for name, size in _widths(update, mlp).items()
    )


def _widths(update: NativeUpdate, mlp: MLP) -> dict[str, int]:
    """Return the numbers of columns of the entries of a native update, by name and in order."""
    width = update.members * (mlp.n_weights + update.coordinates)
    return dict.fromkeys(update.tensors, width) | dict.fromkeys(update.scalars, update.members)


def has_softplus(likelihood: Likelihood) -> bool:
    """Whether a second output is the noise variance through a softplus."""
    return isinstance(likelihood, HeteroscedasticSoftplus)


def gradient_moments(
    mlp: MLP,
    likelihood: Likelihood,
    loc: Tensor,
    scale: Tensor | None,
    noise: Tensor | None,
    data: tuple[Tensor, Tensor, Tensor],
    hyper: Hyper,
    *,
    square: bool = False,
    cross: bool = False,
) -> tuple[Tensor, Tensor | None, Tensor | None]:
    """Return means over weight samples of the gradients of `sum_b weights[b] loss[b]`.

    Args:
        mlp: the network shape.
        likelihood: for which `has_native_gradients`.
        loc: `[n, P]`, means of the weights of n networks; network k uses training set `k % R`.
        scale: `[n, P or 1]`, standard deviations; None evaluates the gradient at `loc`.
        noise: `[S, n or 1, P]`, standard normal: the weights are `loc + scale * noise`.
        data: inputs `[R, B, D]`, targets `[R, B]` and row weights `[R, B]`.
        hyper: `noise_precision`, `[R, 1]`, for networks with one output.
        square: whether to return the mean of the squared gradients.
        cross: whether to return the mean of the gradients times the noise.

    Returns:
        The means of the gradient, of its square and of its product with the noise, `[n, P]` each
        or None.

    Raises:
        UserError: if a tensor has another type or shape.
    """
    code, address = library().code, Addresses()
    assert code is not None
    precision = hyper["noise_precision"] if mlp.sizes[-1] == 1 else None
    inputs, targets, weights = data
    (count, size), (sets, rows, _) = loc.shape, inputs.shape
    scale = None if scale is None else scale.expand_as(loc)
    samples, shared = noise.shape[:2] if noise is not None else (1, 1)
    mean = torch.empty(count, size, dtype=torch.float32, device="cpu")
    second, third = (torch.empty_like(mean) if needed else None for needed in (square, cross))
    read = (
        ("of weights", loc, (count, mlp.n_weights)),
        ("of standard deviations", scale, (count, size)),
        ("of noise", noise, (samples, count if shared == count else 1, size)),
        ("of inputs", inputs, (sets, rows, mlp.sizes[0])),
        ("of targets", targets, (sets, rows)),
        ("of row weights", weights, (sets, rows)),
        ("noise_precision", precision, (sets, 1)),
    )
    code.gradient_moments(
        (ctypes.c_int64 * len(mlp.sizes))(*mlp.sizes), len(mlp.sizes) - 1,
        count, sets, samples, shared, rows,
        *(one if one is None else address.read(name, one, torch.float32, *shape)
          for name, one, shape in read),
        has_softplus(likelihood),
        *(one if one is None else one.data_ptr() for one in (mean, second, third)),
    )  # fmt: skip
    return mean, second, third


RULES = ("vadam", "vprop", "bbb", "map", "sgld", "psgld", "mc_dropout", "ivon", "renyi_vi",
         "sghmc", "swag", "bb_alpha_dropout", "practical_vi", "svgd", "svgd_adagrad",
         "dvi")  # fmt: skip
"""Names of the update rules in the order of `RULES` in updates.h."""


class TrainingArguments(ctypes.Structure):
    """The struct `TrainingArguments` of kernel.cpp, where the fields are documented."""

    _fields_ = (
        ("sizes", ARRAY), ("layers", NUMBER), ("sets", NUMBER), ("members", NUMBER),
        ("softplus", NUMBER), ("inputs", ARRAY), ("targets", ARRAY), ("counts", ARRAY),
        ("precisions", ARRAY), ("priors", ARRAY), ("dropouts", ARRAY), ("kl_weights", ARRAY),
        ("length", NUMBER), ("samples", NUMBER), ("batch", NUMBER),
        ("rule", NUMBER), ("betas", REAL * 2), ("own", REAL * 5),
        ("state", ARRAY), ("tensors", NUMBER), ("alive", ARRAY), ("keys", ARRAY),
        ("drawn", ARRAY), ("pieces", NUMBER), ("groups", NUMBER), ("group", ARRAY),
        ("epoch", NUMBER), ("epochs", NUMBER), ("rates", ARRAY), ("place", WORD),
        ("saved", ARRAY), ("copies", NUMBER), ("out", ARRAY),
    )  # fmt: skip


class NativeTrainer:
    """Trains stacked networks on minibatches of their training sets.

    Args:
        update: the training step.
        mlp: the network shape.
        likelihood: for which `has_native_gradients`.
        data: R training sets.
        hyper: `prior_precision`, for networks with one output `noise_precision`, and for updates
            with dropout `dropout`, `[R, 1]` each; without those that the update learns.
        training: learning rate, decay rates, weight samples and batch size.
        kl_weights: weight of the KL divergence in each minibatch of an epoch.
        state: the entries of the update, contiguous float32 (see `fits_state`), updated in place.
            The scalars of `renyi_vi` with learned noise are its log variance and the two Adam
            averages of it; that of `swag` is the number of steps with Adam.
        alive: `[R]`, updated in place: replicas that are not finite after an epoch are no longer
            alive, and later epochs skip them.
        streams: of the noise; each replica uses the numbers of its group.
        drawn: how many numbers each step of an epoch draws: as many lists as minibatches. A step
            draws one piece `[S, P]` of standard normal numbers, or one piece `[S, B, units]` of
            uniform or normal numbers per layer for dropout masks, or nothing.
        saved_steps: increasing step numbers, from 1, after which the first tensor is copied.
        copies: `[K, R, members P]`, for `saved_steps`.

    Raises:
        UserError: if a tensor has another type or shape.
    """

    def __init__(
        self,
        update: NativeUpdate,
        mlp: MLP,
        likelihood: Likelihood,
        data: TrainingSet,
        hyper: Hyper,
        training: Training,
        kl_weights: Sequence[float],
        state: Mapping[str, Tensor],
        alive: Tensor,
        streams: Streams,
        drawn: Sequence[Sequence[int]],
        saved_steps: range,
        copies: Tensor,
    ) -> None:
        code, sets, rows = library().code, data.replicas, data.inputs.shape[1]
        assert code is not None
        none, single = torch.zeros(1, 1, dtype=torch.float32, device="cpu"), torch.float32
        address = self._addresses = Addresses()
        entries = [
            address.write(f"state[{name!r}]", state[name], single, sets, width)
            for name, width in _widths(update, mlp).items()
        ]
        noise = hyper.get("noise_precision", none) if mlp.sizes[-1] == 1 else none
        prior, dropout = hyper.get("prior_precision", none), hyper.get("dropout", none)
        weights = torch.tensor(kl_weights, dtype=single, device="cpu")
        self._keys = (WORD * streams.size)(*streams.keys)
        self._train_epochs = code.train_epochs
        width = state[update.tensors[0]].shape[1]
        self._given = TrainingArguments(
            sizes=address.integers(mlp.sizes), counts=address.integers(data.counts, rows),
            state=address.integers(entries), drawn=address.integers(drawn),
            precisions=address.read("noise_precision", noise, single, sets, 1),
            priors=address.read("prior_precision", prior, single, sets, 1),
            dropouts=address.read("dropout", dropout, single, sets, 1),
            inputs=address.read("of inputs", data.inputs, single, sets, rows, mlp.sizes[0]),
            targets=address.read("of targets", data.targets, single, sets, rows),
            kl_weights=address.read("of KL weights", weights, single, len(kl_weights)),
            group=address.read("of groups", streams.groups, torch.int64, sets),
            alive=address.write("of finite replicas", alive, torch.bool, sets),
            layers=len(mlp.sizes) - 1, sets=sets, members=update.members, tensors=len(entries),
            softplus=has_softplus(likelihood),
            length=rows, samples=training.samples, batch=min(int(training.batch_size), rows),
            rule=RULES.index(update.name), betas=training.betas, own=update.constants,
            keys=ctypes.addressof(self._keys), groups=streams.size, pieces=len(drawn[0]),
            saved=address.integers(saved_steps), copies=len(saved_steps),
            out=address.write("of copies", copies, single, len(saved_steps), sets, width),
        )  # fmt: skip

    def train_epochs(self, first: int, learning_rates: Sequence[float], place: int) -> None:
        """Train whole epochs, each in a random order of the rows.

        A replica that is not finite at the end of an epoch returns to its state before the epoch.

        Args:
            first: the first epoch, counted from 0.
            learning_rates: of each epoch.
            place: the counter of the first random number.
        """
        arguments, rates = self._given, (REAL * len(learning_rates))(*learning_rates)
        arguments.epoch, arguments.epochs, arguments.place = first, len(rates), place
        arguments.rates = ctypes.addressof(rates)
        self._train_epochs(ctypes.byref(arguments))
