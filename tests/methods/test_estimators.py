"""Methods that fit scikit-learn estimators, against the estimators' own predictions."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from scipy.stats import norm
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import BayesianRidge, Ridge
from support.methods import OF_LIBRARIES, Case, build_method, yaml_settings
from support.tables import standardised
from support.tiny_runs import finished
from support.user_errors import raises_user_error

from bnnbench.checking.method import METHOD
from bnnbench.checking.small_fits import MethodUnderTest
from bnnbench.config.instantiate import check_saved_estimator
from bnnbench.methods.boosting import Boosting
from bnnbench.methods.gp import GP
from bnnbench.methods.linear import Linear
from bnnbench.methods.shared.contract import FitTask, Method
from bnnbench.methods.sklearn import Sklearn, _fitted, _moments
from bnnbench.random_streams import Streams
from bnnbench.settings import Network, Training
from bnnbench.types import Prediction

RNG = np.random.default_rng(0)
COUNTS = (60, 45)
INPUTS = [RNG.normal(size=(n, 3)) for n in COUNTS]
TARGETS = [np.sin(x[:, 0]) + 0.5 * x[:, 1] + 0.1 * RNG.normal(size=len(x)) for x in INPUTS]
NEW = RNG.normal(size=(20, 3))


def predicted(method: Method) -> tuple[Prediction, list[tuple[np.ndarray, np.ndarray, np.ndarray]]]:
    """Return predictions for two replicas, with inputs, targets and new inputs of each."""
    data, scaler = standardised(INPUTS, TARGETS, (0, 1))
    streams = Streams([1, 2], (0, 1), "cpu", torch.float64)
    task = FitTask(data, {}, Network(depth=0), Training(), 1, streams)
    new = scaler.inputs([NEW, NEW])
    posterior = method.fit(task)
    assert not posterior.diverged.any()
    given = [
        (data.inputs[r, :n].numpy(), data.targets[r, :n].numpy(), new[r].numpy())
        for r, n in enumerate(COUNTS)
    ]
    return method.predict(posterior, new, 1, streams), given


def test_linear_equals_scikit_learn() -> None:
    prediction, given = predicted(Linear(label="linear"))
    for r, (x, y, new) in enumerate(given):
        mean, deviation = BayesianRidge().fit(x, y).predict(new, return_std=True)
        np.testing.assert_allclose(prediction.loc[0, r], mean, rtol=1e-10)
        np.testing.assert_allclose(prediction.variance[0, r].sqrt(), deviation, rtol=1e-10)


def test_gp_equals_scikit_learn() -> None:
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel

    method = GP(label="gp", kernel_rows=40)
    prediction, given = predicted(method)
    noise = prediction.noise[:, 0]
    for r, (x, y, new) in enumerate(given):
        some = np.linspace(0, len(x) - 1, 40).astype(int)
        start = ConstantKernel(1.0, (1e-2, 1e3)) * Matern(np.full(3, 3.0), (0.1, 1e3), nu=2.5)
        kernel = GaussianProcessRegressor(start + WhiteKernel(0.1, (1e-4, 1e1)))
        fixed = kernel.fit(x[some], y[some]).kernel_
        whole = GaussianProcessRegressor(fixed, optimizer=None).fit(x, y)
        mean, deviation = whole.predict(new, return_std=True)
        np.testing.assert_allclose(prediction.loc[0, r], mean, rtol=1e-6, atol=1e-8)
        np.testing.assert_allclose(prediction.variance[0, r].sqrt(), deviation, rtol=1e-5)
        np.testing.assert_allclose(noise[r], fixed.k2.noise_level)


def test_gp_has_a_maximum_number_of_rows(tiny: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    assert GP.max_rows == 2000
    monkeypatch.setattr(GP, "max_rows", 10)
    with raises_user_error("method", "too_many_rows"):
        tiny("method=gp")


@pytest.mark.slow
def test_boosting_equals_scikit_learn() -> None:
    method = Boosting(label="boosting", quantiles=3, iterations=20, min_samples_leaf=5)
    prediction, given = predicted(method)
    for r, (x, y, new) in enumerate(given):
        theirs = [
            HistGradientBoostingRegressor(
                loss="quantile", quantile=level, max_iter=20, max_leaf_nodes=15,
                min_samples_leaf=5, early_stopping=False,
            ).fit(x, y).predict(new)
            for level in (1 / 6, 3 / 6, 5 / 6)
        ]  # fmt: skip
        np.testing.assert_allclose(prediction.loc[0, r], np.mean(theirs, 0), rtol=1e-10)
        extra = prediction.noise[0, r].numpy() - np.var(theirs, 0)
        assert np.ptp(extra) < 1e-10 and 1e-6 <= extra[0] <= 1
    assert not prediction.epistemic.any()


@pytest.mark.slow
@pytest.mark.parametrize("method", ["linear", "gp"])
def test_network_settings_do_not_change_the_run(tiny: Any, method: str) -> None:
    one, other = (tiny(f"method={method}", f"network.width={w}") for w in (10, 20))
    assert one.folder.root == other.folder.root
    _, splits = finished(one)
    assert (splits["depth"] == 0).all() and splits["rmse"].notna().all()


class Quantiles(RegressorMixin, BaseEstimator):
    """Predicts quantiles of a Gaussian with mean 1 and standard deviation 2."""

    def fit(self, x: np.ndarray, y: np.ndarray) -> Quantiles:
        return self

    def predict(self, x: np.ndarray, quantiles: list[float]) -> np.ndarray:
        return np.tile(norm(1, 2).ppf(quantiles), (len(x), 1))


class Stages(RegressorMixin, BaseEstimator):
    """Three stages: the first has the best likelihood, the second the smallest squared error."""

    STAGES = ((4, 5), (0, 30), (6, 40))

    def __init__(self, n_estimators: int = 3) -> None:
        self.n_estimators = n_estimators

    def fit(self, x: np.ndarray, y: np.ndarray) -> Stages:
        self.loc_, self.n_ = y.mean(), self.n_estimators
        return self

    def staged_pred_dist(self, x: np.ndarray) -> list[Any]:
        return [norm(np.full(len(x), self.loc_ + loc), scale) for loc, scale in self.STAGES]

    def staged_predict(self, x: np.ndarray) -> list[np.ndarray]:
        return [one.mean() for one in self.staged_pred_dist(x)]

    def pred_dist(self, x: np.ndarray) -> Any:
        return self.staged_pred_dist(x)[self.n_ - 1]

    def predict(self, x: np.ndarray) -> np.ndarray:
        return self.pred_dist(x).mean()


@pytest.mark.parametrize(("score", "stage"), [("likelihood", 1), ("squared_error", 2), (None, 3)])
def test_stages_are_selected_by_a_score(score: str | None, stage: int) -> None:
    method = Sklearn(label="s", estimator=f"{__name__}.Stages", select_n_estimators=score)
    prediction, _ = predicted(method)
    np.testing.assert_allclose(prediction.variance, Stages.STAGES[stage - 1][1] ** 2, rtol=1e-10)


def test_the_distribution_of_a_regressor_is_used() -> None:
    method = Sklearn(label="sklearn", estimator="sklearn.linear_model.BayesianRidge")
    prediction, _ = predicted(method)
    linear, _ = predicted(Linear(label="linear"))
    np.testing.assert_allclose(prediction.loc, linear.loc, rtol=1e-10)
    np.testing.assert_allclose(prediction.variance, linear.variance, rtol=1e-10)


def test_quantiles_are_used_if_there_is_no_distribution() -> None:
    prediction, _ = predicted(Sklearn(label="sklearn", estimator=f"{__name__}.Quantiles"))
    np.testing.assert_allclose(prediction.loc, 1, atol=1e-12)
    np.testing.assert_allclose(prediction.variance, 4, rtol=0.05)  # 99 levels leave out the tails


def test_otherwise_the_variance_is_that_of_residuals_of_held_out_rows() -> None:
    prediction, given = predicted(Sklearn(label="s", estimator="sklearn.linear_model.Ridge"))
    for r, (x, y, new) in enumerate(given):
        np.testing.assert_allclose(prediction.loc[0, r], Ridge().fit(x, y).predict(new), rtol=1e-9)
        fold = np.arange(len(y)) % 5
        residuals = [
            y[fold == k] - Ridge().fit(x[fold != k], y[fold != k]).predict(x[fold == k])
            for k in range(5)
        ]
        variance = np.square(np.concatenate(residuals)).mean()
        np.testing.assert_allclose(prediction.noise[0, r], variance, rtol=1e-9)


class Returned(RegressorMixin, BaseEstimator):
    """Returns the values that a function makes of the number of rows."""

    def __init__(self, values: Any = None) -> None:
        self.values = values

    def fit(self, x: np.ndarray, y: np.ndarray) -> Returned:
        x[:] = y[:] = np.nan  # the caller's copies must not change
        return self

    def predict(self, x: np.ndarray) -> Any:
        return self.values(len(x))


class WithStd(Returned):
    """Accepts `return_std`."""

    def predict(self, x: np.ndarray, return_std: bool = False) -> Any:
        return self.values(len(x))


def returning(values: Any, name: str = "Returned") -> Sklearn:
    estimator = f"{__name__}.{name}"
    return Sklearn(label="s", estimator=estimator, options={"values": values})


@pytest.mark.parametrize("std", [0.0, 1e-9, 0.1, 0.5])
def test_standard_deviations_that_are_too_small_get_the_residual_variance(std: float) -> None:
    prediction, given = predicted(returning(lambda n: (np.zeros(n), np.full(n, std)), "WithStd"))
    for r, (_, y, _) in enumerate(given):
        np.testing.assert_allclose(prediction.noise[0, r], np.square(y).mean(), rtol=1e-5)


@pytest.mark.parametrize("name", ["BayesianRidge", "ARDRegression"])
def test_standard_deviations_of_new_targets_are_kept(name: str) -> None:
    method = Sklearn(label="s", estimator=f"sklearn.linear_model.{name}")
    prediction, given = predicted(method)
    for r, (x, y, new) in enumerate(given):
        _, std = method.new().fit(x, y).predict(new, return_std=True)
        np.testing.assert_allclose(prediction.noise[0, r].sqrt(), std, rtol=1e-10)


@pytest.mark.parametrize("alpha", [0.1, 0.4, 2.0])
def test_the_deviations_of_a_function_get_the_noise(alpha: float) -> None:
    """Half of the variance of the targets is noise."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=(300, 2))
    y = (x[:, 0] + rng.normal(size=300)) / np.sqrt(2)
    name = "sklearn.gaussian_process.GaussianProcessRegressor"
    method = Sklearn(label="s", estimator=name, options={"alpha": alpha})
    fitted = _fitted(method, x.tobytes(), y.tobytes())
    std = np.sqrt(_moments(method, fitted, rng.normal(size=(100, 2)))[2])
    assert 0.6 < std.mean() < 1.0


