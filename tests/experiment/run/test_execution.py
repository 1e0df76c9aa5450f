"""Execution: independence of workers, lockstep, output files, and units added later."""

from __future__ import annotations

import json
import multiprocessing
import shutil
import threading
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from support.tiny_runs import SCORES, Planner, finished
from support.user_errors import raises_user_error

from bnnbench.cpp.library import Library, library
from bnnbench.data.splits import subset_fingerprints
from bnnbench.experiment.kinds.base import Task
from bnnbench.experiment.run.execution import execute
from bnnbench.experiment.run.run import Run
from bnnbench.experiment.splits.split_experiment import code_columns
from bnnbench.experiment.store.lock import lock_units
from bnnbench.experiment.store.provenance import reference_seconds
from bnnbench.experiment.store.record import read_record
from bnnbench.experiment.store.split_files import MACHINE_COLUMNS
from bnnbench.methods.pbp import PBP
from bnnbench.run_all import run_all

FIXED = ("method=bbb", "method.noise_precision=10", "method.prior_precision=1")


def row(run: Run, unit: str) -> dict[str, float]:
    """The saved row of one split."""
    piece = json.loads(run.store.file(unit, "json").read_text())
    (found,) = piece["tables"]["splits"]
    return found


def run_units(run: Run, units: Sequence[str]) -> None:
    """Run the groups that contain some units, in this process."""
    for task in run.tasks(units):
        task.run()


@pytest.mark.integration
def test_results_do_not_depend_on_workers(tiny: Planner, tmp_path: Path) -> None:
    one = replace(tiny("splits=3"), outputs=tmp_path / "one")
    two = replace(tiny("splits=3"), workers=2, outputs=tmp_path / "two")
    tables = [finished(run)[1].drop(columns=MACHINE_COLUMNS) for run in (one, two)]
    pd.testing.assert_frame_equal(*tables, check_exact=True)


