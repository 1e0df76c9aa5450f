"""Runs that differ in their divergence alone: replicas of one stack, each with its own numbers."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from test_methods import HYPER, SEEDS, fit, method, training_set

from bnnbench.divergences.base import Divergence
from bnnbench.divergences.jensen_shannon import JS
from bnnbench.divergences.kl import KL
from bnnbench.divergences.priors import Laplace
from bnnbench.divergences.renyi import Alpha, Renyi
from bnnbench.divergences.stacked import StackedDivergences
from bnnbench.experiment import splits as module
from bnnbench.experiment import sweep_progress as suite
from bnnbench.experiment.plan import STACK, Plan
from bnnbench.experiment.split_experiment import SplitsExperiment
from bnnbench.experiment.stacking import row_of, stacked
from bnnbench.methods.shared import stochastic
from bnnbench.random_streams import Streams
from bnnbench.report.split_page import write_run_report

Planner = Callable[..., Plan]
FIXED = (
    "method.noise_precision=10",
    "method.prior_precision=1",
    "evaluation.out_of_fold=false",
    "training.dtype=float64",
)
NAMES = ("kl", "renyi_2", "js", "fisher")
MEMBERS = (
    KL(label="kl"),
    Renyi(label="renyi", alpha=2, weight=0.3),
    JS(label="js"),
    Alpha(label="alpha", alpha=0.5),
)
SAMPLED = tuple(
    replace(member, estimator="monte_carlo", prior=Laplace(label="laplace"))
    for member in (MEMBERS[0], MEMBERS[1], MEMBERS[3])
)


@pytest.fixture(autouse=True)
def _no_sweep_left() -> Iterator[None]:
    yield
    suite.end()


def row(tiny_plan: Planner, *overrides: str, names: tuple[str, ...] = NAMES) -> list[Plan]:
    given = (*FIXED, "method=bbb", *overrides)
    return [tiny_plan(*given, f"divergence={name}") for name in names]


def run(plan: Plan) -> dict[int, dict[str, float]]:
    folder = SplitsExperiment(label="uci").run(plan, write_run_report)
    return {k: json.loads(folder.scores(k).read_text()) for k in plan.splits}


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("members", [MEMBERS, SAMPLED])
def test_each_block_has_the_divergence_of_its_member(
    members: tuple[Divergence, ...], shared: bool
) -> None:
    each, weights = 2, 7
    draw = torch.Generator().manual_seed(1)
    replicas = each * len(members)
    loc = torch.randn(replicas, weights, generator=draw, dtype=torch.float64)
    scale = 0.2 + 0.5 * torch.rand(replicas, weights, generator=draw, dtype=torch.float64)
    precision = 0.5 + torch.rand(replicas, 1, generator=draw, dtype=torch.float64)
    columns = 1 if shared else replicas
    epsilon = torch.randn(3, columns, weights, generator=draw, dtype=torch.float64)
    together = StackedDivergences(members, each)
    value = together.value(loc, scale, precision, epsilon)
    slopes = together.gradient(loc, scale, precision, epsilon)
    for k, member in enumerate(members):
        own = slice(k * each, (k + 1) * each)
        given = (loc[own], scale[own], precision[own], epsilon if shared else epsilon[:, own])
        torch.testing.assert_close(value[own], member.value(*given))
        for all_, alone in zip(slopes, member.gradient(*given), strict=True):
            torch.testing.assert_close(all_[own], alone)
    assert together.estimator == members[0].estimator


def test_a_row_gives_what_each_run_gives_alone(
    tiny_plan: Planner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    alone = [run(plan) for plan in row(tiny_plan, "splits=1", f"outputs_dir={tmp_path / 'alone'}")]
    fits = []
    final_fit = module.final_fit

    def counted(*given: object) -> object:
        fits.append(given)
        return final_fit(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(module, "final_fit", counted)
    plans = row(tiny_plan, "splits=1")
    suite.begin(plans)
    together = [run(plan) for plan in plans]
    assert len(fits) == 1
    for mine, theirs in zip(together, alone, strict=True):
        for name in ("rmse", "log_likelihood", "crps"):
            assert mine[0][name] == pytest.approx(theirs[0][name], rel=1e-9)
    assert len({scores[0]["rmse"] for scores in together}) == len(NAMES)
    assert [scores[0]["divergence"] for scores in together] == list(NAMES)


def test_a_killed_row_goes_on_without_touching_what_is_finished(tiny_plan: Planner) -> None:
    plans = row(tiny_plan, "splits=1")
    suite.begin(plans)
    first = run(plans[0])
    kept = plans[0].folder.scores(0).stat().st_mtime_ns
    plans[2].folder.scores(0).unlink()
    numbers = [run(plan)[0]["rmse"] for plan in plans]
    assert numbers[0] == first[0]["rmse"] and len(set(numbers)) == len(NAMES)
    assert plans[0].folder.scores(0).stat().st_mtime_ns == kept


def test_which_runs_share_a_stack(tiny_plan: Planner) -> None:
    plans = row(tiny_plan, "splits=1", names=(*NAMES, "rkl", "tv"))
    assert [len(row_of(plan, plans)) for plan in plans] == [STACK] * STACK + [1]
    assert row_of(plans[1], plans) == tuple(plans[:STACK])
    assert row_of(plans[1], ()) == (plans[1],) == row_of(plans[1], plans[2:])
    # Five splits fill the stack of a CPU; on a GPU every split of every run is in it.
    many = row(tiny_plan, "splits=5")
    assert row_of(many[1], many) == (many[1],)
    cuda = [replace(plan, device="cuda") for plan in many]
    assert row_of(cuda[1], cuda) == tuple(cuda)
    assert stacked(cuda, 5).method.divergence == StackedDivergences(  # type: ignore[attr-defined]
        tuple(plan.method.divergence for plan in cuda),  # type: ignore[attr-defined]
        5,
    )


@pytest.mark.parametrize(
    "other", ["seed=1", "depth=2", "training.learning_rate=0.02", "method.initial_precision=20"]
)
def test_runs_that_differ_in_more_are_apart(tiny_plan: Planner, other: str) -> None:
    plans = row(tiny_plan, "splits=1", names=("kl",)) + row(tiny_plan, "splits=1", other)
    assert row_of(plans[0], plans) == (plans[0],) and len(row_of(plans[1], plans)) == len(NAMES)


def test_other_data_are_another_stack(tiny_plan: Planner, table_csv: Path) -> None:
    """The configuration's data set says little: its rows and splits do."""
    (plan,) = row(tiny_plan, "splits=1", names=("kl",))
    text = table_csv.read_text()
    table_csv.write_text(text.replace("0.", "1.", 1))
    others = row(tiny_plan, "splits=1", names=("kl", "js"))
    assert row_of(plan, [plan, *others]) == (plan,)
    assert row_of(others[0], [plan, *others]) == tuple(others)