@pytest.mark.parametrize(
    "method",
    [
        returning(lambda n: np.zeros(1)),
        returning(lambda n: 0.0),
        returning(lambda n: None),
        returning(lambda n: np.zeros(n + 1)),
        returning(lambda n: np.zeros((1, n))),
        returning(lambda n: np.zeros((n, 2))),
        returning(lambda n: np.full(n, 1 + 2j)),
        returning(lambda n: np.full(n, 1 + 2j, object)),
        returning(lambda n: ["a"] * n),
        returning(lambda n: np.zeros(n, "M8[s]")),
        returning(lambda n: np.zeros(n), "WithStd"),
        returning(lambda n: np.zeros((2, n)), "WithStd"),
        returning(lambda n: (np.zeros(n), 1.0), "WithStd"),
        returning(lambda n: (np.zeros(n), -np.ones(n)), "WithStd"),
        returning(lambda n: (np.zeros(n), np.full(n, 1j)), "WithStd"),
    ],
)
def test_results_of_a_wrong_shape_or_type_are_refused(method: Sklearn) -> None:
    with raises_user_error("method.estimator", "wrong_result"):
        predicted(method)


@pytest.mark.parametrize("shape", [lambda n: (n,), lambda n: (n, 1)])
@pytest.mark.parametrize("dtype", [float, np.float32, int, bool, object])
def test_results_of_other_types_are_used(shape: Any, dtype: Any) -> None:
    prediction, _ = predicted(returning(lambda n: np.ones(shape(n), dtype)))
    assert prediction.loc.dtype == torch.float64 and (prediction.loc == 1).all()


