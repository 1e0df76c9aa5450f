"""The scikit-learn estimator."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from datetime import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from scipy.stats import norm
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.utils.estimator_checks import check_estimator
from support.methods import METHODS, OF_LIBRARIES, PRESETS, Case, build_method, depth_overrides
from support.user_errors import raises_user_error

import bnnbench
from bnnbench import BNNRegressor
from bnnbench.config.configs import config_folder
from bnnbench.types import UserError

VALUES = {"noise_precision": 10.0, "prior_precision": 1.0, "dropout": 0.05}
"""Hyper-parameters in standardised units, so that nothing is searched."""

SMALL = {
    "boosting": {"method.quantiles": 3, "method.iterations": 30},
    "gp": {"method.kernel_rows": 40},
    "mc_dropout_gal2016": {"training.learning_rate": 0.01},
    "hmc": {"method.chains": 2, "method.max_leapfrogs": 20},
    "mile": {"method.chains": 2, "method.map_steps": 200},
    "sklearn": {"method.options": {"n_estimators": 10}},
}
"""Settings that make slow methods fast."""

FAST = ("linear", "map")
"""Methods whose checks take seconds."""

SLOW = [option for option in (*METHODS, *PRESETS) if option not in (*FAST, *OF_LIBRARIES)]


def small(option: str) -> BNNRegressor:
    """Return an estimator that learns the data of scikit-learn's checks in little time."""
    method = build_method(Case(option))
    free = [name for name in method.hyper_names if name not in method.fixed_hyper()]
    preset = (config_folder() / "method" / f"{option}.yaml").read_text()
    if "likelihood: heteroscedastic" in preset:  # it predicts the noise
        free.remove("noise_precision")
    settings = {f"method.{name}": VALUES[name] for name in free} | SMALL.get(option, {})
    depth = 0 if depth_overrides(option) else None
    return BNNRegressor(option, depth=depth, width=10, epochs=40, settings=settings)


SEARCHED = BNNRegressor(
    "map", width=5, epochs=20, iterations=2,
    settings={"search.initial_points": 2, "search.folds": 2},
)  # fmt: skip


def test_scikit_learn_accepts_the_estimator() -> None:
    check_estimator(small("linear"))


@pytest.mark.slow
@pytest.mark.parametrize("option", [None, *SLOW])
def test_scikit_learn_accepts_every_method(option: str | None) -> None:
    check_estimator(small(option) if option else SEARCHED)


@pytest.fixture
def frame(table_csv: Path) -> pd.DataFrame:
    """Return 60 rows with the inputs a, b and c and the target y."""
    return pd.read_csv(table_csv).set_axis([f"row {k}" for k in range(60)])


def settings_of(estimator: BNNRegressor) -> list[str]:
    """Return the overrides of a run with the settings of an estimator."""
    return [word for word in estimator._overrides() if not word.startswith("protocol=")]


@pytest.mark.usefixtures("without_figures")
def test_a_fit_is_the_final_model_of_a_run(frame: pd.DataFrame, tmp_path: Path) -> None:
    estimator = small("vadam").fit(frame[["a", "b", "c"]], frame["y"])
    outputs = f"outputs_dir={tmp_path}"
    run = bnnbench.fit(frame, *settings_of(estimator), outputs, target="y", splits=1, workers=1)
    expected = run.predict(frame)
    found = estimator.predict_distribution(frame[["a", "b", "c"]]).to_frame()
    assert list(found.index) == list(frame.index)
    columns = ["mean", "standard_deviation", "epistemic", "noise"]
    pd.testing.assert_frame_equal(found[columns], expected[columns], rtol=1e-4)


@pytest.mark.slow
@pytest.mark.usefixtures("without_figures")
def test_the_search_is_that_of_a_split(frame: pd.DataFrame, tmp_path: Path) -> None:
    rows = frame.assign(held=[False] * 50 + [True] * 10)
    estimator = SEARCHED.fit(rows[["a", "b", "c"]][:50], rows["y"][:50])
    words = [*settings_of(estimator), "dataset.test=held", f"outputs_dir={tmp_path}", "workers=1"]
    run = bnnbench.fit(rows, *words, target="y")
    assert len(run.search) == 2 and set(estimator.hyper_parameters_) == {
        "noise_precision",
        "prior_precision",
    }
    for name, value in estimator.hyper_parameters_.items():
        assert run.splits[f"hp.{name}"].item() == pytest.approx(value, rel=1e-6)


