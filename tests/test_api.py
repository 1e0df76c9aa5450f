"""The Python interface."""

from __future__ import annotations

import subprocess
import sys
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from support.config import TINY
from support.user_errors import raises_user_error

import bnnbench
from bnnbench.experiment.run.run import Run
from bnnbench.experiment.store.run_folder import RunFolder
from bnnbench.prediction import final_model
from bnnbench.types import UserError


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


def mixed_columns() -> pd.DataFrame:
    """Return 40 rows with columns of several types, indexed by strings."""
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


@pytest.fixture
def frame() -> pd.DataFrame:
    return mixed_columns()


OF_FRAME = ["dataset.categorical=onehot", "dataset.dates=numbers", "method=linear"]


@pytest.mark.usefixtures("without_figures")
def test_a_frame_is_used_like_a_file(frame: pd.DataFrame, tmp_path: Path) -> None:
    before = frame.copy(deep=True)
    outputs = f"outputs_dir={tmp_path}"
    options = {"target": "price", "splits": 1, "workers": 1, "outputs_dir": tmp_path}
    run = bnnbench.fit(frame, *OF_FRAME, **options)
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
    for data in (frame.to_numpy(), {"price": [1.0]}, [[1, 2]], iter([1])):
        with raises_user_error("frame", "wrong_type"):
            bnnbench.fit(data, target="price")
    with raises_user_error("outputs_dir", "type"):
        bnnbench.fit(frame, target="price", outputs_dir=b"o")
    with raises_user_error("settings", "wrong_type"):
        bnnbench.fit(frame, frame["price"])  # type: ignore[arg-type]
    with raises_user_error("dataset.target", "unknown_column"):
        bnnbench.fit(frame, *words, target="prize")


@pytest.fixture(scope="module")
def of_frame(tmp_path_factory: pytest.TempPathFactory) -> bnnbench.FinishedRun:
    """Return a run with the frame, without its warnings."""
    with warnings.catch_warnings(), pytest.MonkeyPatch.context() as patched:
        warnings.simplefilter("ignore")
        patched.setattr("bnnbench.run_all._write_pages", lambda runs, say: None)
        return bnnbench.fit(
            mixed_columns(), *OF_FRAME, target="price", splits=1, workers=1,
            outputs_dir=tmp_path_factory.mktemp("outputs"),
        )  # fmt: skip


@pytest.fixture
def planned(monkeypatch: pytest.MonkeyPatch) -> list[Run]:
    """Return the list that collects runs instead of running them."""
    runs: list[Run] = []

    def run_all(given: Sequence[Run], say: object) -> list[RunFolder]:
        runs.extend(given)
        return [run.folder for run in given]

    monkeypatch.setattr("bnnbench.run_all.run_all", run_all)
    return runs


