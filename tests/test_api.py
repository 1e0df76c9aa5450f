"""The Python interface."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from support.config import TINY
from support.user_errors import raises_user_error

import bnnbench


@pytest.fixture
def settings(table_csv: Path, tmp_path: Path) -> list[str]:
    words = ["dataset=csv", "dataset.target=y", f"dataset.path={table_csv}", "workers=1"]
    return [*TINY, *words, f"outputs_dir={tmp_path / 'out'}", "method=linear"]


def test_fit_load_and_predict(settings: list[str], tmp_path: Path) -> None:
    run = bnnbench.fit(*settings)
    assert run.splits["rmse"].notna().all() and len(run.splits) == 2
    assert run.summary.set_index("metric").loc["rmse", "n"] == 2
    assert run.search.empty and run.predictions is not None
    again = bnnbench.load_run(tmp_path / "out")
    assert again.folder == run.folder
    pd.testing.assert_frame_equal(again.splits, run.splits)
    new = pd.DataFrame({"c": [0.0, 1], "a": [0.0, 1], "b": [0.0, 1]}, index=["p", "q"])
    found = bnnbench.predict(run, new, interval=0.5)
    assert list(found.index) == ["p", "q"] and (found["lower"] < found["mean"]).all()
    wider = bnnbench.predict(str(run.folder.root), new, interval=0.9)
    assert np.allclose(wider["mean"], found["mean"]) and (wider["upper"] > found["upper"]).all()


def test_mistakes_are_user_errors(settings: list[str], tmp_path: Path) -> None:
    with raises_user_error("seed", "several_jobs"):
        bnnbench.fit(*settings, "seed=0,1")
    with raises_user_error("RUN", "not_a_folder"):
        bnnbench.load_run(tmp_path / "nowhere")
    run = bnnbench.fit(*settings)
    with raises_user_error("calibrate"):
        run.predict(pd.DataFrame({"a": [1]}), calibrate="magic")
    with raises_user_error("b", "missing_column"):
        run.predict(pd.DataFrame({"a": [1]}))
    with raises_user_error("name") as error:
        run.figure("magic")
    assert all(name in str(error.value) for name in ("calibration", "predictions", "splits"))
    assert run.figure("splits")._repr_png_().startswith(b"\x89PNG")
    with pytest.raises(AttributeError, match="nothing"):
        bnnbench.nothing  # noqa: B018


def test_importing_the_package_imports_no_slow_modules() -> None:
    code = "import sys, bnnbench; print({'torch', 'pandas', 'hydra'} & set(sys.modules))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "set()"


def test_completion_finds_the_functions() -> None:
    assert {"fit", "load_run", "predict", "FinishedRun"} <= set(dir(bnnbench))
