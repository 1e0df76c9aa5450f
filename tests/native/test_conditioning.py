"""Conditioning by native code against torch, for random shapes."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import pairwise

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from support.user_errors import raises_user_error
from torch import Tensor

from bnnbench.cpp.library import library
from bnnbench.methods import tagi
from bnnbench.methods.shared.contract import FitTask, Posterior
from bnnbench.methods.tagi import TAGI
from bnnbench.nn import MLP
from bnnbench.random_streams import Streams
from bnnbench.settings import Network, Training
from bnnbench.types import Prediction, TrainingSet

pytestmark = pytest.mark.skipif(library().code is None, reason=library().reason)

TOLERANCES = {torch.float32: 1e-6, torch.float64: 1e-12}
"""Of a number, relative to the largest of its kind."""


@dataclass(frozen=True)
class Problem:
    """A fit that starts from a typical intermediate state, and its predictions."""

    data: TrainingSet
    network: Network
    method: TAGI
    batch: int
    seed: int = 0
    epochs: int = 2

    @property
    def dtype(self) -> torch.dtype:
        return self.data.inputs.dtype

    @property
    def mlp(self) -> MLP:
        outputs = 1 + self.method.predicts_noise
        return MLP((self.data.inputs.shape[2], *self.network.widths, outputs))

    def to(self, dtype: torch.dtype) -> Problem:
        """Return the same problem in numbers of another type."""
        inputs, targets = self.data.inputs.to(dtype), self.data.targets.to(dtype)
        return replace(self, data=replace(self.data, inputs=inputs, targets=targets))

    def start(self) -> dict[str, Tensor]:
        """Return random means, and variances of similar size."""
        generator = torch.Generator().manual_seed(self.seed)
        sizes = list(pairwise(self.mlp.sizes))
        scale = torch.cat([torch.full(((a + 1) * b,), (a + 1) ** -0.5) for a, b in sizes])
        size = self.data.replicas, len(scale)
        loc = scale * torch.randn(size, generator=generator)
        var = scale.square() * (0.1 + torch.rand(size, generator=generator))
        return {"loc": loc.to(self.dtype), "var": var.to(self.dtype)}

    def fit(self, native: bool, start: dict[str, Tensor] | None = None) -> Posterior:
        """Run some passes, in native code or in torch."""
        data, own = self.data, start or self.start()
        # The type of the keys decides the order of rows, so it is the same for all problems.
        streams = Streams(list(range(data.replicas)), data.groups, dtype=torch.float64)
        precision = torch.linspace(1.0, 9.0, data.replicas, dtype=self.dtype)[:, None]
        hyper = {} if self.method.predicts_noise else {"noise_precision": precision}
        training = Training(batch_size=self.batch)
        task = FitTask(data, hyper, self.network, training, self.epochs, streams)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(TAGI, "_initial_state", lambda *_: own)
            if not native:
                patch.setattr(tagi, "has_native_code", lambda *_: False)
            return self.method.fit(task)

    def predict(self, posterior: Posterior, native: bool) -> Prediction:
        streams = Streams([0] * self.data.replicas, self.data.groups)
        with pytest.MonkeyPatch.context() as patch:
            if not native:
                patch.setattr(tagi, "has_native_code", lambda *_: False)
            return self.method.predict(posterior, self.data.inputs, 1, streams)


def problem(
    inputs: int,
    hidden: list[int],
    counts: list[int],
    batch: int,
    predicts_noise: bool,
    dtype: torch.dtype,
    seed: int,
) -> Problem:
    generator = torch.Generator().manual_seed(seed)
    shape = (len(counts), max(counts), inputs)
    values = torch.randn(shape, generator=generator)
    targets = torch.randn(shape[:2], generator=generator)
    data = TrainingSet(values, targets, tuple(counts), tuple(range(len(counts))))
    method = TAGI(label="tagi", predicts_noise=predicts_noise)
    network = Network(tuple(hidden) or 1, len(hidden))
    return Problem(data, network, method, batch, seed).to(dtype)


problems = st.builds(
    problem,
    st.integers(1, 20),
    st.lists(st.integers(1, 40), max_size=3),
    st.lists(st.integers(1, 70), min_size=1, max_size=3),
    st.sampled_from([1, 5, 10, 33, 100, 500]),
    st.booleans(),
    st.sampled_from([torch.float32, torch.float64]),
    st.integers(0, 2**31),
)


def assert_close(ours: Tensor, theirs: Tensor) -> None:
    tolerance = TOLERANCES[theirs.dtype]
    # Small results are differences of numbers near 1.
    scale = max(1.0, theirs.abs().max().item())
    torch.testing.assert_close(ours, theirs, rtol=tolerance, atol=tolerance * scale)


def assert_same(ours: Posterior, theirs: Posterior) -> None:
    assert torch.equal(ours.diverged, theirs.diverged)
    for name, value in theirs.state.items():
        assert_close(ours.state[name], value)


@settings(max_examples=6)
@given(problems)
def test_passes_and_predictions_equal_those_of_torch(one: Problem) -> None:
    theirs = one.fit(native=False)
    assert not theirs.diverged.any()
    assert_same(one.fit(native=True), theirs)
    ours, expected = one.predict(theirs, native=True), one.predict(theirs, native=False)
    for name in ("loc", "epistemic", "noise"):
        assert_close(getattr(ours, name), getattr(expected, name))


@pytest.mark.parametrize("dtype", TOLERANCES)
@pytest.mark.parametrize("predicts_noise", [False, True])
def test_the_same_changes_are_limited(dtype: torch.dtype, predicts_noise: bool) -> None:
    """With large targets many changes are limited, and some variances are reset."""
    one = problem(3, [6], [40, 39], 40, predicts_noise, dtype, 1)
    data = replace(one.data, targets=20 * one.data.targets)
    one = replace(one, data=data, epochs=1)
    ours, theirs = one.fit(native=True), one.fit(native=False)
    value = torch.tensor(tagi.RESET_VARIANCE, dtype=dtype)
    reset = theirs.state["var"] == value
    assert reset.any() and not reset.all()
    assert torch.equal(ours.state["var"] == value, reset)
    assert_same(ours, theirs)


@pytest.mark.parametrize("counts", [[40], [41, 12, 40]])
def test_rows_drawn_with_replacement(counts: list[int]) -> None:
    one = problem(3, [7], counts, 10, False, torch.float64, 8)
    one = replace(one, method=TAGI(label="t", with_replacement=True))
    streams = Streams(list(range(len(counts))), one.data.groups)
    rows = tagi.drawn_rows(one.data, streams)
    assert all(row.min() >= 0 and row.max() < n for row, n in zip(rows, counts, strict=True))
    assert len(rows[0].unique()) < rows.shape[1]
    assert_same(one.fit(True), one.fit(False))


@pytest.mark.parametrize("repeat", [False, True])
def test_initial_variances_that_underflow(repeat: bool) -> None:
    one = problem(4, [30], [50], 10, True, torch.float32, 2)
    method = replace(one.method, noise_gain=1e-4, output_gain=0.1, repeat_noise_gain=repeat)
    task = FitTask(one.data, {}, one.network, Training(), 1, Streams([0], (0,)), outputs=2)
    start = method._initial_state(task)
    assert (start["var"] == 0).any() == repeat
    one = replace(one, method=method)
    copy = {name: value.clone() for name, value in start.items()}
    assert_same(one.fit(True, start), one.fit(False, copy))


@pytest.mark.parametrize("predicts_noise", [False, True])
def test_a_diverged_network_does_not_affect_others(predicts_noise: bool) -> None:
    one = problem(3, [7], [19, 18, 19], 5, predicts_noise, torch.float32, 5)
    targets = one.data.targets.clone()
    targets[1, 4] = math.nan
    broken = replace(one, data=replace(one.data, targets=targets))
    whole, partly = one.fit(True), broken.fit(True)
    assert partly.diverged.tolist() == broken.fit(False).diverged.tolist() == [False, True, False]
    for name, value in whole.state.items():
        assert torch.equal(partly.state[name][::2], value[::2])
        assert torch.equal(partly.state[name][1], one.start()[name][1])


def test_a_pass_stops_at_the_end_of_each_training_set() -> None:
    """Rows after the last one of a smaller training set are not used."""
    one = problem(3, [7], [41, 12], 10, False, torch.float32, 6)
    inputs, targets = one.data.inputs.clone(), one.data.targets.clone()
    inputs[1, 12:], targets[1, 12:] = math.nan, math.nan
    padded = replace(one, data=replace(one.data, inputs=inputs, targets=targets))
    for name, value in one.fit(True).state.items():
        assert torch.equal(padded.fit(True).state[name], value)


def test_a_received_model_of_another_shape_is_refused() -> None:
    one = problem(3, [7], [10], 5, False, torch.float32, 7)
    posterior = one.fit(True)
    short = {name: value[:, 1:] for name, value in posterior.state.items()}
    with raises_user_error("method", "tensor", ["loc"]):
        one.predict(replace(posterior, state=short), native=True)
