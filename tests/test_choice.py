"""`bnnbench.recommend`: the runs that are compared, and the recommendation."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from support.config import TINY
from support.quick import slow_except
from support.user_errors import raises_user_error

import bnnbench
from bnnbench.choice import _with_splits, comparable_runs, run_in_time, within_budget
from bnnbench.experiment.run.progress import seconds_left
from bnnbench.experiment.run.run import Run
from bnnbench.experiment.store.run_folder import RunFolder

SHORT = [word for word in TINY if not word.startswith(("splits", "search"))]


@pytest.fixture
def frame() -> pd.DataFrame:
    """A table whose target is a sum of two columns."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(80, 3)).round(2), columns=["net", "tax", "x"])
    return frame.assign(gross=frame["net"] + frame["tax"])


@pytest.mark.ci
@pytest.mark.usefixtures("without_figures")
def test_a_frame_has_a_recommendation_without_earlier_runs(
    frame: pd.DataFrame, tmp_path: Path
) -> None:
    """Those with the leaking columns have much better scores."""
    options = {"target": "gross", "methods": ("linear", "pbp"), "splits": 3}
    options["outputs_dir"] = tmp_path
    with pytest.warns(UserWarning, match="net and tax"):
        leaking = bnnbench.recommend(frame, *SHORT, **options)
    found = bnnbench.recommend(frame, *SHORT, "dataset.drop=[net,tax]", **options)
    assert sorted(found.table.index) == ["linear", "pbp"] and found.method in found.table.index
    assert found.table["rmse"].min() > 100 * leaking.table["rmse"].min()
    assert found.table["coverage_90"].between(0.5, 1).all() and (found.table["seconds"] > 0).all()
    assert len(found.run.splits) == 3
    assert len(found.run.predict(pd.DataFrame({"x": [0.0, 1.0]}))) == 2


def test_mistakes_are_user_errors(frame: pd.DataFrame, tmp_path: Path) -> None:
    recommend = partial(bnnbench.recommend, frame, outputs_dir=tmp_path)
    with raises_user_error("dataset.target", "unknown_column"):
        recommend(target="price")
    with raises_user_error("--methods", "unknown_option"):
        recommend(target="gross", methods=["magic"])
    with raises_user_error("minutes"):
        recommend(target="gross", methods=["linear", "pbp"], minutes=-1)
    with raises_user_error("outputs_dir", "argument"):
        bnnbench.recommend(frame, f"outputs_dir={tmp_path}", target="gross")
    with raises_user_error("dataset.path", "file_not_found"):
        bnnbench.recommend(tmp_path / "nowhere.csv", target="gross")


@pytest.mark.parametrize(("slowness", "expected"), slow_except([(1.0, 3), (1.6, 2)], 1.6))
def test_the_pace_of_the_machine_counts_for_the_time_budget(
    table_csv: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    slowness: float,
    expected: int,
) -> None:
    """Three runs of about 1,000 s fit into an hour, but not if two of them took 3,200 s."""
    runs = comparable_runs(str(table_csv), "y", ["linear", "pbp", "vadam"], ["splits=3", *SHORT])
    now, finished = [0.0], list[RunFolder]()

    def run_slowly(runs: Sequence[Run], say: object) -> list[RunFolder]:
        now[0] += slowness * seconds_left(runs[0])
        finished.append(runs[0].folder)
        return [runs[0].folder]

    monkeypatch.setattr("time.monotonic", lambda: now[0])
    monkeypatch.setattr("bnnbench.experiment.run.progress.REPORT_SECONDS", 1000)
    monkeypatch.setattr("bnnbench.run_all.run_all", run_slowly)
    monkeypatch.setattr(Run, "complete", lambda run: run.folder in finished)
    assert len(run_in_time(runs, 60)) == expected
    assert ("vadam" in capsys.readouterr().err) == (expected == 2)


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
