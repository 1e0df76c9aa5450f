"""Claims about the choice of rows, tested over repetitions of all data sets."""

from __future__ import annotations

import pandas as pd

from bnnbench.results.claims.claims import (
    CheckResult,
    Claims,
    NotTestable,
)
from bnnbench.results.claims.mean_tests import (
    LEVEL,
    are_within,
    check_positive,
    independent_values,
    positive,
)
from bnnbench.results.compare.significance import ROPE
from bnnbench.suites.active_learning import DISTANCE, RANDOM, VARIANCE

WITHOUT_NETWORKS = ("boosting", "gp", "linear")
"""Methods that are not networks."""

POINT_ESTIMATES = ("map",)
"""Networks without epistemic variance."""

UNITS = "repetitions"

RULE = (
    f"gain > 0, two-sided t-test over repetitions, p below {LEVEL}; gain = how much lower the mean "
    "RMSE after the start is than with {}, as a fraction of it"
)

claims = Claims()


def gains(table: pd.DataFrame, other: str) -> pd.Series:
    """Return how much lower the RMSE is with rows chosen by the variance than by another rule.

    Args:
        table: `labels.csv` of several runs, with columns `run`, `dataset` and `method`.
        other: the rule.

    Returns:
        Index `method`, `dataset`, `run` and `repetition`; a fraction of the mean RMSE of the other
        rule in the run. Repetitions in which a fit diverged are left out.
    """
    later = table[table["labels"] > table.groupby("run")["labels"].transform("min")]
    keys = ["method", "dataset", "run", "repetition"]
    means = later.groupby([*keys, "arm"])["rmse"].agg(lambda values: values.mean(skipna=False))
    pairs = means.unstack("arm").reindex(columns=[VARIANCE, other]).dropna()
    return (pairs[other] - pairs[VARIANCE]) / pairs.groupby("run")[other].transform("mean")


@claims(
    "PBP learns more from the rows that it is least certain about than from random rows",
    source="Hernández-Lobato & Adams 2015, section 5.2",
    rule=RULE.format("random rows"),
    method="pbp",
)
def beats_random(table: pd.DataFrame, method: str) -> CheckResult:
    """Check whether the variance chooses better rows than chance."""
    found = gains(table[table["method"] == method], RANDOM)
    if found.empty:
        raise NotTestable(f"no runs of {method}")
    return check_positive(found, UNITS, f"gain of {method}")


@claims(
    "Distance to the labelled rows chooses rows at least as well as the variance of any network",
    source="bnnbench",
    rule=f"for every network the whole 95 % interval of the gain is below {ROPE}; contradicted if "
    f"for a network: {RULE.format('rows chosen by distance')}, after Holm's correction",
)
def none_beats_distance(table: pd.DataFrame) -> CheckResult:
    """Check that no network's variance chooses better rows than the distance."""
    networks = table[~table["method"].isin([*WITHOUT_NETWORKS, *POINT_ESTIMATES])]
    found = gains(networks, DISTANCE)
    if found.empty:
        raise NotTestable("no runs of networks with epistemic variance")
    tests, texts = zip(
        *(
            independent_values(own, UNITS, f"gain of {name}")
            for name, own in found.groupby("method")
        ),
        strict=True,
    )
    better = [text for text, one in zip(texts, positive(tests), strict=True) if one]
    evidence = f"{len(better)} of {len(tests)} networks choose better rows than distance"
    # A gain may be significant and yet too small to count.
    within = are_within(tests, ROPE, below=False)
    return within or (False if better else within), "; ".join([evidence, *(better or texts)])
