"""Native outputs and gradients against torch, and propagation of NaN."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from support.user_errors import raises_user_error
from torch import Tensor

from bnnbench.cpp.library import has_native_code, library
from bnnbench.likelihoods import Gaussian, Heteroscedastic, HeteroscedasticSoftplus, Likelihood
from bnnbench.native.networks import gradient_moments, predict_outputs
from bnnbench.nn import MLP, backward, forward
from bnnbench.types import Hyper

Change = Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]

pytestmark = pytest.mark.skipif(library().code is None, reason=library().reason)


@pytest.mark.parametrize(
    ("sizes", "rows"), [((3, 1), 1), ((13, 100, 100, 2), 900), ((2, 7, 3), 77)]
)
def test_outputs_equal_those_of_torch(sizes: tuple[int, ...], rows: int) -> None:
    """For several samples and sets, in one or more blocks of rows; NaN does not spread."""
    streams = torch.Generator().manual_seed(rows)
    mlp = MLP(sizes)
    networks = torch.randn(4, 3, mlp.n_weights, generator=streams)
    inputs = torch.randn(3, rows, sizes[0], generator=streams)
    networks[1, 2, 0] = math.nan
    found = torch.full((4, 3, rows, sizes[-1]), 7.0)
    predict_outputs(mlp, networks, inputs, found)
    right, _ = forward(mlp, networks.double(), inputs.double())
    assert found[1, 2].isnan().all()
    size = right.nan_to_num().abs().max().item()
    torch.testing.assert_close(found, right.float(), rtol=1e-5, atol=1e-6 * size, equal_nan=True)


LIKELIHOODS: tuple[Likelihood, ...] = (Gaussian(), Heteroscedastic(), HeteroscedasticSoftplus())

MIN_ACTIVATION = 2e-6
"""The sign of smaller pre-activations is uncertain in float32."""


@dataclass(frozen=True)
class Problem:
    """Networks, sampled weights and rows, in float64."""

    mlp: MLP
    likelihood: Likelihood
    loc: Tensor
    scale: Tensor
    noise: Tensor
    inputs: Tensor
    targets: Tensor
    weights: Tensor
    precision: Tensor

    def native(self) -> list[Tensor]:
        single = [value.float() for value in self.tensors().values()]
        loc, scale, noise, *data, precision = single
        hyper = {"noise_precision": precision}
        found = gradient_moments(
            self.mlp, self.likelihood, loc, scale, noise, (*data,), hyper, square=True, cross=True
        )
        return [value for value in found if value is not None]

    def torch(self, dtype: torch.dtype = torch.float64) -> list[Tensor]:
        """The three means."""
        return self._means(dtype, self.likelihood.gradient)

    def tensors(self) -> dict[str, Tensor]:
        return {name: value for name, value in vars(self).items() if isinstance(value, Tensor)}

    def sizes(self) -> list[Tensor]:
        """The size of each mean before cancellation of outputs and targets, `[R]` each."""
        of = partial(uncancelled, self.likelihood)
        return [mean.abs().amax(1) for mean in self._means(torch.float64, of)]

    def kinked(self) -> bool:
        """Whether the sign of a pre-activation is uncertain in float32."""
        weights = torch.addcmul(self.loc, self.scale, self.noise)
        h = self.inputs.expand(len(weights), *self.inputs.shape).flatten(0, 1)
        for matrix, offset in self.mlp.layers(weights.flatten(0, 1))[0]:
            before = torch.baddbmm(offset, h, matrix)
            if before.abs().min() < MIN_ACTIVATION:
                return True
            h = before.relu()
        return False

    def _means(self, dtype: torch.dtype, slopes: Callable[..., Tensor]) -> list[Tensor]:
        loc, scale, noise, inputs, targets, weights, precision = (
            value.to(dtype) for value in self.tensors().values()
        )
        outputs, tape = forward(self.mlp, torch.addcmul(loc, scale, noise), inputs)
        found = backward(tape, slopes(outputs, targets, weights, {"noise_precision": precision}))
        return [found.mean(0), found.square().mean(0), (found * noise).mean(0)]


def uncancelled(
    likelihood: Likelihood, outputs: Tensor, targets: Tensor, weights: Tensor, hyper: Hyper
) -> Tensor:
    """The gradients at the outputs if all their terms had the same sign."""
    error = outputs[..., 0].abs() + targets.abs()
    if not isinstance(likelihood, Heteroscedastic):
        return (error * (weights * hyper["noise_precision"])).unsqueeze(3)
    raw = outputs[..., 1]
    precision, slope = likelihood.precision_and_slope(raw)
    # A rounding error of the log precision is a relative error of the precision.
    of_mean = error * weights * precision * (1 + raw.abs())
    return torch.stack([of_mean, slope * (weights + error * of_mean)], 3)


def problem(
    sizes: tuple[int, ...],
    likelihood: Likelihood,
    samples: int,
    replicas: int,
    rows: int,
    own: bool,
    seed: int,
) -> Problem:
    """A random problem whose activations have similar sizes in all layers.

    `sizes` has the inputs and the hidden units.
    """
    mlp = MLP((*sizes, likelihood.outputs))
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape: int) -> Tensor:
        return torch.randn(shape, generator=generator, dtype=torch.float64).float().double()

    n = mlp.n_weights
    real = (torch.arange(rows) < rows - torch.arange(replicas)[:, None]).double()
    return Problem(
        mlp=mlp,
        likelihood=likelihood,
        loc=normal(replicas, n) * max(sizes) ** -0.5,
        scale=normal(replicas, n).abs() * 0.3,
        noise=normal(samples, replicas if own else 1, n),
        inputs=normal(replicas, rows, sizes[0]),
        targets=normal(replicas, rows),
        weights=real / real.sum(1, keepdim=True).clamp(min=1),
        precision=normal(replicas, 1).exp(),
    )


Shape = tuple[int, list[int], Likelihood, int, int, int, bool, int]
shapes = st.tuples(
    st.integers(1, 30),  # inputs
    st.lists(st.integers(1, 70), max_size=3),  # hidden layers
    st.sampled_from(LIKELIHOODS),
    st.integers(1, 4),  # samples
    st.integers(1, 3),  # replicas
    st.integers(1, 130),  # rows
    st.booleans(),  # separate noise for each replica
    st.integers(0, 10**6),  # seed
)


@pytest.mark.slow
@settings(max_examples=40)
@given(shapes)
def test_the_means_equal_those_of_torch(shape: Shape) -> None:
    inputs, widths, *rest = shape
    given_ = problem((inputs, *widths), *rest)
    assume(not given_.kinked())
    for got, expected, size in zip(given_.native(), given_.torch(), given_.sizes(), strict=True):
        assert ((got.double() - expected).abs().amax(1) <= 1e-5 * size).all()


@pytest.mark.parametrize(
    ("sizes", "likelihood"),
    [((1,), Gaussian()), ((5, 8), Heteroscedastic()), ((5, 8), HeteroscedasticSoftplus()),
     ((7, 9, 16), Gaussian()), ((4, 200, 150), Heteroscedastic()), ((600, 3), Gaussian())],
    ids=lambda value: getattr(value, "label", None) or str(value),
)  # fmt: skip
@pytest.mark.parametrize("rows", [1, 500])
def test_shapes_at_the_edges_of_tiles_and_blocks(
    sizes: tuple[int, ...], likelihood: Likelihood, rows: int
) -> None:
    given_ = problem(sizes, likelihood, 2, 3, rows, own=True, seed=rows)
    for got, expected in zip(given_.native(), given_.torch(), strict=True):
        error = (got.double() - expected).norm(dim=1)
        assert (error <= 1e-4 * expected.norm(dim=1)).all(), "a few ReLUs may differ"


poisons = st.tuples(
    st.sampled_from(["loc", "scale", "noise", "inputs", "targets", "precision"]),
    st.sampled_from([math.nan, math.inf, -math.inf]),
    st.integers(0, 10**6),
)


@settings(max_examples=30)
@given(shapes, st.lists(poisons, min_size=1, max_size=2))
def test_nan_and_infinity_propagate_as_in_torch_and_not_to_other_networks(
    shape: Shape, poison: list[tuple[str, float, int]]
) -> None:
    inputs, widths, likelihood, samples, _, rows, _, seed = shape
    clean = problem((inputs, *widths), likelihood, samples, 3, rows, own=True, seed=seed)
    values = {name: value.clone() for name, value in clean.tensors().items()}
    for name, value, place in poison:
        own = values[name].select(1 if name == "noise" else 0, 1)
        flat = own.flatten().clone()
        flat[place % flat.numel()] = value
        own.copy_(flat.view_as(own))
    sick = Problem(clean.mlp, likelihood, **values)
    assume(not clean.kinked())
    expected = sick.torch(torch.float32)
    for got, want, healthy in zip(sick.native(), expected, clean.native(), strict=True):
        assert torch.equal(got[0], healthy[0]) and torch.equal(got[2], healthy[2])
        assert torch.equal(got[1].isnan(), want[1].isnan())
        assert torch.equal(got[1].isposinf(), want[1].isposinf())
        assert torch.equal(got[1].isneginf(), want[1].isneginf())


def test_a_replica_alone_is_bitwise_equal_to_the_replica_in_a_stack() -> None:
    stack = problem((13, 50), Gaussian(), 10, 5, 32, own=False, seed=1)
    for r in range(5):
        own = {n: v if n == "noise" else v[[r]] for n, v in stack.tensors().items()}
        single = Problem(stack.mlp, stack.likelihood, **own)
        for alone, together in zip(single.native(), stack.native(), strict=True):
            assert torch.equal(alone[0], together[r])


def test_networks_without_noise_cycle_through_the_training_sets() -> None:
    """Like the members of an ensemble: six networks on three sets, from non-contiguous tensors."""
    given_ = problem((4, 6), Gaussian(), 1, 3, 11, own=False, seed=2)
    mlp, both = given_.mlp, torch.cat([given_.loc, given_.loc + 1])
    data = given_.inputs.float(), given_.targets.float(), given_.weights.float()
    strided = (data[0].transpose(1, 2).contiguous().transpose(1, 2), data[1], data[2])
    hyper = {"noise_precision": given_.precision.float()}
    got, square, cross = gradient_moments(
        mlp, given_.likelihood, both.T.contiguous().T.float(), None, None, strided, hyper
    )
    assert square is None and cross is None
    outputs, tape = forward(mlp, both.view(2, 3, -1), given_.inputs)
    slope = (outputs.squeeze(3) - given_.targets) * (given_.weights * given_.precision)
    expected = backward(tape, slope.unsqueeze(3)).flatten(0, 1)
    torch.testing.assert_close(got.double(), expected, rtol=1e-5, atol=1e-5)


def test_only_float32_on_the_cpu_is_supported() -> None:
    assert has_native_code(torch.zeros(1))
    assert not has_native_code(torch.zeros(1, dtype=torch.float64))
    assert not has_native_code(torch.zeros(1, device="meta"))


@pytest.mark.parametrize(
    "change",
    [
        lambda weights, inputs: (weights[..., 1:], inputs),
        lambda weights, inputs: (weights.double(), inputs),
        lambda weights, inputs: (weights, inputs[..., 1:]),
        lambda weights, inputs: (weights, inputs.repeat(2, 1, 1)),
        lambda weights, inputs: (weights, inputs.double()),
    ],
)
def test_tensors_that_do_not_fit_the_network_are_refused(change: Change) -> None:
    """Native code would read beyond them."""
    mlp = MLP((2, 3, 1))
    weights, inputs = torch.zeros(4, 1, mlp.n_weights), torch.zeros(1, 5, 2)
    outputs = torch.zeros(4, 1, 5, 1)
    predict_outputs(mlp, weights, inputs, outputs)
    with raises_user_error("method", "tensor"):
        predict_outputs(mlp, *change(weights, inputs), outputs)
