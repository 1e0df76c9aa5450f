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


@pytest.fixture
def frame() -> pd.DataFrame:
    """Return 40 rows with columns of several types, in an index of its own."""
    rng = np.random.default_rng(0)
    days = pd.date_range("2024-01-01", periods=40, freq="h")[rng.permutation(40)]
    columns = {
        "size": rng.normal(size=40),
        7: pd.array(rng.integers(0, 9, 40), dtype="Int64"),
        "built": days,
        "city": pd.Categorical(rng.choice(["x", "y", "z"], 40)),
        "garden": rng.random(40) > 0.5,
    }
    price = columns["size"] + 2 * columns["garden"] + 0.1 * rng.normal(size=40)
    return pd.DataFrame(columns | {"price": price}, index=[f"house {k}" for k in range(40)])


OF_FRAME = ["dataset.categorical=onehot", "dataset.dates=numbers", "method=linear"]


@pytest.mark.usefixtures("without_figures")
def test_a_frame_is_used_like_a_file(frame: pd.DataFrame, tmp_path: Path) -> None:
    before = frame.copy(deep=True)
    outputs = f"outputs_dir={tmp_path}"
    run = bnnbench.fit(frame, *OF_FRAME, outputs, target="price", splits=1, workers=1)
    assert run.summary.set_index("metric").loc["rmse", "n"] == 1
    new = frame.drop(columns="price").iloc[[3, 1]]
    found = bnnbench.load_run(tmp_path).predict(new)
    assert list(found.index) == ["house 3", "house 1"]
    assert np.abs(found["mean"] - frame["price"].iloc[[3, 1]]).max() < 0.5
    pd.testing.assert_frame_equal(frame, before)
    (path,) = (tmp_path / "tables").iterdir()
    words = [*OF_FRAME, outputs, "dataset=csv", f"dataset.path={path}", "dataset.target=price"]
    assert bnnbench.fit(*words, splits=1, workers=1).folder == run.folder


def test_mistakes_with_frames(frame: pd.DataFrame, tmp_path: Path) -> None:
    words = [*OF_FRAME, f"outputs_dir={tmp_path}"]
    with raises_user_error("target", "missing"):
        bnnbench.fit(frame, *words)
    with raises_user_error("dataset", "two_sources"):
        bnnbench.fit(frame, *words, target="price", dataset="boston")
    with raises_user_error("settings", "wrong_type"):
        bnnbench.fit(frame.to_numpy(), target="price")  # type: ignore[arg-type]
    with raises_user_error("settings", "wrong_type"):
        bnnbench.fit(frame, frame["price"])  # type: ignore[arg-type]
    with raises_user_error("dataset.target", "unknown_column"):
        bnnbench.fit(frame, *words, target="prize")


def test_load_table() -> None:
    table = bnnbench.load_table("diabetes")
    assert len(table.splits) == 20 and table.inputs.shape == (442, 10)
    with raises_user_error("dataset", "unknown_option"):
        bnnbench.load_table("diabetis")


def test_importing_the_package_imports_no_slow_modules() -> None:
    code = "import sys, bnnbench; print({'torch', 'pandas', 'hydra', 'sklearn'} & set(sys.modules))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "set()"


def test_completion_finds_the_functions() -> None:
    public = {"BNNRegressor", "FinishedRun", "fit", "load_run", "load_table", "predict"}
    assert public <= set(dir(bnnbench))
