"""Every check of the contract of methods detects the mistake that it is for."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any

import pytest
import torch
from torch import Tensor

from bnnbench.checking.as_in_runs import LEAKAGE
from bnnbench.checking.checks import DTYPE_ADVICE, Check, run_check, run_checks
from bnnbench.checking.data_set import DATA_SET
from bnnbench.checking.divergence import DIVERGENCE
from bnnbench.checking.method import METHOD
from bnnbench.checking.small_fits import MethodUnderTest
from bnnbench.methods.linear import Linear
from bnnbench.methods.map import MAP
from bnnbench.methods.shared.contract import FitTask, Posterior
from bnnbench.methods.vadam import Vadam
from bnnbench.random_streams import Streams
from bnnbench.types import Prediction

Change = Callable[[FitTask], FitTask]


@dataclass(frozen=True, kw_only=True)
class WrongFit(MAP):
    """MAP with a wrong fit."""

    before: Change = lambda task: task
    after: Callable[[FitTask, Posterior], Posterior] = lambda task, fitted: fitted

    def fit(self, task: FitTask) -> Posterior:
        return self.after(task, super().fit(self.before(task)))


@dataclass(frozen=True, kw_only=True)
class WrongPrediction(MAP):
    """MAP with wrong predictions."""

    change: Callable[[Posterior, Tensor, Prediction], Prediction] = lambda posterior, x, found: (
        found
    )

    def predict(
        self, posterior: Posterior, inputs: Tensor, samples: int, streams: Streams
    ) -> Prediction:
        return self.change(posterior, inputs, super().predict(posterior, inputs, samples, streams))


def altered(fitted: Posterior, change: Callable[[Tensor], Tensor]) -> Posterior:
    state = {name: change(value) for name, value in fitted.state.items()}
    return replace(fitted, state=state)


def with_mean_targets(task: FitTask) -> FitTask:
    shared = task.data.targets.nan_to_num().mean(0, keepdim=True)
    return replace(task, data=replace(task.data, targets=task.data.targets + shared))


def in_place(task: FitTask) -> FitTask:
    task.data.inputs.mul_(0.5)
    return task


def counting_padding(task: FitTask) -> FitTask:
    rows = task.data.inputs.shape[1]
    return replace(task, data=replace(task.data, counts=(rows,) * task.data.replicas))


def raising(task: FitTask) -> FitTask:
    if task.training.learning_rate > 1 or not bool(task.data.targets.isfinite().all()):
        raise ValueError("training failed")
    return task


def without(name: str) -> Change:
    def change(task: FitTask) -> FitTask:
        return replace(task, hyper={**task.hyper, name: torch.ones_like(task.hyper[name])})

    return change


def overwriting(posterior: Posterior, inputs: Tensor, found: Prediction) -> Prediction:
    posterior.state["loc"].mul_(0.5)
    return found


def normalising(posterior: Posterior, inputs: Tensor, found: Prediction) -> Prediction:
    """Like batch normalisation in training mode."""
    return replace(found, loc=found.loc - found.loc.mean(2, keepdim=True))


def memorising() -> Callable[[Posterior, Tensor, Prediction], Prediction]:
    before: list[Tensor] = []

    def change(posterior: Posterior, inputs: Tensor, found: Prediction) -> Prediction:
        seen, before[:] = sum(before), [inputs.mean()]
        return replace(found, loc=found.loc + seen)

    return change


def is_single(tensor: Tensor) -> bool:
    return tensor.dtype == torch.float32


@dataclass(frozen=True, kw_only=True)
class OwnInit(MAP):
    """MAP with another initial state."""

    change: Callable[[Tensor], Tensor]

    def init(self, task: FitTask) -> Any:
        return {name: self.change(value) for name, value in super().init(task).items()}


@dataclass(frozen=True, kw_only=True)
class Doubled(MAP):
    """MAP with a gradient in float64."""

    def gradient(self, *given: Any) -> Tensor:
        return super().gradient(*given) + torch.full((1,), 1e-3, dtype=torch.float64)


fit, predict = partial(WrongFit, label="w"), partial(WrongPrediction, label="w")

WRONG: Mapping[str, tuple[Any, str, str]] = {
    "a state without replicas": (
        fit(after=lambda task, fitted: altered(fitted, lambda v: v[0])),
        "correct shapes", "state['loc'] must be [3, ...]",
    ),
    "diverged of another type": (
        fit(after=lambda t, f: replace(f, diverged=f.diverged.double())),
        "correct shapes", "`diverged` must be [3] of bool",
    ),
    "means without samples": (
        predict(change=lambda p, x, found: replace(found, loc=found.loc[0])),
        "correct shapes", "`loc` must be [S, 3, 6], not [3, 6]",
    ),
    "noise of another shape": (
        predict(change=lambda p, x, f: replace(f, noise=torch.ones(3))),
        "correct shapes", "`noise` [3] does not broadcast to [1, 3, 6]",
    ),
    "no noise": (
        predict(change=lambda p, x, f: replace(f, noise=0 * f.noise)),
        "correct shapes", "`noise` must be positive",
    ),
    "an exception": (
        fit(before=lambda task: 1 / 0),  # type: ignore[arg-type,return-value]
        "correct shapes", "ZeroDivisionError in ",
    ),
    "statistics of the whole stack":
        (fit(before=with_mean_targets), "fitted alone", "is fitted alone"),
    "influence of other replicas":
        (fit(before=with_mean_targets), "do not influence", "changes with the targets"),
    "torch's own random numbers": (
        fit(after=lambda t, f: altered(f, lambda v: v + torch.randn_like(v))),
        "same seed", "use only `task.streams`",
    ),
    "predictions by torch's own random numbers": (
        predict(change=lambda p, x, f: replace(f, loc=f.loc + torch.rand(1))),
        "same seed", "use only `streams`",
    ),
    "a fixed seed": (
        fit(before=lambda t: replace(t, streams=Streams([1, 2], (0, 0, 1),
                                                                     dtype=torch.float64))),
        "other seeds", "fits with two seeds are equal, but `trains_network` is True",
    ),
    "padding": (fit(before=counting_padding), "padding", "`task.data.counts`"),
    "modified data": (fit(before=in_place), "arguments", "`fit` modifies its data"),
    "a modified posterior": (predict(change=overwriting), "arguments", "modifies state['loc']"),
    "the mean of the rows tested":
        (predict(change=normalising), "independently", "inputs of other test rows"),
    "unreported divergence": (
        fit(after=lambda t, f: replace(f, diverged=torch.zeros(3).bool())),
        "diverged replica", "`diverged` is [False, False, False]",
    ),
    "divergence raised": (fit(before=raising), "without an exception", "ValueError in "),
    "a state that is not finite": (
        fit(after=lambda t, f: altered(
            f, lambda v: torch.where(f.diverged[:, None], torch.nan, v))),
        "diverged replica", "is not finite",
    ),
    "a prior without effect": (
        fit(before=without("prior_precision")),
        "hyper-parameter", "do not depend on prior_precision",
    ),
    "undeclared certainty": (
        predict(change=lambda p, x, f: replace(f, epistemic=f.noise)),
        "uncertainty", "`point_estimate` is True",
    ),
    "infinite means": (
        predict(change=lambda p, x, f: replace(f, loc=f.loc + torch.inf)),
        "all scores", "the score rmse is not finite",
    ),
    "no record": (
        fit(after=lambda t, f: replace(f, trace={})),
        "recording", "entries ['loss', 'complexity'], not []",
    ),
    "nothing learned": (
        fit(before=lambda t: replace(t, epochs=min(t.epochs, 2))),
        "reduces the error", "after 60",
    ),
    "a native step other than that in Python": (
        predict(change=lambda p, x, f: replace(f, loc=f.loc * (1 + 0.01 * is_single(x)))),
        "run in float32", "`loc` in float32, computed by native code, differs by up to",
    ),
    "float64 in a float32 run": (
        Doubled(label="w"), "run in float32", "expected dtype",
    ),
    "float64 targets": (
        fit(before=lambda t: replace(t, data=replace(t.data, targets=t.data.targets.double()))),
        "run in float32", "of targets is float64, expected float32",
    ),
    "float64 state": (
        OwnInit(label="w", change=lambda v: v.double()),
        "run in float32", "state['loc'] with dtype torch.float64",
    ),
    "float32 state": (
        OwnInit(label="w", change=lambda v: v.float()),
        "correct shapes", "state['loc'] with dtype torch.float32",
    ),
    "a state for one replica": (
        OwnInit(label="w", change=lambda v: v[:1]), "correct shapes", "expected [3, ...]",
    ),
    "state kept between predictions":
        (predict(change=memorising()), "test part", "of the test part"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_mistakes_are_detected(name: str) -> None:
    method, clause, message = WRONG[name]
    (check,) = (check for check in (*METHOD, LEAKAGE) if clause in check.name)
    found = list(run_checks([check], MethodUnderTest(method)))
    assert found[0].failure is not None and message in found[0].failure


class SingleState(Vadam):
    """A state of the default type."""

    def init(self, task: FitTask) -> Any:
        return {**super().init(task), "s": torch.zeros(task.data.replicas, task.mlp.n_weights)}


def mixing(posterior: Posterior, inputs: Tensor, found: Prediction) -> Prediction:
    return replace(found, loc=found.loc @ torch.eye(found.loc.shape[2]))


def exact(task: FitTask) -> FitTask:
    """Refuse targets with a rounding error."""
    assert torch.tensor(0.1).item() == 0.1
    return task


DTYPES: Mapping[str, tuple[Any, str, bool]] = {
    "a state of the default type": (SingleState(label="w"), "correct shapes", True),
    "predictions of two types": (predict(change=mixing), "correct shapes", True),
    "rounding that no message names": (fit(before=exact), "correct shapes", True),
    "another error": (fit(before=lambda task: 1 / 0), "correct shapes", False),  # type: ignore[arg-type,return-value]
    "a mistake of the clause": (fit(before=counting_padding), "padding", False),
}


@pytest.mark.parametrize("name", DTYPES)
def test_the_advice_names_the_type_of_the_data_if_that_is_the_mistake(name: str) -> None:
    method, clause, is_dtype = DTYPES[name]
    (check,) = (check for check in METHOD if clause in check.name)
    result = run_check(check, MethodUnderTest(method))
    assert result.failure and (result.advice == DTYPE_ADVICE) == is_dtype
    assert torch.get_default_dtype() == torch.float32


@pytest.mark.parametrize("contract", [(*METHOD, LEAKAGE), DATA_SET, DIVERGENCE])
def test_every_check_says_what_to_write(contract: tuple[Check[Any], ...]) -> None:
    for check in contract:
        assert re.search("`[^`]*[(=.][^`]*`", check.advice), check.name
        assert run_check(replace(check, run=lambda _: "wrong"), None).advice == check.advice
        assert run_check(replace(check, run=lambda _: None), None).advice is None


def test_every_check_detects_a_mistake() -> None:
    for check in (*METHOD, LEAKAGE):
        assert any(clause in check.name for _, clause, _ in WRONG.values()), check.name


def test_wrong_declarations_are_detected() -> None:
    class DeclaredStochastic(Linear):
        """Declares that it is stochastic, unlike the linear model."""

        is_stochastic = True  # type: ignore[assignment]

    class DeclaredDeterministic(Vadam):
        """Declares that it is not stochastic, unlike Vadam."""

        is_stochastic = False  # type: ignore[assignment]
        point_estimate = True  # type: ignore[assignment]

    (seeds,) = (check for check in METHOD if "other seeds" in check.name)
    message = seeds.run(MethodUnderTest(DeclaredStochastic(label="d")))
    assert "predictions with two seeds are equal, but `is_stochastic` is True" in str(message)
    trial = MethodUnderTest(DeclaredDeterministic(label="s"))
    found = {result.name: result.failure for result in run_checks(METHOD, trial)}
    assert "differ, but `is_stochastic` is False" in str(found[seeds.name])
    assert "epistemic variances are positive" in str(
        found["its epistemic uncertainty is as declared"]
    )


@pytest.mark.parametrize(("name", "holding"), [("no noise", 0), ("torch's own random numbers", 2)])
def test_no_check_is_run_after_a_failed_prerequisite(name: str, holding: int) -> None:
    method, _, _ = WRONG[name]
    found = list(run_checks(METHOD, MethodUnderTest(method)))
    failed, *others = found[holding:]
    assert not any(result.failure for result in found[:holding])
    assert failed.was_run and failed.failure
    assert others and not any(result.was_run or result.failure for result in others)


def test_hyper_parameters_of_own_methods_are_checked() -> None:
    @dataclass(frozen=True, kw_only=True)
    class Tempered(MAP):
        temperature: float | None = None
        own_hyper_names = ("prior_precision", "temperature")

    assert "temperature" in {field.name for field in fields(Tempered)}
    trial = MethodUnderTest(Tempered(label="t"), {"temperature": 2.0})
    (check,) = (check for check in METHOD if "hyper-parameter" in check.name)
    assert check.run(trial) == "predictions do not depend on temperature"