@pytest.mark.parametrize(
    ("given", "expected"),
    [(None, "heteroscedastic_softplus"), ("gaussian", "gaussian")],
)
def test_a_preset_keeps_its_likelihood(
    frame: pd.DataFrame, given: str | None, expected: str
) -> None:
    estimator = BNNRegressor("deep_ensemble_2017_softplus", likelihood=given, epochs=1)
    model = estimator.fit(frame[["a", "b"]], frame["y"]).model_
    assert model.fitting.method.likelihood.label == expected


def test_missing_values_become_the_training_mean(frame: pd.DataFrame) -> None:
    inputs = frame[["a", "b", "c"]]
    estimator = BNNRegressor("linear").fit(inputs.mask(inputs > 1.5), frame["y"])
    kept = inputs["a"][inputs["a"] <= 1.5]
    empty, mean = (inputs[:1].assign(a=value) for value in (np.nan, kept.mean()))
    assert estimator.predict(empty) == pytest.approx(estimator.predict(mean))


def test_predictions_of_a_gaussian(frame: pd.DataFrame) -> None:
    inputs, target = frame[["a", "b", "c"]], frame["y"]
    estimator = BNNRegressor("linear").fit(inputs, target)
    mean, std = estimator.predict(inputs, return_std=True)
    found = estimator.predict_distribution(inputs)
    assert type(mean) is np.ndarray and np.array_equal(mean, estimator.predict(inputs))
    assert found.log_pdf(target) == pytest.approx(norm.logpdf(target, mean, std))
    assert found.interval(0.9)[1] == pytest.approx(norm.ppf(0.95, mean, std))


def test_seeds(frame: pd.DataFrame) -> None:
    def predicted(seed: Any) -> np.ndarray:
        estimator = small("map").set_params(random_state=seed, epochs=2)
        found: np.ndarray = estimator.fit(frame[["a"]], frame["y"]).predict(frame[["a"]])
        return found

    same = [predicted(seed) for seed in (np.random.RandomState(3), np.random.RandomState(3))]
    assert np.array_equal(*same) and not np.array_equal(predicted(0), predicted(1))
    assert np.array_equal(predicted(np.int64(1)), predicted(1))
    assert not np.array_equal(predicted(None), predicted(None))


def test_a_random_state_is_drawn_from_once(frame: pd.DataFrame) -> None:
    used, expected = np.random.RandomState(3), np.random.RandomState(3)
    small("map").set_params(random_state=used, epochs=2).fit(frame[["a"]], frame["y"])
    expected.randint(2**31 - 1)
    assert used.randint(1000) == expected.randint(1000)


@pytest.mark.parametrize(
    ("parameters", "setting", "code"),
    [
        ({"method": "lniear"}, "method", "unknown_option"),
        ({"method": "linear", "noise_precision": 1.0}, "method.noise_precision", "unknown_setting"),
        ({"settings": {"dataset.path": "x.csv"}}, "dataset.path", "no_effect"),
        ({"settings": {"splits": 3}}, "splits", "no_effect"),
        ({"method": "map,vadam"}, "method", "several_jobs"),
        ({"method": "map", "epochs": 0}, "training.epochs", None),
    ],
)
def test_mistakes_are_user_errors(
    frame: pd.DataFrame, parameters: dict[str, Any], setting: str, code: str | None
) -> None:
    with raises_user_error(setting, code):
        BNNRegressor(**parameters).fit(frame[["a"]], frame["y"])


@pytest.mark.parametrize("method", ["linear", "map", "laplace", "gp"])
@pytest.mark.parametrize("unit", [1e-90, 1e-13, 1e13, 1e90])
def test_predictions_scale_with_the_units(frame: pd.DataFrame, method: str, unit: float) -> None:
    inputs, target = frame[["a", "b"]], frame["y"]
    estimator = small(method)
    mean, std = estimator.fit(inputs, target).predict(inputs, return_std=True)
    scaled = estimator.fit(inputs / unit, target * unit).predict(inputs / unit, return_std=True)
    assert np.divide(scaled, unit) == pytest.approx(np.stack([mean, std]), rel=1e-4)


STATES: dict[str, tuple[Callable[[], object], Callable[[], object]]] = {
    "dtype": (
        partial(torch.set_default_dtype, torch.float64),
        partial(torch.set_default_dtype, torch.float32),
    ),
    "device": (partial(torch.set_default_device, "meta"), partial(torch.set_default_device, None)),
    "gradients": (partial(torch.set_grad_enabled, False), partial(torch.set_grad_enabled, True)),
    "seeds": (lambda: (torch.manual_seed(3), np.random.seed(3)), lambda: None),
    "numpy's errors": (
        partial(np.seterr, all="raise"),
        partial(np.seterr, all="warn", under="ignore"),
    ),
    "pandas' strings": (
        lambda: pd.set_option("future.infer_string", False),
        lambda: pd.reset_option("future.infer_string"),
    ),
}
"""Functions that change and restore the global state of a library."""