def warnings_of(call: Callable[[], object]) -> list[str]:
    """Return the messages of the warnings of a call, each of which names this file."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    assert all(one.category is UserWarning and one.filename == __file__ for one in caught)
    return [str(one.message) for one in caught]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, []),
        ({"garden": True}, []),
        ({"city": "birch"}, ["birch", "outside"]),
        ({"city": None}, ["no value"]),
        ({"size": np.nan}, ["no value"]),
        ({"size": 99.0}, ["outside"]),
        ({"built": pd.Timestamp("2050-01-01")}, ["outside"]),
    ],
)
def test_predictions_warn_as_the_command_notes(
    of_frame: bnnbench.FinishedRun, changes: dict[str, Any], expected: list[str]
) -> None:
    new = mixed_columns().drop(columns="price").iloc[[3, 5]].astype({"city": object})
    for name, value in changes.items():
        new.loc[new.index[0], name] = value
    about_cells = [text for text in expected if text != "outside"]
    expected = [*about_cells, "test rows of the run", *expected[len(about_cells) :]]
    for predict in (of_frame.predict, partial(bnnbench.predict, of_frame)):
        found = warnings_of(partial(predict, new))
        assert len(found) == len(expected)
        assert all(part in text for part, text in zip(expected, found, strict=True))
    *cells, score = warnings_of(partial(of_frame.next_rows, new, 1))
    assert len(cells) == len(about_cells) and "score is" in score


def test_limits_of_calibrations_are_warnings(
    frame: pd.DataFrame, of_frame: bnnbench.FinishedRun
) -> None:
    new = frame.drop(columns="price").iloc[[3]]
    assert not warnings_of(partial(of_frame.predict, new, 0.5, "isotonic"))
    (limit,) = warnings_of(partial(of_frame.predict, new, 0.999, "isotonic"))
    assert "0.999" in limit


def test_other_code_is_a_warning(
    frame: pd.DataFrame, of_frame: bnnbench.FinishedRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(final_model, "describe_other_code", lambda one, code: "version 0")
    found, _ = warnings_of(partial(of_frame.predict, frame.iloc[[3]]))
    assert "version 0" in found


def many_rows(**changes: Any) -> pd.DataFrame:
    """Return 120 rows without anything to warn about, except for some columns."""
    rng = np.random.default_rng(0)
    columns = {"a": rng.normal(size=120), "b": rng.normal(size=120)}
    y = columns["a"] + rng.normal(size=120)
    return pd.DataFrame(columns | {"y": y}).assign(**changes)


@pytest.mark.usefixtures("planned")
@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (many_rows(), []),
        (many_rows().sample(frac=1, random_state=0), []),
        (many_rows().head(60), ["only 60 rows"]),
        (many_rows(c=1.0), ["c is constant"]),
        (many_rows(nr=range(120)), ["nr numbers the rows"]),
        (
            many_rows(c=pd.to_timedelta(np.arange(120) ** 2 % 7, unit="h")),
            ["seconds in c"],
        ),
        (many_rows().set_axis(pd.date_range("2024", periods=120)), ["dataset.time=index"]),
        (many_rows().rename_axis("house").iloc[::-1], []),
    ],
)
def test_a_fit_warns_about_the_frame(
    data: pd.DataFrame, expected: list[str], tmp_path: Path
) -> None:
    found = warnings_of(lambda: bnnbench.fit(data, target="y", outputs_dir=tmp_path))
    assert len(found) == len(expected)
    assert all(part in text for part, text in zip(expected, found, strict=True))


@pytest.mark.usefixtures("planned")
def test_a_fit_of_settings_warns_about_the_table(settings: list[str]) -> None:
    (found,) = warnings_of(lambda: bnnbench.fit(*settings))
    assert "60 rows" in found


@pytest.mark.parametrize(
    ("data", "target"),
    [
        (many_rows(c="red"), "y"),
        (many_rows(c=[np.nan, *range(119)]), "y"),
        (many_rows(c=np.inf), "y"),
        (many_rows(y="red"), "y"),
        (many_rows(), "z"),
        (many_rows().rename(columns={"a": 1, "b": 2}), "z"),
        (many_rows(y=5e13 + np.arange(120) / 64), "y"),
        (many_rows(c=1j), "y"),
        (many_rows().head(5), "y"),
    ],
)
def test_a_mistake_is_about_the_frame(data: pd.DataFrame, target: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="the frame") as error:
        bnnbench.fit(data, target=target, outputs_dir=tmp_path)
    words = (".frame", str(tmp_path), "dataset.path", "dataset.header")
    assert not any(word in str(error.value) for word in words)


@pytest.mark.parametrize("target", [("a", "y"), ["y"], {"y"}, pd.Index(["y"])])
def test_there_is_one_target(target: Any, tmp_path: Path) -> None:
    with raises_user_error("dataset.target", "several_columns"):
        bnnbench.fit(many_rows(), target=target, outputs_dir=tmp_path)


@pytest.mark.parametrize("target", ["${depth}", "~", "'t'", "a,b", "null", "007", 7.5])
def test_a_column_of_any_name_is_the_target(
    planned: list[Run], target: Any, tmp_path: Path
) -> None:
    rows = many_rows().rename(columns={"y": target, "b": "7.10"}).assign(**{"x,[z]": "red"})
    settings: dict[str, Any] = {"dataset.drop": ["x,[z]", "7.10"]}
    bnnbench.fit(rows, target=target, outputs_dir=tmp_path, **settings)
    table = vars(planned[0].experiment)["dataset"].load()
    assert table.target == str(target) and table.features == ("a",)


def test_what_is_no_frame_is_not_predicted(of_frame: bnnbench.FinishedRun) -> None:
    for rows in ([[1, 2]], np.ones((1, 5)), pd.Series({"size": 1.0}), {"size": [1.0]}):
        with raises_user_error("rows", "wrong_type"):
            of_frame.predict(rows)
        with raises_user_error("pool", "wrong_type"):
            of_frame.next_rows(rows, 1)
    with raises_user_error("count"):
        of_frame.next_rows(pd.DataFrame(), 0)


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