@pytest.mark.slow
def test_the_page_is_written_when_the_workers_are_gone(
    tiny: Planner, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their threads are gone too: figures are drawn in forks."""
    before, left = threading.active_count(), []

    def pages(runs: Sequence[Run]) -> list[str]:
        left.append((threading.active_count(), multiprocessing.active_children()))
        return []

    monkeypatch.setattr("bnnbench.report.run_output.write_pages", pages)
    run_all([replace(tiny("splits=2"), workers=2)])
    assert left == [(before, [])]


def test_lockstep_equals_one_split_at_a_time(tiny: Planner, tmp_path: Path) -> None:
    """All splits in one stack, as on a GPU, and one after the other, in float64."""
    one, stacked = (
        replace(tiny("splits=3", "training.dtype=float64"), outputs=tmp_path / name)
        for name in "ab"
    )
    for run in (one, stacked):
        run.folder.create()
    run_units(one, one.experiment.units())
    Task(stacked.experiment, stacked.store, stacked.experiment.units()).run()
    for unit in one.experiment.units():
        for name in [*SCORES, "hp.noise_precision", "hp.prior_precision"]:
            assert row(stacked, unit)[name] == pytest.approx(row(one, unit)[name], rel=1e-6)


def test_output_contract(tiny: Planner) -> None:
    run = tiny()
    folder, table = finished(run)
    assert folder.root.parts[-4:-1] == ("uci", "table", "vadam")
    columns = (
        "experiment,dataset,method,divergence,likelihood,loss,depth,split,seed,training_rows,"
        "test_rows,fingerprint,training_fingerprint,parameters,"
        "rmse,log_likelihood,log_likelihood_joint,log_likelihood_gaussian,crps,"
        "search_seconds,fit_seconds,predict_seconds,total_seconds,cpu_seconds,reference_seconds,"
        "host,device,bits,native_code,code,diverged,at_bound,hp.noise_precision,hp.prior_precision"
    )
    assert table.columns.tolist() == columns.split(",")
    assert table["split"].tolist() == [0, 1] and not table["diverged"].any()
    assert (table["reference_seconds"] > 0).all() and reference_seconds() > 0
    search = pd.read_csv(folder.table("search"))
    assert len(search) == 6 and {"objective", "fold_0", "fold_2", "seconds"} <= set(search.columns)
    np.testing.assert_allclose(
        search[["fold_0", "fold_1", "fold_2"]].mean(axis=1), search["objective"]
    )
    chosen = search.loc[search.groupby("split")["objective"].idxmax(), "hp.noise_precision"]
    np.testing.assert_array_equal(chosen, table["hp.noise_precision"])
    targets = run.experiment.table  # type: ignore[attr-defined]
    assert set(table["training_rows"]) == {54} and set(table["test_rows"]) == {6}
    parts = [split.test for split in targets.splits[:2]]
    assert table["fingerprint"].tolist() == subset_fingerprints(targets, parts)
    with np.load(folder.arrays("predictions")) as points:
        assert {"split", "row", "target", "mean", "epistemic_variance", "noise_variance"} <= set(
            points.files
        )
        np.testing.assert_array_equal(points["target"], targets.targets[points["row"]])
        error = (points["target"] - points["mean"])[points["split"] == 1]
        assert np.sqrt(np.mean(error**2)) == pytest.approx(table["rmse"][1])
        scale = targets.targets[targets.splits[0].train].std()
        assert points["noise_variance"][0] == pytest.approx(
            scale**2 / table["hp.noise_precision"][0], rel=1e-5
        )
    for path in (folder.config, folder.environment, folder.record, folder.done):
        assert path.stat().st_size > 0
    record = read_record(folder)
    assert record.kind == "splits" and folder.root.name.endswith(record.digest)
    assert record.metadata["method"] == "vadam" and record.metadata["target"] == "y"


def test_splits_added_later_reuse_finished_ones(tiny: Planner) -> None:
    first, more, all_ = (tiny(f"splits={wanted}") for wanted in ("[1]", "2", "3"))
    assert first.folder == more.folder == all_.folder
    folder, table = finished(first)
    assert table["split"].tolist() == [1] and first.complete() and not more.complete()
    kept = first.store.file("split-01", "json").stat().st_mtime_ns
    _, table = finished(more)
    assert table["split"].tolist() == [0, 1] and more.complete() and not all_.complete()
    assert first.store.file("split-01", "json").stat().st_mtime_ns == kept
    with np.load(folder.arrays("predictions")) as points:
        assert np.unique(points["split"]).tolist() == [0, 1]
    before = folder.done.stat().st_mtime_ns
    assert execute(first) == folder and folder.done.stat().st_mtime_ns == before


def test_two_processes_may_fill_one_run(tiny: Planner) -> None:
    """While another process works on split 0, split 1 may be run, but not split 0."""
    other, ours, both = tiny("splits=[0]"), tiny("splits=[1]"), tiny("splits=2")
    other.folder.create()
    with lock_units(other.store, other.experiment.units()):
        finished(ours)
        with raises_user_error(code="locked") as error:
            execute(both)
        assert "split-00" in str(error.value)
    _, table = finished(both)
    assert table["split"].tolist() == [0, 1]


def test_a_stack_of_splits_equals_single_splits(tiny: Planner, tmp_path: Path) -> None:
    given = (*FIXED, "evaluation.out_of_fold=false", "training.dtype=float64")
    together = replace(tiny(*given, "splits=3"), outputs=tmp_path / "together")
    second = tiny(*given, "splits=[1]")
    for run in (together, second):
        run.folder.create()
        run_units(run, ["split-01"])
    # The whole stack is run, so that a resumed run has the same stack.
    assert not together.unfinished_units()
    for name in ("rmse", "log_likelihood", "crps"):
        assert row(together, "split-01")[name] == pytest.approx(row(second, "split-01")[name])


def test_a_run_saves_its_objective_and_scores_training_rows(tiny: Planner) -> None:
    wanted = ("evaluation.save_objective=true", "evaluation.score_training_rows=true")
    run = tiny(*FIXED, *wanted)
    folder, splits = finished(run)
    with np.load(folder.arrays("objective")) as arrays:
        places = np.stack([arrays["split"], arrays["epoch"]], 1)
        assert {"loss", "complexity"} <= set(arrays.files)
    assert places.tolist() == [[0, 1], [0, 2], [1, 1], [1, 2]]
    with np.load(folder.arrays("training")) as arrays:
        error = (arrays["target"] - arrays["mean"])[arrays["split"] == 1]
        rows = arrays["row"][arrays["split"] == 1]
    table = run.experiment.table  # type: ignore[attr-defined]
    assert sorted(rows) == sorted(table.splits[1].train)
    assert np.sqrt(np.mean(error**2)) == pytest.approx(splits["train_rmse"][1])
    hidden_and_output = (3 + 1) * 4 + (4 + 1)
    assert set(splits["parameters"]) == {2 * hidden_and_output}
    assert set(splits["training_rows"]) == {54}


def test_a_method_without_minibatches_saves_no_objective(tiny: Planner) -> None:
    run = tiny("method=pbp", "evaluation.save_objective=true", "splits=1")
    assert not finished(run)[0].arrays("objective").exists()


def test_lockstep_leaves_out_splits_in_the_tables(
    tiny: Planner, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Earlier splits are not computed again, although all splits form one group."""
    monkeypatch.setattr(PBP, "stack_splits", True)
    pbp = ("method=pbp", "evaluation.out_of_fold=false")
    finished(tiny(*pbp, "splits=2"))
    groups: list[tuple[str, ...]] = []
    run_one = Task.run

    def noted(task: Task, cores: int) -> None:
        groups.append(task.units)
        run_one(task, cores)

    monkeypatch.setattr(Task, "run", noted)
    _, table = finished(tiny(*pbp, "splits=3"))
    assert groups == [("split-02",)] and table["split"].tolist() == [0, 1, 2]


def test_nothing_is_added_to_a_run_without_its_unit_files(tiny: Planner) -> None:
    run = tiny("splits=2")
    folder, table = finished(run)
    shutil.rmtree(folder.work)
    assert finished(run)[1].equals(table), "its tables are complete"
    with raises_user_error(code="lost_units") as error:
        finished(tiny("splits=[2]"))
    assert "split-00, split-01" in str(error.value)
    assert run.complete() and finished(tiny("splits=3"))[1]["split"].tolist() == [0, 1, 2]


def test_a_damaged_unit_that_is_not_requested_is_an_error(tiny: Planner) -> None:
    folder, _ = finished(tiny("splits=2"))
    tiny().store.file("split-00", "json").write_text("")
    with raises_user_error(code="lost_units"):
        finished(tiny("splits=[2]"))
    assert folder.done.exists()


def test_every_process_records_its_environment(tiny: Planner) -> None:
    folder, _ = finished(tiny("splits=[0]"))
    finished(tiny("splits=[1]"))
    facts = json.loads(folder.environment.read_text())
    (earlier,) = facts["earlier"]
    assert facts["versions"] == earlier["versions"] and earlier["started"] <= facts["started"]
    assert facts["native"] == library().status


@pytest.mark.parametrize(
    ("available", "natives", "words", "expected"),
    [
        (True, [True], (), "used"),
        (True, [], (), "used"),
        (True, [True, False], (), "missing"),  # the search was begun without
        (False, [True], (), "missing"),
        (False, [False], ("method=gp",), "none"),
        (False, [False], ("training.dtype=float64",), "none"),
    ],
)
def test_a_split_records_whether_native_code_was_missing(
    tiny: Planner,
    monkeypatch: pytest.MonkeyPatch,
    available: bool,
    natives: list[bool],
    words: tuple[str, ...],
    expected: str,
) -> None:
    plan: Any = tiny(*words).experiment
    found = Library(code=object() if available else None)  # type: ignore[arg-type]
    monkeypatch.setattr("bnnbench.experiment.splits.split_experiment.library", lambda: found)
    code = {"version": "0.1.0", "digest": "1", "own": None}
    columns = code_columns(plan, [{**code, "native": native} for native in natives])
    assert columns["native_code"] == expected
    assert columns["bits"] == "processor" or expected == "used"


def test_other_files_of_an_experiment_are_not_units(tiny: Planner) -> None:
    run = tiny("splits=1")
    finished(run)
    run.store.file("split-00", "state.json").write_text("{}")
    assert run.store.units() == ["split-00"]