@pytest.mark.parametrize("case", STATES)
@pytest.mark.parametrize("method", ["bbb", "linear"])
def test_global_states_do_not_matter(frame: pd.DataFrame, method: str, case: str) -> None:
    inputs, target = frame.drop(columns="y"), frame["y"]
    values = {"noise_precision": 10.0, "prior_precision": 1.0} if method == "bbb" else {}
    estimator = BNNRegressor(method, width=3, epochs=2, random_state=1, **values)
    expected = estimator.fit(inputs, target).predict(inputs, return_std=True)
    change, restore = STATES[case]
    try:
        change()
        found = clone(estimator).fit(inputs, target).predict(inputs, return_std=True)
    finally:
        restore()
    np.testing.assert_array_equal(found, expected)


def changed(values: Any, row: int, value: Any) -> np.ndarray:
    array = np.array(values, dtype=object if isinstance(value, str) else float)
    array[row] = value
    return array


GOOD = np.sin(np.arange(30.0))


@pytest.mark.parametrize(
    ("inputs", "targets", "setting", "code"),
    [
        (changed(GOOD, 4, "red"), GOOD, "X", "text"),
        (pd.Categorical(["u", "v"] * 15), GOOD, "X", "text"),
        (GOOD, changed(GOOD, 4, "red"), "y", "text"),
        (pd.date_range("2024-01-01", periods=30), GOOD, "X", "date"),
        (pd.timedelta_range("1D", periods=30), GOOD, "X", "date"),
        (GOOD, np.arange(30).astype("M8[s]"), "y", "date"),
        (pd.period_range("2024", periods=30, freq="M"), GOOD, "X", "date"),
        (GOOD, pd.period_range("2024", periods=30, freq="Q"), "y", "date"),
        ([time(12, 30)] * 30, GOOD, "X", "date"),
        (changed(GOOD, 4, np.inf), GOOD, "X", "not_finite"),
        (GOOD, changed(GOOD, 4, np.nan), "y", "not_finite"),
        (GOOD, changed(GOOD, 4, -np.inf), "y", "not_finite"),
        (GOOD, [None] * 30, "y", "not_finite"),
        (GOOD, pd.array([1, None] * 15, dtype="Int64"), "y", "not_finite"),
        (GOOD, GOOD * 1e200, "y", "too_large"),
        (GOOD * 1e150, GOOD, "X", "too_large"),
        (GOOD, GOOD * 1e-150, "y", "too_little_spread"),
        (changed(GOOD, 4, 1e60), GOOD, "X", "outlier"),
        (GOOD, np.full(30, 0.1), "y", "constant"),
        (GOOD, np.array(["2.5", "low"] * 15), "y", "text"),
        (GOOD, [1, pd.NA] * 15, "y", "not_finite"),
        (5e13 + np.arange(30) / 64, GOOD, "X", "too_little_spread"),
    ],
)
def test_rows_that_cannot_be_learned(inputs: Any, targets: Any, setting: str, code: str) -> None:
    assert issubclass(UserError, ValueError)
    with raises_user_error(setting, code):
        BNNRegressor("linear").fit(pd.DataFrame({"a": inputs}), targets)


PAIRS = [[1.0, np.nan], [2, 3.5], [0, 1.5]] * 10
"""Rows of two inputs with missing values."""


def with_missing(value: object) -> list[list[object]]:
    return [[value if np.isnan(cell) else cell for cell in row] for row in PAIRS]


@pytest.mark.parametrize(
    "inputs",
    [
        with_missing(pd.NA),
        with_missing(None),
        tuple(map(tuple, with_missing(pd.NA))),
        np.array(with_missing(pd.NA), dtype=object),
        pd.DataFrame(with_missing(pd.NA)),
        pd.DataFrame(with_missing(pd.NA)).convert_dtypes(),
        np.array(PAIRS).astype(str),
    ],
)
def test_cells_of_other_types_are_numbers(inputs: Any) -> None:
    expected = BNNRegressor("linear").fit(np.array(PAIRS), GOOD).predict(np.array(PAIRS))
    estimator = BNNRegressor("linear").fit(inputs, GOOD)
    np.testing.assert_array_equal(estimator.predict(inputs), expected)


