"""Tables of the page on scores: distorted forecasts, best methods, and conformal coverage."""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy.stats import norm
from stored_results import table

from bnnbench.metrics import log_density
from bnnbench.portable_math import mixture_crps
from bnnbench.results.metric_table import COMPUTED
from bnnbench.results.published.protocol import tuned_on_test
from bnnbench.results.score.predictions import Mixture
from bnnbench.results.score.proper_scores import TAIL, point_scores

FOLDER = "scores"

TARGETS = norm.ppf((np.arange(4000) + 0.5) / 4000)
"""Even quantiles of a standard normal distribution."""

OUTLIERS, OUTLIER_DEVIATION = 0.1, 3.0
"""Fraction of targets with a larger deviation, and this deviation."""

COMPARED = ("boston", "yacht")
"""Sets with the most methods."""


def gaussians(locs: list[float], deviations: list[float]) -> Mixture:
    """Return the same equally weighted mixture for every target."""
    ones = np.ones((len(TARGETS), 1))
    return Mixture(ones * locs, ones * np.square(deviations), 0 * ones)


def expected_scores(forecast: Mixture, outliers: float = 0) -> pd.Series:
    """Return expected losses of a forecast of normal targets, some with a larger deviation."""
    scores = []
    for deviation in (1.0, OUTLIER_DEVIATION):
        y = deviation * TARGETS
        found = point_scores(forecast, y, norm.ppf(TAIL), -norm.ppf(TAIL))
        logs = log_density(forecast.loc, forecast.deviation**2, y[:, None])
        found["NLL"] = -np.log(np.exp(logs).mean(1))
        found["CRPS"] = mixture_crps(forecast.loc.T, (forecast.deviation**2).T, y)
        scores.append(pd.DataFrame(found).mean())
    return (1 - outliers) * scores[0] + outliers * scores[1]


def distorted_forecasts() -> str:
    """Return how much worse than the true distribution some forecasts score."""
    ideal, total = gaussians([0.0], [1.0]), np.sqrt(1 - OUTLIERS + OUTLIERS * OUTLIER_DEVIATION**2)
    mixed = gaussians([0.0] * 10, [1.0] * 9 + [OUTLIER_DEVIATION])
    cases = {
        "deviation halved": (gaussians([0.0], [0.5]), ideal, 0.0),
        "deviation doubled": (gaussians([0.0], [2.0]), ideal, 0.0),
        "mean shifted by half a deviation": (gaussians([0.5], [1.0]), ideal, 0.0),
        "one Gaussian for targets with outliers": (gaussians([0.0], [total]), mixed, OUTLIERS),
    }
    titles = {"CRPS": "CRPS"} | {metric.key: metric.title for metric in COMPUTED}
    rows = []
    for name, (forecast, truth, outliers) in cases.items():
        found, best = (expected_scores(one, outliers) for one in (forecast, truth))
        losses = {t: f"{100 * (found[key] / best[key] - 1):+.0f} %" for key, t in titles.items()}
        rows.append({"forecast": name, "NLL": f"{found['NLL'] - best['NLL']:+.2f}", **losses})
    return pd.DataFrame(rows).to_markdown(index=False, disable_numparse=True)


def best_methods() -> str:
    """Return the three methods with the best mean of each score on each set.

    Methods that were tuned with test rows are left out.
    """
    scores = table(FOLDER, "proper_scores")
    rows = scores.rename(columns={"label": "method"}).to_dict("records")
    scores = scores[[not tuned_on_test(run) for run in rows]]
    means = scores.set_index(["dataset", "label"])
    rows = [
        {"score": metric.title}
        | {name: ", ".join(means.loc[name, metric.key].nsmallest(3).index) for name in COMPARED}
        for metric in COMPUTED
    ]
    return pd.DataFrame(rows).to_markdown(index=False)


def conformal_coverage() -> str:
    """Return coverage of split and CQR intervals by data set, and how often it is in its band."""
    rows = table(FOLDER, "intervals")
    rows = rows[rows["interval"].isin(["constant", "cqr"])]
    groups = rows.replace({"interval": {"constant": "split", "cqr": "CQR"}}).groupby(
        ["dataset", "interval"], sort=False
    )
    found = groups.agg(
        runs=("run", "nunique"),
        splits=("splits", "sum"),
        coverage=("coverage", "mean"),
        in_band=("in_band", "sum"),
    ).reset_index()
    found["coverage"] = found["coverage"].map("{:.3f}".format)
    found["in_band"] = (100 * found["in_band"] / found["splits"]).map("{:.1f} %".format)
    headings = {"dataset": "data set", "in_band": "in band"}
    return found.rename(columns=headings).to_markdown(index=False, disable_numparse=True)


def share_in_band(interval: str) -> str:
    """Return the percentage of stored splits whose coverage is in its band."""
    rows = table(FOLDER, "intervals")
    own = rows[rows["interval"] == interval]
    return f"{100 * own['in_band'].sum() / own['splits'].sum():.1f} %"
