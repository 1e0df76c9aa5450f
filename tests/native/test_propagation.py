"""Passes of probabilistic backpropagation by native code against torch, for random shapes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from support.pbp import random_state
from torch import Tensor

from bnnbench.cpp.library import library
from bnnbench.methods import pbp
from bnnbench.methods.pbp import PBP, initial_state
from bnnbench.methods.shared.contract import FitTask, Posterior
from bnnbench.nn import MLP
from bnnbench.random_streams import Streams
from bnnbench.settings import Network, Training
from bnnbench.types import TrainingSet

pytestmark = pytest.mark.skipif(library().code is None, reason=library().reason)


@dataclass(frozen=True)
class Problem:
    """A fit that starts from a typical intermediate state."""

    data: TrainingSet
    network: Network
    method: PBP
    seed: int = 0
    epochs: int = 2

    def fit(self, native: bool, start: Mapping[str, Tensor] | None = None) -> Posterior:
        """Run some passes, in native code or in torch."""
        mlp = MLP((self.data.inputs.shape[2], *self.network.widths, 1))
        own = start or random_state(mlp, self.data.replicas, self.seed)
        streams = Streams(list(range(self.data.replicas)), self.data.groups, dtype=torch.float64)
        task = FitTask(self.data, {}, self.network, Training(), self.epochs, streams)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(pbp, "initial_state", lambda *_: dict(own))
            if not native:
                patch.setattr(pbp, "has_native_code", lambda *_: False)
            return self.method.fit(task)


def problem(
    inputs: int, hidden: list[int], counts: list[int], scale: float, batch: int, ep: bool, seed: int
) -> Problem:
    generator = torch.Generator().manual_seed(seed)
    shape = (len(counts), max(counts), inputs)
    values = torch.randn(shape, generator=generator, dtype=torch.float64)
    targets = scale * torch.randn(shape[:2], generator=generator, dtype=torch.float64)
    data = TrainingSet(values, targets, tuple(counts), tuple(range(len(counts))))
    method = PBP(label="pbp", batch_size=batch, prior_update="ep" if ep else "adf")
    return Problem(data, Network(tuple(hidden) or 1, len(hidden)), method, seed)


problems = st.builds(
    problem,
    st.integers(1, 20),
    st.lists(st.integers(1, 40), max_size=3),
    st.lists(st.integers(1, 9), min_size=1, max_size=3),
    st.sampled_from([1.0, 30.0]),  # large targets, for which weight updates are skipped
    st.sampled_from([1, 1, 2, 5]),
    st.booleans(),
    st.integers(0, 2**31),
)


def assert_same(ours: Posterior, theirs: Posterior) -> None:
    assert torch.equal(ours.diverged, theirs.diverged)
    for name, value in theirs.state.items():
        # Wide layers on a single row subtract numbers that agree in half of their digits.
        torch.testing.assert_close(ours.state[name], value, rtol=1e-6, atol=1e-10)


@settings(max_examples=4)
@given(problems)
def test_passes_equal_those_of_torch(one: Problem) -> None:
    assert_same(one.fit(native=True), one.fit(native=False))


def test_the_same_updates_are_skipped() -> None:
    """With large targets both skip the updates of many weights."""
    one = replace(problem(3, [6], [4, 4], 1.0, 1, False, 1), epochs=1)
    data = replace(one.data, targets=torch.full_like(one.data.targets, 40.0))
    one = replace(one, data=data)
    start = random_state(MLP((3, 6, 1)))
    start["noise_beta"] = torch.full_like(start["noise_beta"], 1e-4)
    ours, theirs = one.fit(True, start), one.fit(False, start)
    assert_same(ours, theirs)
    skipped = ours.state["var"] == start["var"]
    assert skipped.any() and not skipped.all()
    assert torch.equal(skipped, theirs.state["var"] == start["var"])


@pytest.mark.parametrize(("loc", "var"), [(-300.0, 1.0), (-8.0, 1e-8), (300.0, 1e4)])
def test_units_far_from_zero(loc: float, var: float) -> None:
    """Ratios of tail probabilities are accurate even where they underflow."""
    one = replace(problem(2, [5, 4], [3], 1.0, 1, True, 3), epochs=1)
    start = random_state(MLP((2, 5, 4, 1)), replicas=1)
    start["loc"][:, 10:15] = loc  # biases of the first hidden layer
    start["var"][:, :15] = var
    assert_same(one.fit(True, start), one.fit(False, start))


def test_a_diverged_network_does_not_affect_others() -> None:
    one = problem(3, [7], [9, 8, 9], 1.0, 1, True, 5)
    targets = one.data.targets.clone()
    targets[1, 4] = math.nan
    broken = replace(one, data=replace(one.data, targets=targets))
    whole, partly = one.fit(True), broken.fit(True)
    assert partly.diverged.tolist() == broken.fit(False).diverged.tolist() == [False, True, False]
    for name, value in whole.state.items():
        assert torch.equal(partly.state[name][::2], value[::2])
        assert partly.state[name].isfinite().all()


def test_the_initial_state_is_not_modified() -> None:
    one = problem(3, [7], [9], 1.0, 1, True, 5)
    start = initial_state(MLP((3, 7, 1)), 1, Streams([0], (0,)))
    before = {name: value.clone() for name, value in start.items()}
    one.fit(True, start)
    assert all(torch.equal(start[name], value) for name, value in before.items())