@pytest.mark.parametrize(
    "targets",
    [
        np.array(["2.5", "-1", "0"] * 10),
        ["2.5", "-1", "0"] * 10,
        np.array(["2.5", "-1", "0"] * 10, dtype=object),
        np.array([b"2.5", b"-1", b"0"] * 10),
        pd.Series(["2.5", "-1", "0"] * 10),
    ],
)
def test_numbers_in_texts_are_targets(targets: Any) -> None:
    numbers = BNNRegressor("linear").fit(PAIRS, [2.5, -1, 0] * 10).predict(PAIRS)
    assert np.array_equal(BNNRegressor("linear").fit(PAIRS, targets).predict(PAIRS), numbers)


@pytest.mark.parametrize("library", ["pyarrow", "polars"])
def test_frames_of_other_libraries_are_inputs(library: str) -> None:
    module = pytest.importorskip(library)
    rows = pd.DataFrame(PAIRS, columns=["a", "b"])
    make = module.table if library == "pyarrow" else module.DataFrame
    frame = make({name: list(cells) for name, cells in rows.items()})
    expected = BNNRegressor("linear").fit(rows, GOOD)
    found = BNNRegressor("linear").fit(frame, GOOD)
    assert list(found.feature_names_in_) == ["a", "b"]
    assert np.array_equal(found.predict(frame), expected.predict(rows))
    with raises_user_error("X", "text"):
        BNNRegressor("linear").fit(make({"a": ["red"] * 30}), GOOD)
    with raises_user_error("X", "wrong_type"):
        found.predict(frame["a"])


@pytest.mark.parametrize(
    ("new", "code"), [([["red"]], "text"), ([[1e300]], "not_finite"), ([[-np.inf]], "not_finite")]
)
def test_rows_that_cannot_be_predicted(new: Any, code: str) -> None:
    estimator = BNNRegressor("linear").fit(GOOD[:, None], GOOD)
    with raises_user_error("X", code):
        estimator.predict(new, return_std=True)


def test_pipelines_and_grids(frame: pd.DataFrame) -> None:
    rows = frame.assign(city=np.where(frame["a"] > 0, "x", "y")).drop(columns="a")
    encode = make_column_transformer((OneHotEncoder(), ["city"]), remainder="passthrough")
    pipeline = make_pipeline(encode, BNNRegressor("linear"))
    inputs, target = rows.drop(columns="y"), rows["y"]
    assert cross_val_score(pipeline, inputs, target, cv=3).mean() > 0.5
    grid = {"method": ["linear", "map"], "width": np.array([3])}
    estimator = BNNRegressor(epochs=2, iterations=2, settings=SEARCHED.settings)
    search = GridSearchCV(estimator, grid, cv=2, error_score="raise").fit(frame[["a"]], target)
    assert search.best_params_["method"] == "linear"
    assert search.best_estimator_.predict(frame[["a"]]).shape == (60,)


def test_mapie_conformalises_the_estimator(frame: pd.DataFrame) -> None:
    regression = pytest.importorskip("mapie.regression")
    inputs, target = frame[["a", "b", "c"]].to_numpy(), frame["y"].to_numpy()
    conformal = regression.SplitConformalRegressor(
        BNNRegressor("linear"), confidence_level=0.8, prefit=False
    )
    conformal.fit(inputs[:30], target[:30]).conformalize(inputs[30:], target[30:])
    mean, ends = conformal.predict_interval(inputs[30:])
    inside = (ends[:, 0, 0] <= target[30:]) & (target[30:] <= ends[:, 1, 0])
    assert 0.8 <= inside.mean() < 0.95 and mean.shape == (30,)


def test_what_the_book_sets_for_each_data_set_is_shown(frame: pd.DataFrame) -> None:
    config = (config_folder() / "protocol" / "book.yaml").read_text()
    assert {*re.findall(r"dataset\.protocol\.(\w+)", config)} == {
        "width", "batch_size", "sample_budget",  # of `samples`
    }  # fmt: skip
    fixed = {"noise_precision": 10.0, "prior_precision": 1.0, "epochs": 2}
    model = BNNRegressor("map", protocol="book", settings={"training.samples": 1}, **fixed)
    with pytest.warns(UserWarning, match=r"network\.width=50, training\.batch_size=32\."):
        model.fit(frame[["a"]], frame["y"])
    assert model.assumed_settings_ == {"network.width": 50, "training.batch_size": 32}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        given = {name: 7 for name in (*model.assumed_settings_, "training.samples")}
        BNNRegressor("map", protocol="book", settings=given, **fixed).fit(frame[["a"]], frame["y"])
        assert not BNNRegressor("map", **fixed).fit(frame[["a"]], frame["y"]).assumed_settings_
