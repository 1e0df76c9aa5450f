"""The loop over runs: results and errors."""

from __future__ import annotations

import pytest
from support.tiny_runs import Planner

from bnnbench.experiment.run_folder import RunFolder
from bnnbench.run_all import run_all
from bnnbench.types import UserError

pytestmark = pytest.mark.usefixtures("without_figures")


def test_every_run_is_executed_in_order(tiny: Planner) -> None:
    runs = [tiny("splits=1"), tiny("splits=1", "seed=1")]
    shown: list[RunFolder] = []
    folders = run_all(runs, shown.append)
    assert folders == shown == [run.folder for run in runs]
    assert all(run.complete() for run in runs)


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
