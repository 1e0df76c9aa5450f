"""The table of metrics."""

from __future__ import annotations

import bnnbench.metrics
from bnnbench.results.metric_table import (
    BY_KEY,
    COMPUTED,
    METRICS,
    SCORE_KEYS,
    heading_of,
    printed_in,
)


def test_every_score_that_is_computed_is_in_the_table() -> None:
    assert tuple(bnnbench.metrics.SCORE_FUNCTIONS) == SCORE_KEYS
    assert len(BY_KEY) == len(METRICS) + len(COMPUTED)


def test_where_each_metric_is_printed() -> None:
    keys = {
        place: [m.key for m in printed_in(place)] for place in ("pairs", "figures", "published")
    }
    assert keys == {
        "pairs": ["rmse", "log_likelihood", "crps"],
        "figures": ["rmse", "log_likelihood"],
        "published": [
            *("rmse", "log_likelihood", "log_likelihood_joint", "log_likelihood_gaussian", "crps"),
        ],
    }
    assert [metric.heading for metric in printed_in("terminal")] == [
        "RMSE", "Log-likelihood", "Total [s]",
    ]  # fmt: skip


def test_names_of_axes_and_columns() -> None:
    rmse, likelihood = printed_in("figures")
    assert (rmse.axis, likelihood.axis) == (
        "test RMSE [original units]", "test log-likelihood [nats]",
    )  # fmt: skip
    assert (rmse.loss_axis, likelihood.loss_axis) == (
        "test RMSE [original units]", "test NLL [nats]",
    )  # fmt: skip
    assert (rmse.sign, likelihood.sign) == (1, -1)
    assert heading_of("fit_seconds") == "Fit [s]"
    assert heading_of("diag.kept_samples") == "Kept samples"
