"""`bnnbench.recommend`: a comparison of methods from Python."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from support.config import TINY
from support.user_errors import raises_user_error

import bnnbench

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
    leaking = bnnbench.recommend(frame, *words, **options)
    assert "net and tax" in leaking.sentences[0]
    found = bnnbench.recommend(frame, *words, "dataset.drop=[net,tax]", **options)
    assert "net and tax" not in str(found)
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
