"""`bnnbench.recommend`: a comparison of methods from Python."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from support.config import TINY
from support.quick import slow_except
from support.user_errors import raises_user_error

import bnnbench
from bnnbench.choice.comparable_runs import comparable_runs
from bnnbench.choice.recommend import run_in_time
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
    words = [*SHORT, f"outputs_dir={tmp_path}"]
    with pytest.warns(UserWarning, match="net and tax"):
        leaking = bnnbench.recommend(frame, *words, **options)
    found = bnnbench.recommend(frame, *words, "dataset.drop=[net,tax]", **options)
    assert sorted(found.table.index) == ["linear", "pbp"] and found.method in found.table.index
    assert found.table["rmse"].min() > 100 * leaking.table["rmse"].min()
    assert found.table["coverage_90"].between(0.5, 1).all() and (found.table["seconds"] > 0).all()
    assert len(found.run.splits) == 3
    assert len(found.run.predict(pd.DataFrame({"x": [0.0, 1.0]}))) == 2


def test_mistakes_are_user_errors(frame: pd.DataFrame, tmp_path: Path) -> None:
    settings = [f"outputs_dir={tmp_path}"]
    with raises_user_error("dataset.target", "unknown_column"):
        bnnbench.recommend(frame, *settings, target="price")
    with raises_user_error("--methods", "unknown_option"):
        bnnbench.recommend(frame, *settings, target="gross", methods=["magic"])
    with raises_user_error("minutes"):
        bnnbench.recommend(frame, *settings, target="gross", methods=["linear", "pbp"], minutes=-1)
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
