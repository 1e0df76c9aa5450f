"""Every clause of a method's contract finds the mistake that it is for, and says so."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

import pytest
import torch
from torch import Tensor

from bnnbench.checking.leakage import LEAKAGE
from bnnbench.checking.method import METHOD
from bnnbench.checking.trial import Trial
from bnnbench.checking.verdicts import verdicts
from bnnbench.methods.linear import Linear
from bnnbench.methods.map import MAP
from bnnbench.methods.shared.contract import FitTask, Posterior
from bnnbench.methods.vadam import Vadam
from bnnbench.random_streams import Streams
from bnnbench.types import Prediction

Change = Callable[[FitTask], FitTask]


@dataclass(frozen=True, kw_only=True)
class Wrong(MAP):
    """MAP that fits something else than it is asked to."""

    before: Change = lambda task: task
    after: Callable[[FitTask, Posterior], Posterior] = lambda task, fitted: fitted

    def fit(self, task: FitTask) -> Posterior:
        return self.after(task, super().fit(self.before(task)))


@dataclass(frozen=True, kw_only=True)
class Foretelling(MAP):
    """MAP that predicts something else than it should."""

    told: Callable[[Posterior, Tensor, Prediction], Prediction] = lambda posterior, x, found: found

    def predict(
        self, posterior: Posterior, inputs: Tensor, samples: int, streams: Streams
    ) -> Prediction:
        return self.told(posterior, inputs, super().predict(posterior, inputs, samples, streams))


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
    """As a batch normalisation in the mode of training would."""
    return replace(found, loc=found.loc - found.loc.mean(2, keepdim=True))


def memorising() -> Callable[[Posterior, Tensor, Prediction], Prediction]:
    before: list[Tensor] = []

    def told(posterior: Posterior, inputs: Tensor, found: Prediction) -> Prediction:
        seen, before[:] = sum(before), [inputs.mean()]
        return replace(found, loc=found.loc + seen)

    return told


WRONG: Mapping[str, tuple[Any, str, str]] = {
    "a state without replicas": (
        Wrong(label="w", after=lambda task, fitted: altered(fitted, lambda v: v[0])),
        "right shapes", "state['loc'] of 3 replicas is [",
    ),
    "no bool": (
        Wrong(label="w", after=lambda t, f: replace(f, diverged=f.diverged.double())),
        "right shapes", "`diverged` must be [3] of bool",
    ),
    "means without samples": (
        Foretelling(label="w", told=lambda p, x, found: replace(found, loc=found.loc[0])),
        "right shapes", "`loc` must be [S, 3, 6], not [3, 6]",
    ),
    "noise of another shape": (
        Foretelling(label="w", told=lambda p, x, f: replace(f, noise=torch.ones(3))),
        "right shapes", "`noise`, [3], does not broadcast to [1, 3, 6]",
    ),
    "no noise": (
        Foretelling(label="w", told=lambda p, x, f: replace(f, noise=0 * f.noise)),
        "right shapes", "`noise` must be positive",
    ),
    "an exception": (
        Wrong(label="w", before=lambda task: 1 / 0),  # type: ignore[arg-type,return-value]
        "right shapes", "ZeroDivisionError in ",
    ),
    "statistics of the whole stack": (
        Wrong(label="w", before=with_mean_targets), "members alone", "if it is fitted alone",
    ),
    "neighbours": (
        Wrong(label="w", before=with_mean_targets), "never influence", "changes with the targets",
    ),
    "torch's own random numbers": (
        Wrong(label="w", after=lambda t, f: altered(f, lambda v: v + torch.randn_like(v))),
        "same bits", "draw from `task.streams` alone",
    ),
    "predictions by torch's own random numbers": (
        Foretelling(label="w", told=lambda p, x, f: replace(f, loc=f.loc + torch.rand(1))),
        "same bits", "draw from `streams` alone",
    ),
    "one start for all seeds": (
        Wrong(label="w", before=lambda t: replace(t, streams=Streams([1, 2], (0, 0, 1),
                                                                     dtype=torch.float64))),
        "another seed", "fits of two seeds are equal, and `trains_network` is True",
    ),
    "padding": (Wrong(label="w", before=counting_padding), "padding", "heed `task.data.counts`"),
    "work in place": (Wrong(label="w", before=in_place), "stays as it was", "writes into its data"),
    "a posterior used up": (
        Foretelling(label="w", told=overwriting), "stays as it was", "writes into state['loc']",
    ),
    "the mean of the rows tested": (
        Foretelling(label="w", told=normalising), "by itself", "inputs of other rows",
    ),
    "divergence unsaid": (
        Wrong(label="w", after=lambda t, f: replace(f, diverged=torch.zeros(3).bool())),
        "diverges is reported", "`diverged` is [False, False, False]",
    ),
    "divergence raised": (
        Wrong(label="w", before=raising), "not raised", "ValueError in ",
    ),
    "what is not finite kept": (
        Wrong(label="w", after=lambda t, f: altered(
            f, lambda v: torch.where(f.diverged[:, None], torch.nan, v))),
        "diverges is reported", "state is not finite",
    ),
    "a prior that takes no part": (
        Wrong(label="w", before=without("prior_precision")),
        "hyper-parameter", "another prior_precision makes no other prediction",
    ),
    "sure of itself unsaid": (
        Foretelling(label="w", told=lambda p, x, f: replace(f, epistemic=f.noise)),
        "as unsure", "`point_estimate` is True",
    ),
    "means without end": (
        Foretelling(label="w", told=lambda p, x, f: replace(f, loc=f.loc + torch.inf)),
        "every score", "the score rmse is not finite",
    ),
    "no record": (
        Wrong(label="w", after=lambda t, f: replace(f, trace={})),
        "recording", "asks for ['loss', 'complexity'], and `trace` has []",
    ),
    "nothing learned": (
        Wrong(label="w", before=lambda t: replace(t, epochs=min(t.epochs, 2))),
        "lowers the error", "after 60",
    ),
    "what was predicted before": (
        Foretelling(label="w", told=memorising()), "test part reaches", "of the test part",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_a_mistake_is_found_and_named(name: str) -> None:
    method, clause, said = WRONG[name]
    (check,) = (check for check in (*METHOD, LEAKAGE) if clause in check.name)
    found = list(verdicts([check], Trial(method)))
    assert found[0].fault is not None and said in found[0].fault


def test_every_clause_has_a_mistake_that_it_finds() -> None:
    for check in (*METHOD, LEAKAGE):
        assert any(clause in check.name for _, clause, _ in WRONG.values()), check.name


def test_a_flag_that_is_wrong_is_found() -> None:
    class Drawing(Linear):
        """Says that it draws, which the linear model does not."""

        draws = True  # type: ignore[assignment]

    class Silent(Vadam):
        """Says that it does not draw, which Vadam does."""

        draws = False  # type: ignore[assignment]
        point_estimate = True  # type: ignore[assignment]

    said = {check.name: check.find(Trial(Drawing(label="d"))) for check in METHOD[4:5]}
    assert "predictions with two seeds are equal, and `draws` is True" in said[METHOD[4].name]
    trial = Trial(Silent(label="s"))
    found = {verdict.name: verdict.fault for verdict in verdicts(METHOD, trial)}
    assert "differ, and `draws` is False" in str(found[METHOD[4].name])
    assert "have an epistemic variance" in str(found["it is as unsure of itself as it says"])


@pytest.mark.parametrize(("name", "holding"), [("no noise", 0), ("torch's own random numbers", 1)])
def test_nothing_is_tried_that_rests_on_what_fails(name: str, holding: int) -> None:
    method, _, _ = WRONG[name]
    found = list(verdicts(METHOD, Trial(method)))
    failed, *others = found[holding:]
    assert not any(verdict.fault for verdict in found[:holding])
    assert failed.tried and failed.fault
    assert others and not any(verdict.tried or verdict.fault for verdict in others)


def test_hyper_parameters_of_its_own_have_values_of_their_own() -> None:
    @dataclass(frozen=True, kw_only=True)
    class Tempered(MAP):
        temperature: float | None = None
        own_hyper_names = ("prior_precision", "temperature")

    assert "temperature" in {field.name for field in fields(Tempered)}
    trial = Trial(Tempered(label="t"), {"temperature": 2.0})
    (check,) = (check for check in METHOD if "hyper-parameter" in check.name)
    assert check.find(trial) == "another temperature makes no other prediction"
