"""Methods do the same updates with native and with torch gradients."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from support.methods import METHODS, Case, class_of, likelihoods_of, plain_cases, takes_likelihood

from bnnbench.checking.small_fits import SEEDS, hyper_of, small_task, training_set
from bnnbench.cpp.library import library
from bnnbench.methods.shared.contract import FitTask, Posterior
from bnnbench.methods.shared.trainer import StochasticMethod
from bnnbench.native import networks as native
from bnnbench.random_streams import Streams
from bnnbench.types import TrainingSet

pytestmark = pytest.mark.skipif(library().code is None, reason=library().reason)

CASES = [
    replace(case, likelihood=likelihood)
    for option in METHODS
    for case in plain_cases(option)
    if issubclass(class_of(option), StochasticMethod)
    for likelihood in likelihoods_of(case)
]


def single(method: StochasticMethod, data: TrainingSet, epochs: int = 2) -> FitTask:
    """Return the small task in float32."""
    task = small_task(method, data, epochs=epochs)
    return replace(
        task,
        data=replace(data, inputs=data.inputs.float(), targets=data.targets.float()),
        hyper={name: value.float() for name, value in hyper_of(method, data.replicas).items()},
        training=replace(task.training, dtype="float32"),
        streams=Streams(SEEDS, data.groups),
    )


def fitted(case: Case, data: TrainingSet, epochs: int = 2) -> Posterior:
    method = case.method
    assert isinstance(method, StochasticMethod)
    return method.fit(single(method, data, epochs))


@pytest.mark.parametrize("case", CASES, ids=str)
def test_native_fit_equals_torch_fit(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    by_native = fitted(case, training_set()).state
    monkeypatch.setattr(native, "has_native_code", lambda like: False)
    for name, value in fitted(case, training_set()).state.items():
        torch.testing.assert_close(by_native[name], value, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_diverged_replica_does_not_change_others(case: Case) -> None:
    data = training_set()
    targets = data.targets.clone()
    targets[1, 0] = torch.nan
    healthy, sick = (fitted(case, d) for d in (data, replace(data, targets=targets)))
    assert healthy.diverged.tolist() == [False, False, False]
    assert sick.diverged.tolist() == [False, True, False]
    for name, value in sick.state.items():
        assert value.isfinite().all()
        assert torch.equal(value[0], healthy.state[name][0])
        assert torch.equal(value[2], healthy.state[name][2])


@pytest.mark.parametrize(
    ("likelihood", "loss"), [("heteroscedastic", "gamma"), ("gaussian", "beta")]
)
def test_other_losses_use_torch(
    likelihood: str, loss: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(native, "library", None)
    case = Case("vadam", likelihood=likelihood, loss=loss)
    assert takes_likelihood(type(case.method))
    assert not fitted(case, training_set()).diverged.any()
