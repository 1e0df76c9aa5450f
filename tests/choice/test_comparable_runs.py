"""The runs that `recommend` compares."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from support.config import TINY
from support.user_errors import raises_user_error

from bnnbench.choice.comparable_runs import _with_splits, comparable_runs, within_budget
from bnnbench.experiment.run.progress import seconds_left

SHORT = [word for word in TINY if not word.startswith(("splits", "search"))]


def test_out_of_fold_predictions_are_optional(table_csv: Path) -> None:
    for words, expected in (((), False), (("evaluation.out_of_fold=true",), True)):
        runs = comparable_runs(str(table_csv), "y", ["linear", "boosting"], [*SHORT, *words])
        found = [run.config["evaluation"]["out_of_fold"] for run in runs]
        assert found == [expected, expected]


@pytest.mark.slow
def test_splits_of_the_table_replace_the_default_number(tmp_path: Path) -> None:
    """Splits by time have five windows; a list of columns needs no brackets."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(90, 4)), columns=["a", "b", "c", "y"])
    frame = frame.assign(day=np.arange(90), person=np.arange(90) // 3)
    frame.to_csv(tmp_path / "t.csv", index=False)
    for word, expected in (("dataset.time=day", 5), ("dataset.group=person", 10)):
        words = [word, "dataset.drop=b,c"]
        runs = comparable_runs(str(tmp_path / "t.csv"), "y", ["linear", "boosting"], words)
        assert [len(run.experiment.units()) for run in runs] == [expected] * 2
        assert not {"b", "c"} & set(runs[0].experiment.table.features)


@pytest.mark.slow
def test_participants_that_do_not_accept_a_setting_are_left_out(
    table_csv: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = ["linear", "deep_ensemble/heteroscedastic"]
    plain = comparable_runs(str(table_csv), "y", names, SHORT)
    found = [run.experiment.metadata()["likelihood"] for run in plain]
    assert found == ["gaussian", "heteroscedastic"]
    names = ["linear", "vadam", "deep_ensemble"]
    runs = comparable_runs(str(table_csv), "y", names, [*SHORT, "likelihood=heteroscedastic"])
    assert [run.experiment.metadata()["method"] for run in runs] == names[1:]
    assert "method=linear" in capsys.readouterr().err


def test_a_time_budget_reduces_splits_and_then_methods(table_csv: Path) -> None:
    runs = comparable_runs(str(table_csv), "y", ["vadam", "linear", "pbp"], ["splits=10", *SHORT])
    minutes = sum(map(seconds_left, runs)) / 60
    assert [len(run.experiment.units()) for run in within_budget(runs, 1.01 * minutes)] == [10] * 3
    fewest = sorted(seconds_left(_with_splits(run, 3)) / 60 for run in runs)
    half = within_budget(runs, sum(fewest) + (minutes - sum(fewest)) / 4)
    (count,) = {len(run.experiment.units()) for run in half}
    assert len(half) == 3 and 3 <= count <= 5
    assert {run.config["splits"][-1] for run in half} == {count - 1}
    two = within_budget(runs, sum(fewest[:2]) * 1.01)
    assert [len(run.experiment.units()) for run in two] == [3, 3]
    with raises_user_error("--minutes", "too_short"):
        within_budget(runs, sum(fewest[:2]) * 0.5)