@pytest.mark.slow
@pytest.mark.parametrize("option", OF_LIBRARIES)
def test_the_contract_holds_for_presets_of_libraries(option: str) -> None:
    """With few trees."""
    words = yaml_settings(option)
    pytest.importorskip(words["estimator"].partition(".")[0])
    trees = {"n_estimators" if option == "ngboost" else "iterations": 20}
    method = replace(build_method(Case(option)), options={**words["options"], **trees})
    subject = MethodUnderTest(method)
    assert {c.name: c.run(subject) for c in METHOD} == dict.fromkeys(c.name for c in METHOD)


@pytest.mark.parametrize(
    ("settings", "setting", "code"),
    [
        ({"estimator": "nowhere.Regressor"}, "method.estimator", "not_installed"),
        *(
            ({"estimator": estimator}, "method.estimator", "not_a_regressor")
            for estimator in (
                *("os.system", "sklearn.linear_model", "sklearn.datasets.make_regression"),
                *("sklearn.svm.SVC", "sklearn.naive_bayes.GaussianNB", "sklearn.cluster.KMeans"),
                *("sklearn.preprocessing.StandardScaler", "sklearn.decomposition.PCA"),
                "sklearn.ensemble.IsolationForest",
                *("sklearn.linear_model.LogisticRegression", "sklearn.mixture.GaussianMixture"),
            )
        ),
        ({"options": {"trees": 3}}, "method.options", "refused"),
        ({"options": {"alpha": "high"}}, "method.estimator", "failed"),
    ],
)
def test_a_wrong_estimator_is_refused(settings: dict[str, Any], setting: str, code: str) -> None:
    with raises_user_error(setting, code):
        predicted(Sklearn(**{"label": "s", "estimator": "sklearn.linear_model.Ridge", **settings}))


