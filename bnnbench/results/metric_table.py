"""The table of metrics: title, unit, direction, and where each is printed.

`bnnbench/metrics.py` computes the scores of predictions among them, `experiment/splits` measures
the times, and `score/proper_scores.py` computes the others from stored predictions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from bnnbench.experiment.store.split_files import DIAGNOSTIC

Unit = Literal["target", "nats", "s"]
"""Unit of a metric: that of the data set's target, nats, or seconds."""

Place = Literal["page", "terminal", "pairs", "figures", "published"]
"""Where a metric is printed.

`page`: the report's result tables; `terminal`: those for a terminal of 80 columns; `pairs`: the
comparison of every pair of runs; `figures`: every figure of scores; `published`: comparisons with
published values.
"""

DIAGNOSTICS = {
    f"{DIAGNOSTIC}r_hat": "R-hat, 99 % of points",
    f"{DIAGNOSTIC}bulk_ess": "Bulk ESS, 99 % of points",
    f"{DIAGNOSTIC}tail_ess": "Tail ESS, 99 % of points",
    f"{DIAGNOSTIC}r_hat_noise_precision": "R-hat, noise precision",
    f"{DIAGNOSTIC}r_hat_prior_precision": "R-hat, prior precision",
}
"""Column headings of the diagnostics whose key does not give one."""


@dataclass(frozen=True)
class Metric:
    """A number that every split has.

    Attributes:
        key: the column's name.
        title: the heading of a printed column, without its unit.
        unit: see `Unit`.
        better: whether lower or higher values are better.
        printed: see `Place`; a run's own table and `results.csv` contain every metric.
        loss: the title with the sign such that lower is better.
    """

    key: str
    title: str
    unit: Unit
    better: Literal["lower", "higher"] = "lower"
    printed: tuple[Place, ...] = ()
    loss: str = ""

    @property
    def heading(self) -> str:
        """The heading of a printed column."""
        return f"{self.title} [s]" if self.unit == "s" else self.title

    @property
    def inline_title(self) -> str:
        """The title for use inside a sentence: only abbreviations keep their capitals."""
        return self.title if self.title.isupper() else self.title[0].lower() + self.title[1:]

    @property
    def sign(self) -> int:
        """The factor that turns the metric into a loss (lower is better)."""
        return -1 if self.better == "higher" else 1

    @property
    def axis(self) -> str:
        """The label of an axis that shows the metric."""
        return f"test {self.inline_title} [{self.printed_unit}]"

    @property
    def loss_axis(self) -> str:
        """The label of an axis that shows the metric as a loss."""
        return f"test {self.loss} [{self.printed_unit}]"

    @property
    def printed_unit(self) -> str:
        """The unit on an axis shared by several data sets."""
        return "original units" if self.unit == "target" else self.unit


EVERYWHERE: tuple[Place, ...] = ("page", "terminal", "pairs", "figures", "published")

METRICS = (
    Metric("rmse", "RMSE", "target", printed=EVERYWHERE, loss="RMSE"),
    Metric("log_likelihood", "Log-likelihood", "nats", "higher", EVERYWHERE, "NLL"),
    # The three log-likelihoods are different quantities: papers print one of them.
    Metric(
        "log_likelihood_joint", "Log-likelihood, joint", "nats", "higher", ("page", "published")
    ),
    Metric("log_likelihood_gaussian", "Log-likelihood, Gaussian", "nats", "higher", ("published",)),
    Metric("crps", "CRPS", "target", printed=("page", "pairs", "published")),
    Metric("search_seconds", "Search", "s"),
    Metric("fit_seconds", "Fit", "s"),
    Metric("predict_seconds", "Predict", "s"),
    Metric("total_seconds", "Total", "s", printed=("page", "terminal")),
)
"""All metrics that runs store, in the order in which they are printed."""

COMPUTED = (
    Metric("interval_score", "Interval score, 90 %", "target", loss="interval score"),
    Metric("quantile_loss", "Quantile loss", "target", loss="quantile loss"),
    Metric("tail_crps", "Tail-weighted CRPS", "target", loss="tail-weighted CRPS"),
)
"""Metrics that are computed from saved predictions when they are requested (`proper_scores`)."""

SCORE_KEYS = tuple(metric.key for metric in METRICS if metric.unit != "s")
"""Columns of the scores of every split."""

BY_KEY = {metric.key: metric for metric in (*METRICS, *COMPUTED)}


def printed_in(place: Place) -> tuple[Metric, ...]:
    """Return the metrics printed in one place, in their order."""
    return tuple(metric for metric in METRICS if place in metric.printed)


def heading_of(column: str) -> str:
    """Return the heading of a metric's or diagnostic's column: "Kept samples"."""
    if column in BY_KEY:
        return BY_KEY[column].heading
    if column in DIAGNOSTICS:
        return DIAGNOSTICS[column]
    return column.removeprefix(DIAGNOSTIC).replace("_", " ").capitalize()
