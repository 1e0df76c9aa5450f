"""The loop over runs: results and errors."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
import pytest
from support.tiny_runs import Planner

from bnnbench.cpp.library import Library
from bnnbench.experiment.run_folder import RunFolder
from bnnbench.experiment.run_status import run_status
from bnnbench.results.slowdown import MEASURED
from bnnbench.run_all import run_all
from bnnbench.types import UserError

quick = pytest.mark.usefixtures("without_figures")


@quick
def test_every_run_is_executed_in_order(tiny: Planner) -> None:
    runs = [tiny("splits=1"), tiny("splits=1", "seed=1")]
    shown: list[RunFolder] = []
    folders = run_all(runs, shown.append)
    assert folders == shown == [run.folder for run in runs]
    assert all(run.complete() for run in runs)


@quick
def test_an_error_of_one_run_does_not_stop_the_others(tiny: Planner) -> None:
    runs = [tiny("splits=1"), tiny("splits=1", "seed=1")]
    error = UserError("refused.", "splits")

    def show(folder: RunFolder) -> None:
        if folder == runs[0].folder:
            raise error

    errors: list[UserError] = []
    run_all(runs, show, errors.append)
    assert errors == [error] and runs[1].complete()
    with pytest.raises(UserError) as raised:
        run_all(runs, show)
    assert raised.value is error


def test_figures_of_a_sweep_are_drawn_when_its_runs_are_finished(tiny: Planner) -> None:
    runs = [tiny("splits=1"), tiny("splits=1", "seed=1")]

    def no_figure(folder: RunFolder) -> None:
        assert not list(folder.root.glob("figures/*"))

    run_all(runs, no_figure)
    assert all(run_status(run).intact for run in runs)
    names = {path.name for run in runs for path in run.folder.root.glob("figures/*")}
    assert names == {"calibration.png", "predictions.png", "search.png", "splits.png"}
    more = [replace(run, experiment=tiny("splits=2").experiment) for run in runs[:1]] + runs[1:]
    run_all(more, lambda folder: no_figure(folder) if folder == more[0].folder else None)
    assert all(run_status(run).intact for run in more), "figures of fewer splits were replaced"


def test_an_interrupted_sweep_draws_its_figures_later(tiny: Planner) -> None:
    runs = [tiny("splits=1"), tiny("splits=1", "seed=1")]

    def interrupt(folder: RunFolder) -> None:
        if folder == runs[1].folder:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_all(runs, interrupt)
    before = [run.folder.table("splits").read_bytes() for run in runs]
    assert all(run.complete() and run_status(run).missing_figures for run in runs)
    run_all(runs[:1])
    assert run_status(runs[0]).intact
    run_all(runs)
    assert all(run_status(run).intact for run in runs)
    assert before == [run.folder.table("splits").read_bytes() for run in runs], "nothing was run"


@quick
def test_missing_native_code_is_said_once(tiny: Planner, monkeypatch: pytest.MonkeyPatch) -> None:
    missing = Library(reason="there is no compiler")
    monkeypatch.setattr("bnnbench.run_all.library", lambda: missing)
    runs, said = [tiny("splits=1"), tiny("splits=1", "seed=1")], list[str]()
    run_all(runs, say=said.append)
    (sentence,) = (text for text in said if "there is no compiler" in text)
    factors = pd.read_csv(MEASURED, index_col="method")["factor"]
    assert f"{factors['vadam']:.2g} times" in sentence
    said.clear()
    run_all(runs, say=said.append)
    assert not [text for text in said if "compiler" in text], "nothing is trained"
