"""Any regressor with scikit-learn's interface as a method.

A regressor cannot be saved without a pickle, which could execute code when it is read. The state is
therefore the training rows, and a saved model is fitted again when it is loaded.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import lru_cache
from importlib import import_module
from typing import Annotated, Any, NamedTuple

import numpy as np
import torch
from scipy.optimize import brentq
from torch import Tensor

from bnnbench.constraints import OneOf, Whole
from bnnbench.discovery import enter_project
from bnnbench.methods.shared.contract import FitTask, Posterior
from bnnbench.methods.shared.estimators import EstimatorMethod
from bnnbench.random_streams import Streams
from bnnbench.settings import Network
from bnnbench.types import Prediction, UserError

FOLDS = 5
"""Parts of the training rows for residuals; every `FOLDS`th row is held out to select stages."""

LEVELS = [(k + 0.5) / 99 for k in range(99)]
"""Levels of the quantiles that are averaged."""

MIN_VARIANCE = 1e-6
"""Smallest variance of the noise, in standardised units."""

MAX_SQUARED_SCORE = 1.5
"""Mean square of held-out residuals in predicted standard deviations, 1 if these are right, above
which they are too small: those of the function, for instance, without the noise."""

MAX_FITS_IN_MEMORY = 32

LIKELIHOOD, SQUARED_ERROR = "likelihood", "squared_error"
SELECTIONS = (LIKELIHOOD, SQUARED_ERROR)
"""Scores by which a number of stages is chosen."""


def class_name(key: str, value: Any) -> None:
    """Raise `UserError` unless `value` is the full name of a class."""
    parts = value.split(".") if isinstance(value, str) else []
    if len(parts) < 2 or not all(part.isidentifier() for part in parts):
        raise UserError(f"{key} must be a class such as ngboost.NGBRegressor, not {value!r}.", key)


def named_values(key: str, value: Any) -> None:
    """Raise `UserError` unless `value` maps names to values."""
    if not isinstance(value, Mapping) or not all(isinstance(name, str) for name in value):
        raise UserError(f"{key} must map names to values, not {value!r}.", key)


class Fitted(NamedTuple):
    """A regressor, and the variance to add to the variances that it predicts."""

    estimator: Any
    residual_variance: float


@dataclass(frozen=True, kw_only=True)
class Sklearn(EstimatorMethod):
    """A regressor with scikit-learn's interface; predicts a Gaussian per point.

    Its moments are, in this order of preference, those of

    1. the regressor's predictive distribution: `virtual_ensembles_predict`, if requested,
       `pred_dist(X)`, or `predict(X, return_std=True)`;
    2. its quantiles: `predict(X, quantiles=...)`, whose mean and variance are taken;
    3. its prediction, with the variance of its residuals in 5-fold cross-validation.

    The standard deviations of `predict(X, return_std=True)` may be those of the function only. If
    the residuals in 5-fold cross-validation are too large for them (`MAX_SQUARED_SCORE`), a
    variance is added with which the mean squared residual in standard deviations is 1. The
    diagnostic `residual_variance` is what was added, in standardised units, 0 for nothing.

    All variance counts as noise, except with virtual ensembles. Nothing is searched, and network
    and training settings have no effect. Inputs and targets are standardised. A regressor with the
    option `random_state` receives 0, unless `options` has a value.

    Attributes:
        estimator: full name of the class, which must be installed.
        options: arguments of the class.
        select_n_estimators: how to choose the option `n_estimators`, at most its value, by a fifth
            of the rows before the fit to all rows: by their `likelihood` (`staged_pred_dist`) or
            their `squared_error` (`staged_predict`); None keeps its value.
        virtual_ensembles: number of virtual ensembles of CatBoost; 0 for none.
    """

    identity_name = "bnnbench.methods.sklearn.Sklearn"
    family = "sklearn"
    estimator: Annotated[str, class_name]
    options: Annotated[Mapping[str, Any] | None, named_values] = field(default=None, hash=False)
    select_n_estimators: Annotated[str | None, OneOf(*SELECTIONS)] = None
    virtual_ensembles: Annotated[int, Whole(0)] = 0
    variants = (
        {
            "estimator": "sklearn.ensemble.GradientBoostingRegressor",
            "select_n_estimators": SQUARED_ERROR,
        },
    )

    @property
    def point_estimate(self) -> bool:
        return not self.virtual_ensembles

    def fit_seconds(self, rows: int) -> float:
        """Return a guess, since the regressor can be any."""
        return 1 + 1e-3 * rows

    def check_network(self, inputs: int, network: Network) -> None:
        """Raise `UserError` if the regressor cannot be created."""
        self.new()

    def fit(self, task: FitTask) -> Posterior:
        """Fit, and report the variance that was added to the predicted ones."""
        fitted = super().fit(task)
        if not _returns_std(self, self.new()):
            return fitted
        added = fitted.state["residual_variance"]
        return replace(fitted, diagnostics={"residual_variance": added})

    def fit_replica(self, x: np.ndarray, y: np.ndarray, rows: int) -> dict[str, np.ndarray]:
        """Return the rows, padded with zeros, and the moments of the first one."""
        padding = (0, rows - len(x))
        fitted = _fitted(self, x.tobytes(), y.tobytes())
        return {
            "inputs": np.pad(x, (padding, (0, 0))),
            "targets": np.pad(y, padding),
            "first": _moments(self, fitted, x[:1]),
            "residual_variance": np.asarray(fitted.residual_variance),
        }

    def predict(
        self, posterior: Posterior, inputs: Tensor, samples: int, streams: Streams
    ) -> Prediction:
        """Predict one Gaussian per point.

        Raises:
            UserError: if the regressor of a saved model is not the same when it is fitted again.
        """
        state = {name: value.cpu().numpy() for name, value in posterior.state.items()}
        replicas = []
        for r, new in enumerate(inputs.double().cpu().numpy()):
            count = int(posterior.counts[r])
            x, y = state["inputs"][r, :count], state["targets"][r, :count]
            fitted = _fitted(self, x.tobytes(), y.tobytes())
            moments = _moments(self, fitted, np.concatenate([x[:1], new]))
            scale = np.sqrt(state["first"][r][1:].sum()) ** [[1], [2], [2]]
            before = state["first"][r] / scale
            if not np.allclose(moments[:, :1] / scale, before, 1e-6, 1e-6, equal_nan=True):
                raise UserError(
                    f"{self.estimator} does not reproduce the predictions of the saved model; "
                    "install the version that fitted it, or run the method again.",
                    "method.estimator",
                    "other_version",
                )
            replicas.append(moments[:, 1:])
        stacked = torch.from_numpy(np.stack(replicas, 1)).to(inputs.device)
        loc, epistemic, noise = stacked[:, None]
        return Prediction(loc, epistemic, noise)

    def new(self) -> Any:
        """Return the regressor, not fitted.

        Raises:
            UserError: if it is not installed, cannot be created with the options, or predicts
                something else, such as a class.
        """
        from sklearn.base import BaseEstimator  # slow

        cls, options = self._regressor_class(), dict(self.options or {})
        if "random_state" in inspect.signature(cls).parameters:
            options.setdefault("random_state", 0)
        try:
            estimator = cls(**options)
        except Exception as error:
            message = f"method.options: {self.estimator} rejects them: {_one_line(error)}"
            raise UserError(message, "method.options", "refused") from None
        derived = isinstance(estimator, BaseEstimator)
        kind = estimator.__sklearn_tags__().estimator_type if derived else None
        if kind not in (None, "regressor"):
            message = f"method.estimator must be a regressor, not the {kind} {self.estimator}."
            raise UserError(message, "method.estimator", "not_a_regressor")
        return estimator

    def _regressor_class(self) -> Any:
        module, _, name = self.estimator.rpartition(".")
        key = "method.estimator"
        enter_project()
        try:
            cls = getattr(import_module(module), name, None)
        except ImportError as error:
            message = f"{key}: {self.estimator} cannot be imported: {error}; install its package."
            raise UserError(message, key, "not_installed") from None
        if not (isinstance(cls, type) and hasattr(cls, "fit") and hasattr(cls, "predict")):
            message = f"{key} must be a class with `fit` and `predict`, not {self.estimator}."
            raise UserError(message, key, "not_a_regressor")
        return cls


@lru_cache(maxsize=MAX_FITS_IN_MEMORY)
def _fitted(method: Sklearn, inputs: bytes, targets: bytes) -> Fitted:
    """Fit the regressor to `[N, D]` inputs and `[N]` targets, given as float64."""
    y = np.frombuffer(targets).copy()
    x = np.frombuffer(inputs).reshape(len(y), -1).copy()
    fold = np.arange(len(y)) % FOLDS
    if method.select_n_estimators:
        trial, x_held, y_held = _fit(method, x[fold > 0], y[fold > 0]), x[fold == 0], y[fold == 0]
        with _calling(method):
            if method.select_n_estimators == LIKELIHOOD:
                losses = [-one.logpdf(y_held).mean() for one in trial.staged_pred_dist(x_held)]
            else:
                stages = [_numbers(method, one, y_held) for one in trial.staged_predict(x_held)]
                losses = [np.square(stage - y_held).mean() for stage in stages]
        best = int(np.argmin(losses)) + 1
        method = replace(
            method,
            options={**(method.options or {}), "n_estimators": best},
            select_n_estimators=None,
        )
    estimator = _fit(method, x, y)
    returns_std = _returns_std(method, estimator)
    own = method.virtual_ensembles or hasattr(estimator, "pred_dist") or _keywords(estimator)
    if own and not returns_std:
        return Fitted(estimator, 0.0)
    residuals, variances = np.zeros((2, len(y)))
    for k in range(min(FOLDS, len(y))):
        one = Fitted(_fit(method, x[fold != k], y[fold != k]), 0.0)
        mean, _, variance = _moments(method, one, x[fold == k])
        residuals[fold == k] = y[fold == k] - mean
        variances[fold == k] = variance if returns_std else 0.0
    return Fitted(estimator, _missing_variance(np.square(residuals), variances))


def _missing_variance(squares: np.ndarray, variances: np.ndarray) -> float:
    """Return the variance to add, so that squared residuals are as large as their variances.

    Args:
        squares: `[N]`.
        variances: `[N]`, all zero if none are predicted.
    """
    mean = float(squares.mean())
    if not mean > 0 or not variances.any():
        return mean

    def excess(added: float) -> float:
        return float((squares / (variances + added)).mean()) - 1

    # The root is below the mean square, where the excess is at most zero.
    return brentq(excess, 0.0, mean) if excess(0.0) > MAX_SQUARED_SCORE - 1 else 0.0


def _fit(method: Sklearn, x: np.ndarray, y: np.ndarray) -> Any:
    estimator = method.new()
    with _calling(method):
        estimator.fit(x.copy(), y.copy())  # some regressors change what they get
    return estimator


def _returns_std(method: Sklearn, estimator: Any) -> bool:
    """Whether variances are those of `predict(X, return_std=True)`."""
    own = method.virtual_ensembles or hasattr(estimator, "pred_dist")
    return not own and "return_std" in _keywords(estimator)


def _keywords(estimator: Any) -> dict[str, Any]:
    """Return the arguments with which `predict` returns more than a mean, if there are any."""
    known = inspect.signature(estimator.predict).parameters
    if "return_std" in known:
        return {"return_std": True}
    return {"quantiles": LEVELS} if "quantiles" in known else {}


def _moments(method: Sklearn, fitted: Fitted, x: np.ndarray) -> np.ndarray:
    """Return mean, epistemic variance and noise variance at `[M, D]` inputs, `[3, M]`."""
    estimator, noise = fitted
    keywords, epistemic, variance = _keywords(estimator), np.zeros(len(x)), np.zeros(len(x))
    with _calling(method):
        if method.virtual_ensembles:
            found = estimator.virtual_ensembles_predict(
                x, "TotalUncertainty", virtual_ensembles_count=method.virtual_ensembles
            )
            mean, epistemic, variance = _numbers(method, found, x, 3).T
        elif hasattr(estimator, "pred_dist"):
            distribution = estimator.pred_dist(x)
            mean = distribution.mean()
            variance = _squared(method, distribution.std(), x)
        elif "return_std" in keywords:
            found = estimator.predict(x, **keywords)
            if not isinstance(found, tuple | list) or len(found) != 2:
                raise _wrong_result(method, "no pair of means and standard deviations")
            mean, variance = found[0], _squared(method, found[1], x)
        elif keywords:
            quantiles = _numbers(method, estimator.predict(x, **keywords), x, len(LEVELS))
            mean, variance = quantiles.mean(1), quantiles.var(1)
        else:
            mean = estimator.predict(x)
        mean = _numbers(method, mean, x)
    aleatoric = np.maximum(noise + variance, MIN_VARIANCE)
    return np.stack([mean, epistemic, aleatoric])


def _squared(method: Sklearn, deviations: Any, rows: np.ndarray) -> np.ndarray:
    numbers = _numbers(method, deviations, rows)
    if (numbers < 0).any():
        raise _wrong_result(method, "negative standard deviations")
    squares: np.ndarray = np.square(numbers)
    return squares


def _numbers(method: Sklearn, values: Any, rows: np.ndarray, columns: int = 1) -> np.ndarray:
    """Return what a regressor returned for some rows as float64, `[M]` or `[M, columns]`.

    Raises:
        UserError: if it is not a real number for each row, or not `columns` of them.
    """
    array = np.ma.asarray(values)  # np.asarray would uncover masked values
    try:
        if array.dtype.kind not in "fiubO":
            raise TypeError
        numbers = np.ma.filled(array.astype(np.float64), np.nan)
    except (TypeError, ValueError):
        raise _wrong_result(method, f"values of type {array.dtype}") from None
    shape = (len(rows),) if columns == 1 else (len(rows), columns)
    if numbers.shape not in (shape, (*shape[:1], columns)):
        raise _wrong_result(method, f"an array of shape {numbers.shape} for {len(rows)} rows")
    return numbers.reshape(shape)


def _wrong_result(method: Sklearn, found: str) -> UserError:
    return UserError(
        f"{method.estimator} must return real numbers, one for each row, but returned {found}.",
        "method.estimator",
        "wrong_result",
    )


@contextmanager
def _calling(method: Sklearn) -> Iterator[None]:
    """Seed numpy's global generator, which some regressors use, and restore it afterwards.

    Raises:
        UserError: for any error of the regressor.
    """
    state = np.random.get_state()
    np.random.seed(0)
    try:
        yield
    except UserError:
        raise
    except Exception as error:
        message = f"{method.estimator} failed: {_one_line(error)}"
        raise UserError(message, "method.estimator", "failed") from None
    finally:
        np.random.set_state(state)


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())[:300].rstrip(".") + "."
