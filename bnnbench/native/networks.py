"""Outputs, gradients and training steps of stacked networks, for tensors on the CPU."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from bnnbench.cpp.library import has_native_code, library
from bnnbench.inheritance import Replacement, first_replaced
from bnnbench.likelihoods.base import Likelihood
from bnnbench.likelihoods.gaussian import Gaussian
from bnnbench.likelihoods.heteroscedastic import Heteroscedastic
from bnnbench.losses.nll import NLL
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
    """
    code = library().code
    assert code is not None and outputs.is_contiguous()
    check_tensors(mlp, networks, inputs, torch.float32)
    networks, inputs = networks.contiguous(), inputs.contiguous()
    samples, sets, _ = networks.shape
    code.evaluate(
        (ctypes.c_int64 * len(mlp.sizes))(*mlp.sizes), len(mlp.sizes) - 1,
        samples, sets, inputs.shape[1],
        networks.data_ptr(), inputs.data_ptr(), outputs.data_ptr(),
    )  # fmt: skip


def check_tensors(mlp: MLP, weights: Tensor, inputs: Tensor, dtype: torch.dtype) -> None:
    """Check tensors that native code reads, since those of a received model may have any shape.

    Args:
        mlp: the network shape.
        weights: `[..., R, P]`.
        inputs: `[R, M, D]`.
        dtype: of both.

    Raises:
        ValueError: if a shape or type is another.
    """
    expected = (len(inputs), mlp.n_weights, mlp.sizes[0], dtype, dtype)
    if (*weights.shape[-2:], inputs.shape[2], weights.dtype, inputs.dtype) != expected:
        raise ValueError("tensors do not fit the network")


DENSITY = ("value", "gradient", "outputs", "hyper_names", "mean_slope", "slopes")
"""Attributes of likelihoods and losses that native code replaces."""


def has_native_gradients(likelihood: Likelihood, like: Tensor) -> bool:
    """Whether native code supports the likelihood, its loss and tensors like `like`."""
    known = isinstance(likelihood, Gaussian | Heteroscedastic) and isinstance(likelihood.loss, NLL)
    return known and replaced_density(likelihood) is None and has_native_code(like)


def replaced_density(likelihood: Likelihood) -> Replacement | None:
    """Return what a subclass of a likelihood, or of its loss, has in place of their densities."""
    for component, known in ((likelihood, (Gaussian, Heteroscedastic)), (likelihood.loss, (NLL,))):
        if type(component) in known:  # the usual case, which must be fast
            continue
        base = next((cls for cls in known if isinstance(component, cls)), None)
        found = base and first_replaced(component, base, DENSITY)
        if found:
            return found
    return None


def fits_state(update: NativeUpdate, mlp: MLP, state: Mapping[str, Tensor]) -> bool:
    """Whether a state has the entries of a native update, in the shapes and type that it reads."""
    width = update.members * mlp.n_weights
    widths = dict.fromkeys(update.tensors, width) | dict.fromkeys(update.scalars, update.members)
    return all(
        name in state
        and state[name].shape[1:] == (size,)
        and state[name].dtype == torch.float32
        and state[name].device.type == "cpu"
        for name, size in widths.items()
    )


def gradient_moments(
    mlp: MLP,
    loc: Tensor,
    scale: Tensor | None,
    noise: Tensor | None,
    data: tuple[Tensor, Tensor, Tensor],
    precision: Tensor | None,
    *,
    square: bool = False,
    cross: bool = False,
) -> tuple[Tensor, Tensor | None, Tensor | None]:
    """Return means over weight samples of the gradients of `sum_b weights[b] loss[b]`.

    The loss is the negative log-likelihood: of the likelihood `Gaussian` for networks with one
    output, of `Heteroscedastic` for networks with two.

    Args:
        mlp: the network shape.
        loc: `[n, P]`, means of the weights of n networks; network k uses training set `k % R`.
        scale: `[n, P or 1]`, standard deviations; None evaluates the gradient at `loc`.
        noise: `[S, n or 1, P]`, standard normal: the weights are `loc + scale * noise`.
        data: inputs `[R, B, D]`, targets `[R, B]` and row weights `[R, B]`.
        precision: `[R, 1]`, noise precision; None if a second output predicts it.
        square: whether to return the mean of the squared gradients.
        cross: whether to return the mean of the gradients times the noise.

    Returns:
        The means of the gradient, of its square and of its product with the noise, `[n, P]` each
        or None.
    """
    code = library().code
    assert code is not None and mlp.sizes[-1] == (1 if precision is not None else 2)
    inputs, targets, weights = (one.contiguous() for one in data)
    sets, rows, _ = inputs.shape
    samples, shared = noise.shape[:2] if noise is not None else (1, 1)
    # These variables keep the tensors alive during the call, which gets only their addresses.
    loc = loc.contiguous()
    scale = None if scale is None else scale.expand_as(loc)
    spread = [None if one is None else one.contiguous() for one in (scale, noise)]
    precision = None if precision is None else precision.expand(sets, 1).contiguous()
    mean = torch.empty_like(loc)
    second, third = (torch.empty_like(mean) if needed else None for needed in (square, cross))
    code.gradient_moments(
        (ctypes.c_int64 * len(mlp.sizes))(*mlp.sizes), len(mlp.sizes) - 1,
        len(loc), sets, samples, shared, rows,
        *map(_address, (loc, *spread, inputs, targets, weights, precision, mean, second, third)),
    )  # fmt: skip
    return mean, second, third


def _address(tensor: Tensor | None) -> int | None:
    return None if tensor is None else tensor.data_ptr()


