"""The methods as a scikit-learn estimator: `from bnnbench import BNNRegressor`.

It fits one model to rows in memory: a search on all of them, then a fit to all of them.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import date, time, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Self

import numpy as np
import pandas as pd
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from bnnbench.config.assemble import assemble_experiment, compose_fit
from bnnbench.config.overrides import as_override
from bnnbench.data.in_memory import InMemory
from bnnbench.data.own_table.frames import as_pandas, is_exchangeable
from bnnbench.experiment.splits.fitting import FitSettings
from bnnbench.experiment.splits.folds import validation_parts
from bnnbench.experiment.splits.split_experiment import SplitExperiment
from bnnbench.experiment.splits.split_search import TRIALS, SplitSearch, run_search
from bnnbench.notes import shorten
from bnnbench.portable_math import numpy_defaults
from bnnbench.prediction.distribution import PredictiveDistribution, predictive_distribution
from bnnbench.prediction.model import Model, fit_model
from bnnbench.process_state import unchanged_process
from bnnbench.search.base import best
from bnnbench.types import UserError

SETTINGS = {
    "method": ("method",),
    "protocol": ("protocol",),
    "likelihood": ("likelihood",),
    "depth": ("depth",),
    "width": ("network.width",),
    "epochs": ("training.epochs", "training.final_epochs"),
    "iterations": ("search.iterations",),
    "noise_precision": ("method.noise_precision",),
    "prior_precision": ("method.prior_precision",),
}
"""Settings of `bnnbench run` by parameter."""

BY_DATA_SET: Mapping[str, Callable[[FitSettings], Any]] = {
    "network.width": lambda fit: fit.network.width,
    "training.batch_size": lambda fit: fit.training.batch_size,
    "training.samples": lambda fit: fit.training.samples,
}
"""Settings that the book's protocol chooses by data set, and settings of a fit."""

MAX_SEED = np.iinfo(np.int32).max


