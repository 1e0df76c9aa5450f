"""Runs that differ only in their divergence train as replicas of one stack."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from support.tiny_runs import Planner, finished, with_experiment

from bnnbench.divergences.stacked import StackedDivergences
from bnnbench.experiment import split_experiment
from bnnbench.experiment.lock import lock_units
from bnnbench.experiment.progress import SweepProgress
from bnnbench.experiment.run import Run, stack_of
from bnnbench.experiment.split_cost import MAX_REPLICAS

FIXED = (
    "method.noise_precision=10",
    "method.prior_precision=1",
    "evaluation.out_of_fold=false",
    "training.dtype=float64",
)
NAMES = ("kl", "renyi_2", "js", "fisher")


def row(tiny: Planner, *overrides: str, names: tuple[str, ...] = NAMES) -> list[Run]:
    given = (*FIXED, "method=bbb", *overrides)
    return [tiny(*given, f"divergence={name}") for name in names]


def scores(run: Run, sweep: SweepProgress | None = None) -> dict[str, float]:
    """Return the scores of the first split."""
    return finished(run, sweep)[1].iloc[0].to_dict()


@pytest.mark.ci
def test_a_stack_equals_single_runs(
    tiny: Planner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    apart = [replace(run, outputs=tmp_path / "alone") for run in row(tiny, "splits=1")]
    alone = [scores(run) for run in apart]
    fits = []
    final_fit = split_experiment.final_fit

    def counted(*given: object) -> object:
        fits.append(given)
        return final_fit(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(split_experiment, "final_fit", counted)
    sweep = SweepProgress(row(tiny, "splits=1"))
    together = [scores(run, sweep) for run in sweep.runs]
    assert len(fits) == 1
    for mine, theirs in zip(together, alone, strict=True):
        for name in ("rmse", "log_likelihood", "crps"):
            assert mine[name] == pytest.approx(theirs[name], rel=1e-9)
    assert len({one["rmse"] for one in together}) == len(NAMES)
    assert [one["divergence"] for one in together] == list(NAMES)


@pytest.mark.slow
def test_a_killed_stack_resumes_without_changing_finished_runs(tiny: Planner) -> None:
    sweep = SweepProgress(row(tiny, "splits=1"))
    first = scores(sweep.runs[0], sweep)
    kept = sweep.runs[0].store.file("split-00", "json")
    before = kept.stat().st_mtime_ns
    sweep.runs[2].store.file("split-00", "json").unlink()
    numbers = [scores(run, sweep)["rmse"] for run in sweep.runs]
    assert numbers[0] == first["rmse"] and len(set(numbers)) == len(NAMES)
    assert kept.stat().st_mtime_ns == before


def test_which_runs_share_a_stack(tiny: Planner) -> None:
    runs = row(tiny, "splits=1", names=(*NAMES, "kl_prior_posterior", "tv"))
    assert [len(stack_of(run, runs)) for run in runs] == [MAX_REPLICAS] * MAX_REPLICAS + [1]
    assert stack_of(runs[1], runs) == tuple(runs[:MAX_REPLICAS])
    assert stack_of(runs[1], ()) == (runs[1],) == stack_of(runs[1], runs[2:])
    # Five splits fill a stack on a CPU; on a GPU it contains every split of every run.
    many = row(tiny, "splits=5")
    assert stack_of(many[1], many) == (many[1],)
    cuda = [with_experiment(run, device="cuda") for run in many]
    assert stack_of(cuda[1], cuda) == tuple(cuda)
    methods = [run.experiment.method for run in cuda]  # type: ignore[attr-defined]
    members = tuple(method.divergence for method in methods)
    assert methods[0].merge_for_stacking(methods[1:], 5).divergence == StackedDivergences(
        members, 5
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    "other",
    [
        "seed=1",
        "depth=2",
        "training.learning_rate=0.02",
        "method.initial_precision=20",
        "splits=[1]",
    ],
)
def test_runs_that_differ_in_other_settings_are_not_stacked(tiny: Planner, other: str) -> None:
    runs = row(tiny, "splits=1", names=("kl",)) + row(tiny, "splits=1", other)
    assert stack_of(runs[0], runs) == (runs[0],) and len(stack_of(runs[1], runs)) == len(NAMES)


def test_other_data_use_another_stack(tiny: Planner, table_csv: Path) -> None:
    """Even if the configuration of the data set is the same."""
    (run,) = row(tiny, "splits=1", names=("kl",))
    text = table_csv.read_text()
    table_csv.write_text(text.replace("0.", "1.", 1))
    others = row(tiny, "splits=1", names=("kl", "js"))
    assert stack_of(run, [run, *others]) == (run,)
    assert stack_of(others[0], [run, *others]) == tuple(others)


def test_a_run_named_twice_is_fitted_once(tiny: Planner) -> None:
    sweep = SweepProgress(row(tiny, "splits=1", names=("kl", "js", "kl")))
    numbers = [scores(run, sweep)["rmse"] for run in sweep.runs]
    assert len(stack_of(sweep.runs[2], sweep.runs)) == 2
    assert numbers[0] == numbers[2] != numbers[1]


def test_other_estimators_use_another_stack(tiny: Planner) -> None:
    """Unlike closed forms, estimates draw random numbers when the objective is recorded."""
    sampled = row(tiny, "splits=1", "divergence.estimator=monte_carlo", names=("kl", "js"))
    runs = row(tiny, "splits=1", names=("kl",)) + sampled
    assert stack_of(runs[0], runs) == (runs[0],) and stack_of(runs[1], runs) == tuple(sampled)


def test_searches_and_other_methods_are_not_stacked(tiny: Planner) -> None:
    for given in ((), (*FIXED, "method=mc_dropout", "method.dropout=0.1")):
        runs = [tiny("splits=1", *given, f"method.label={name}") for name in "ab"]
        assert stack_of(runs[0], runs) == (runs[0],)


@pytest.mark.slow
def test_a_locked_run_is_left_out_of_the_stack(tiny: Planner) -> None:
    sweep = SweepProgress(row(tiny, "splits=1"))
    theirs = sweep.runs[1]
    theirs.folder.create()
    with lock_units(theirs.store, theirs.experiment.units()):
        scores(sweep.runs[0], sweep)
    left = [run.unfinished_units() for run in sweep.runs]
    assert left == [[], ["split-00"], [], []]
    for run in sweep.runs:
        scores(run, sweep)
    assert all(run.folder.environment.is_file() for run in sweep.runs)