RULES = ("vadam", "vprop", "bbb", "map", "sgld", "psgld", "mc_dropout", "ivon", "renyi_vi",
         "sghmc", "swag")  # fmt: skip
"""Names of the update rules in the order of `RULES` in kernel.cpp."""

NUMBER, WORD, REAL, ARRAY = ctypes.c_int64, ctypes.c_uint64, ctypes.c_double, ctypes.c_void_p


class StepArguments(ctypes.Structure):
    """The struct `StepArguments` of kernel.cpp, where the fields are documented."""

    _fields_ = (
        ("sizes", ARRAY), ("layers", NUMBER), ("sets", NUMBER), ("members", NUMBER),
        ("inputs", ARRAY), ("targets", ARRAY), ("counts", ARRAY), ("precisions", ARRAY),
        ("priors", ARRAY), ("dropouts", ARRAY), ("kl_weights", ARRAY),
        ("length", NUMBER), ("samples", NUMBER), ("batch", NUMBER),
        ("rule", NUMBER), ("rate", REAL), ("betas", REAL * 2), ("own", REAL * 5),
        ("state", ARRAY), ("tensors", NUMBER), ("alive", ARRAY), ("order", ARRAY), ("keys", ARRAY),
        ("place", WORD), ("drawn", ARRAY), ("pieces", NUMBER), ("groups", NUMBER), ("group", ARRAY),
        ("orders", NUMBER), ("epoch", NUMBER), ("first", NUMBER), ("steps", NUMBER),
    )  # fmt: skip


class NativeTrainer:
    """Trains stacked networks on minibatches of their training sets.

    Args:
        update: the training step.
        mlp: the network shape, with one or two outputs, as for `gradient_moments`.
        data: R training sets.
        hyper: `prior_precision`, for networks with one output `noise_precision`, and for updates
            with dropout `dropout`, `[R, 1]` each.
        training: learning rate, decay rates, weight samples and batch size.
        kl_weights: weight of the KL divergence in each minibatch of an epoch.
        state: the entries of the update, contiguous float32 (`fits_state`), updated in place. The
            scalars of `renyi_vi` with learned noise are its log variance and the two Adam averages
            of it; that of `swag` is the number of steps with Adam.
        alive: `[R]`, updated in place: replicas that are not finite after a call are no longer
            alive, and later calls skip them.
        streams: of the noise; each replica uses the numbers of its group.
        drawn: how many numbers each step of an epoch draws: as many lists as minibatches. A step
            draws one piece `[S, P]` of standard normal numbers, or one piece `[S, B, units]` of
            uniform numbers per layer for dropout masks, or nothing.
    """

    def __init__(
        self,
        update: NativeUpdate,
        mlp: MLP,
        data: TrainingSet,
        hyper: Hyper,
        training: Training,
        kl_weights: Sequence[float],
        state: Mapping[str, Tensor],
        alive: Tensor,
        streams: Streams,
        drawn: Sequence[Sequence[int]],
    ) -> None:
        code = library().code
        assert len(streams.groups) == data.replicas
        assert code is not None and mlp.sizes[-1] == (1 if "noise_precision" in hyper else 2)
        self._take_steps, sets, rows = code.take_steps, data.replicas, data.inputs.shape[1]
        self._state = [state[name] for name in (*update.tensors, *update.scalars)]
        assert fits_state(update, mlp, state) and all(one.is_contiguous() for one in self._state)
        none = torch.zeros(1, dtype=torch.float32, device="cpu")
        # Keep references to all tensors whose addresses are passed.
        self._tensors = {
            "sizes": torch.tensor(mlp.sizes, device="cpu"),
            "inputs": data.inputs.contiguous(),
            "targets": data.targets.contiguous(),
            "counts": torch.tensor(data.counts, device="cpu"),
            "precisions": hyper.get("noise_precision", none).expand(sets, 1).contiguous(),
            "priors": hyper["prior_precision"].expand(sets, 1).contiguous(),
            "dropouts": hyper.get("dropout", none).expand(sets, 1).contiguous(),
            "kl_weights": torch.tensor(kl_weights, dtype=torch.float32, device="cpu"),
            "state": torch.tensor([one.data_ptr() for one in self._state], device="cpu"),
            "alive": alive,
            "group": streams.groups,
            "drawn": torch.tensor(drawn, dtype=torch.int64, device="cpu"),
        }
        self._keys = (WORD * streams.size)(*streams.keys)
        self._given = StepArguments(
            **{name: tensor.data_ptr() for name, tensor in self._tensors.items()},
            layers=len(mlp.sizes) - 1, sets=sets, members=update.members, tensors=len(self._state),
            length=rows, samples=training.samples, batch=min(int(training.batch_size), rows),
            rule=RULES.index(update.name), rate=training.learning_rate, betas=training.betas,
            own=update.constants, keys=ctypes.addressof(self._keys), groups=streams.size,
            pieces=len(drawn[0]),
        )  # fmt: skip

    def take_steps(
        self, epoch: int, minibatches: range, order: Tensor, place: int, learning_rate: float
    ) -> None:
        """Take one step for each of some minibatches of an epoch.

        Args:
            epoch: counted from 0.
            minibatches: their indices.
            order: `[R or 1, N]` int64, the order in which this epoch visits the rows.
            place: the counter of the first random number.
            learning_rate: of these steps.
        """
        arguments = self._given
        arguments.epoch, arguments.rate, arguments.place = epoch, learning_rate, place
        arguments.first, arguments.steps = minibatches.start, len(minibatches)
        arguments.order, arguments.orders = order.data_ptr(), len(order)
        self._take_steps(ctypes.byref(arguments))