class BNNRegressor(RegressorMixin, BaseEstimator):
    """Bayesian neural network regression with any method of `bnnbench list method`.

    `fit` does what `bnnbench run` does on the training part of a split: it standardises inputs and
    target, searches the hyper-parameters that have no value by cross-validation on the rows that it
    gets, and fits the method to all of these rows. Missing values are replaced by the mean.
    Predictions are computed in float64, in units of the target.

    Parameters that are None have the value of the protocol or method. Mistakes raise `UserError`, a
    `ValueError`.

    Args:
        method: an option of `bnnbench list method`.
        protocol: `auto` (by the number of rows), `book` or `trial`.
        likelihood: `gaussian`, `heteroscedastic` or `heteroscedastic_softplus`; by default that of
            the method, which is `gaussian` for all but some presets.
        depth: number of hidden layers.
        width: units of each hidden layer, or a list with one number per layer.
        epochs: passes over the rows, in the search and in the final fit.
        iterations: evaluations of the search, each with a fit to every fold.
        noise_precision: of the observations, in standardised units; a value is not searched.
        prior_precision: of the weights, in standardised units; a value is not searched.
        log_target: whether to learn the logarithm of a positive target. Predictions are those of
            the target, and none is negative; standardised units are those of the logarithm.
        settings: further settings of `bnnbench run` by key, such as `{"training.batch_size": 64}`.
        random_state: seed of all random numbers.

    Attributes:
        model_: the fitted model.
        hyper_parameters_: its hyper-parameters, in standardised units.
        assumed_settings_: with `protocol="book"`, the values used for settings of which the book
            has a value for each data set, unless they were given. The bounds of the search depend
            on the data set too.
        n_features_in_: number of inputs.
        feature_names_in_: their names, if `fit` got a frame.
    """

    def __init__(
        self,
        method: str = "vadam",
        *,
        protocol: str = "auto",
        likelihood: str | None = None,
        depth: int | None = None,
        width: int | list[int] | None = None,
        epochs: int | None = None,
        iterations: int | None = None,
        noise_precision: float | None = None,
        prior_precision: float | None = None,
        log_target: bool = False,
        settings: Mapping[str, Any] | None = None,
        random_state: int | np.random.RandomState | None = 0,
    ) -> None:
        self.method = method
        self.protocol = protocol
        self.likelihood = likelihood
        self.depth = depth
        self.width = width
        self.epochs = epochs
        self.iterations = iterations
        self.noise_precision = noise_precision
        self.prior_precision = prior_precision
        self.log_target = log_target
        self.settings = settings
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Self:
        """Fit the method.

        Args:
            X: `[N, D]` numbers, an array or a frame of any library; NaN, None or `pandas.NA` for
                missing values.
            y: `[N]` targets.

        Raises:
            UserError: if a parameter is wrong, the rows cannot be learned, or the fit diverges.
            ValueError: if the arrays have wrong shapes.
        """
        X = as_pandas(X, "X") if is_exchangeable(X) else X
        with _explained(X, y):
            inputs, targets = validate_data(
                self, _readable(X), _readable(y), dtype=np.float64, ensure_all_finite="allow-nan",
                ensure_min_samples=2, y_numeric=True,
            )  # fmt: skip
            _check_targets(targets)
        features = getattr(self, "feature_names_in_", None)
        names = [f"x{k}" for k in range(inputs.shape[1])] if features is None else [*features]
        overrides = self._overrides()
        targets = targets.astype(np.float64)
        model = fit_rows(inputs, targets, names, overrides, self._log_target())
        self.model_: Model = model.to_double()
        self.hyper_parameters_ = dict(model.values)
        self.assumed_settings_ = self._assumed(model, overrides)
        if self.assumed_settings_:
            values = ", ".join(f"{name}={value}" for name, value in self.assumed_settings_.items())
            warnings.warn(
                "the book's protocol chooses some settings, and the bounds of the search, by data "
                f"set; for other data this fit assumes {values}. Set yours with `settings`.",
                stacklevel=2,
            )
        return self

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """Return predictive means.

        Args:
            X: `[M, D]`.
            return_std: whether to return the standard deviations too.

        Returns:
            Means `[M]`; with `return_std` a pair of means and standard deviations.
        """
        found = self.predict_distribution(X)
        return (found.mean, found.std) if return_std else found.mean

    def predict_distribution(self, X: Any) -> PredictiveDistribution:
        """Return the predictive distributions of rows `[M, D]`, with the index of a frame.

        Raises:
            UserError: if a prediction is not finite, or a cell is text.
            ValueError: if the array has the wrong shape.
        """
        check_is_fitted(self)
        X = as_pandas(X, "X") if is_exchangeable(X) else X
        with _explained(X):
            inputs = validate_data(
                self, _readable(X), dtype=np.float64, ensure_all_finite="allow-nan", reset=False
            )
        index = X.index if isinstance(X, pd.DataFrame) else pd.RangeIndex(len(inputs))
        return predictive_distribution(self.model_, inputs, index)

    def _assumed(self, model: Model, overrides: list[str]) -> dict[str, Any]:
        given = {word.partition("=")[0] for word in overrides}
        book = self.protocol == "book" and model.fitting.method.trains_network
        return {
            name: value_of(model.fitting)
            for name, value_of in BY_DATA_SET.items()
            if book and name not in given
        }

    def _overrides(self) -> list[str]:
        """Return the parameters as overrides, `settings` last."""
        given = {key: getattr(self, name) for name, keys in SETTINGS.items() for key in keys}
        given |= {"seed": self._seed(), **(self.settings or {})}
        return [as_override(key, value) for key, value in given.items() if value is not None]

    def _log_target(self) -> bool:
        if not isinstance(self.log_target, bool | np.bool_):
            text = f"log_target must be True or False, not {self.log_target!r}."
            raise UserError(text, "log_target", "wrong_type")
        return bool(self.log_target)

    def _seed(self) -> int:
        state = self.random_state
        if isinstance(state, int | np.integer):
            return int(state)
        return int(check_random_state(state).randint(MAX_SEED))

    def __sklearn_tags__(self) -> Tags:
        tags: Tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def _readable(cells: Any) -> Any:
    """Replace `pandas.NA` by NaN, and make strings objects, which scikit-learn converts."""
    if isinstance(cells, pd.DataFrame):
        return cells.where(cells.notna(), np.nan)
    if isinstance(cells, list | tuple | np.ndarray):
        array = np.asarray(cells)
        if array.dtype.kind in "OUS":
            return np.where(pd.isna(array), np.nan, array.astype(object))
    return cells