def test_a_run_named_twice_is_fitted_once(tiny_plan: Planner) -> None:
    plans = row(tiny_plan, "splits=1", names=("kl", "js", "kl"))
    suite.begin(plans)
    numbers = [run(plan)[0]["rmse"] for plan in plans]
    assert len(row_of(plans[2], plans)) == 2 and numbers[0] == numbers[2] != numbers[1]


def test_estimators_are_apart(tiny_plan: Planner) -> None:
    """Samples draw random numbers while the objective is recorded, closed forms do not."""
    sampled = row(tiny_plan, "splits=1", "divergence.estimator=monte_carlo", names=("kl", "js"))
    plans = row(tiny_plan, "splits=1", names=("kl",)) + sampled
    assert row_of(plans[0], plans) == (plans[0],) and row_of(plans[1], plans) == tuple(sampled)


def test_searches_and_other_methods_are_apart(tiny_plan: Planner) -> None:
    for given in ((), (*FIXED, "method=mc_dropout", "method.dropout=0.1")):
        plans = [tiny_plan("splits=1", *given, f"method.label={name}") for name in "ab"]
        assert row_of(plans[0], plans) == (plans[0],)


@pytest.mark.parametrize("name", ["bbb", "mc_dropout", "sgld"])
def test_draws_do_not_hang_on_the_size_of_the_stack(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """More replicas are predicted in smaller chunks of samples, of the same noise."""
    fitted, data = method(name), training_set()
    posterior = fit(name, data, SEEDS)
    assert set(posterior.hyper) <= set(HYPER)

    def predict() -> torch.Tensor:
        streams = Streams(SEEDS, data.groups, dtype=torch.float64)
        return fitted.predict(posterior, data.inputs, 20, streams).loc

    whole = predict()
    monkeypatch.setattr(stochastic, "PREDICTION_ELEMENTS", 1)
    torch.testing.assert_close(predict(), whole)