class OwnRegressor:
    """Follows the interface of scikit-learn without deriving from it."""

    def fit(self, x: np.ndarray, y: np.ndarray) -> None:
        """Learn nothing."""

    def predict(self, x: np.ndarray) -> np.ndarray:
        return np.zeros(len(x))


@pytest.mark.parametrize(
    "estimator",
    [
        *("sklearn.cross_decomposition.PLSRegression", "sklearn.dummy.DummyRegressor"),
        *("sklearn.neural_network.MLPRegressor", f"{__name__}.OwnRegressor"),
    ],
)
def test_any_regressor_is_accepted(estimator: str) -> None:
    assert hasattr(Sklearn(label="s", estimator=estimator).new(), "predict")


def test_a_saved_model_of_another_version_is_refused() -> None:
    method = Sklearn(label="s", estimator="sklearn.linear_model.Ridge")
    data, _ = standardised(INPUTS, TARGETS, (0, 1))
    streams = Streams([1, 2], (0, 1), "cpu", torch.float64)
    posterior = method.fit(FitTask(data, {}, Network(depth=0), Training(), 1, streams))
    posterior.state["first"][1, 0] += 1e-3
    with raises_user_error("method.estimator", "other_version"):
        method.predict(posterior, data.inputs, 1, streams)


@pytest.mark.parametrize(
    ("method", "refused"),
    [
        ({"estimator": "os.system"}, True),
        ({"estimator": "catboost.CatBoostRegressor", "options": {"train_dir": "evil"}}, True),
        ({"estimator": "sklearn.pipeline.Pipeline", "options": {"memory": "evil"}}, True),
        ({"estimator": "sklearn.linear_model.Ridge", "options": {"alpha": 2.0}}, False),
        ({"estimator": "ngboost.NGBRegressor", "options": {"n_estimators": 9, "verbose": False}},
         False),
        ({}, False),
    ],
)  # fmt: skip
def test_a_received_run_names_only_known_estimators(method: dict[str, Any], refused: bool) -> None:
    imported = {*sys.modules}
    expected = raises_user_error("method.estimator", "untrusted") if refused else nullcontext()
    with expected:
        check_saved_estimator(method)
    assert not {"catboost", "ngboost"} & ({*sys.modules} - imported)