@contextmanager
def _explained(X: Any, y: Any = None) -> Iterator[None]:
    """Replace scikit-learn's error by a `UserError` that names the cell, if a cell is to blame."""
    for name, cells in (("X", X), ("y", y)):
        if _has_dates(cells):  # scikit-learn counts units, which differ between arrays
            _check_cells(name, cells)
    try:
        yield
    except UserError:
        raise
    except (ValueError, TypeError):
        for name, cells in (("X", X), ("y", y)):
            _check_cells(name, cells)
        if y is not None:
            _check_targets(pd.to_numeric(np.ravel(y), errors="coerce"))
        raise


def _has_dates(cells: Any) -> bool:
    types = cells.dtypes if isinstance(cells, pd.DataFrame) else [getattr(cells, "dtype", None)]
    return any(getattr(one, "kind", "") in ("m", "M") for one in types)


def _check_cells(name: str, cells: Any) -> None:
    """Raise `UserError` at the first text, date or infinite number."""
    if issparse(cells) or np.ndim(cells) not in (1, 2):
        return
    for column, values in pd.DataFrame(cells).items():
        for row, cell in enumerate(values):
            code, what = _kind_of_cell(cell)
            if code:
                of = f"column {column!r} of {name}" if name == "X" else name
                encoder = " (scikit-learn's OneHotEncoder converts categories)"
                how = encoder if (code, name) == ("text", "X") else ""
                raise UserError(
                    f"{of} holds {what} in row {row + 1}; convert it to finite numbers{how}.",
                    name,
                    code,
                )


def _kind_of_cell(cell: Any) -> tuple[str, str]:
    """Return what is wrong with a cell, and advice; both empty for a number or a missing value."""
    if np.ndim(cell) == 0 and pd.isna(cell):
        return "", ""
    if isinstance(cell, date | time | timedelta | pd.Period):
        return "date", f"the date or time {cell}"
    try:
        return ("not_finite", str(cell)) if np.isinf(float(cell)) else ("", "")
    except ValueError:
        return "text", f"the text {shorten(str(cell))!r}"
    except TypeError:  # of another type, for which scikit-learn prescribes its own error
        return "", ""


def _check_targets(targets: np.ndarray) -> None:
    wrong = np.flatnonzero(~np.isfinite(targets))
    if wrong.size:
        raise UserError(
            f"y is {targets[wrong[0]]} in row {wrong[0] + 1} ({wrong.size} of {len(targets)} rows "
            "have no finite target); leave these rows out.",
            "y",
            "not_finite",
        )


@unchanged_process()
@numpy_defaults()
def fit_rows(
    inputs: np.ndarray,
    targets: np.ndarray,
    features: Sequence[str],
    settings: Sequence[str],
    log_target: bool,
) -> Model:
    """Choose the hyper-parameters by cross-validation on the rows, and fit the method to them.

    This is what the protocol does on the training part of a split.

    Args:
        inputs: `[N, D]`, NaN for missing values.
        targets: `[N]`.
        features: `D` names.
        settings: overrides, as on the command line.
        log_target: whether the method learns the logarithm of the target.

    Raises:
        UserError: if a setting is wrong, a target has no logarithm, or the fit diverges.
    """
    source = InMemory.of(inputs, targets, features, log_target)
    experiment = assemble_experiment(compose_fit(settings, source.rows))
    assert isinstance(experiment, SplitExperiment)
    experiment = replace(experiment, dataset=source).resolved()
    experiment.check()
    return fit_model(experiment.fitting, experiment.table, _searched_values(experiment))


def _searched_values(experiment: SplitExperiment) -> dict[str, float]:
    """Return the best values of the searched hyper-parameters; none if nothing is searched."""
    if not experiment.iterations:
        return {}
    fitting, splits = experiment.fitting, experiment.table.splits
    search = SplitSearch(experiment.search, experiment.space, fitting)
    validated = validation_parts(fitting, experiment.table, splits, experiment.search)
    with TemporaryDirectory(prefix="bnnbench-") as folder:
        (history,) = run_search(search, splits, validated, [Path(folder) / TRIALS])
    return best(history).values
