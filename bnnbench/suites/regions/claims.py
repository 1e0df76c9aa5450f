"""Claims about uncertainty in gaps, tested over the features whose gaps are true.

Splits are features, which are different questions, so differences are paired by feature and tested
by a plain t-test.
"""

from __future__ import annotations

import pandas as pd

from bnnbench.data.regions import GAP, TAIL
from bnnbench.results.claims.claims import (
    CheckResult,
    Claims,
    NotTestable,
    all_hold,
)
from bnnbench.results.claims.mean_tests import LEVEL, check_positive, independent_values, positive

EXPERIMENT = "region_posterior"
"""The experiment in which all methods have the same prior and noise."""

UNITS = "features with true gaps"

RULE = f"{{}}, two-sided t-test over {UNITS}, p below {LEVEL}, in runs of {EXPERIMENT}"

FOONG = "Foong et al. 2019"

claims = Claims()


def true_regions(table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of `all_regions` that the claims are about."""
    return table[(table["is_true"] == 1) & (table["experiment"] == EXPERIMENT)]


@claims(
    "Bayes by Backprop is more certain in a gap than outside of it",
    source=FOONG,
    rule=RULE.format("0.5 - AUROC of the epistemic variance > 0"),
    method="bbb",
)
@claims(
    "Vadam is more certain in a gap than outside of it",
    source=FOONG,
    rule=RULE.format("0.5 - AUROC of the epistemic variance > 0"),
    method="vadam",
)
def is_more_certain(table: pd.DataFrame, method: str) -> CheckResult:
    """Check whether the AUROC of a method is below one half."""
    area = _columns(table, "auroc.epistemic", method)[method]
    return check_positive(0.5 - area, UNITS, f"0.5 - AUROC of {method}")


@claims(
    "The linearised Laplace approximation recognises gaps better than Bayes by Backprop",
    source=FOONG,
    rule=RULE.format("difference of AUROCs > 0"),
    better="laplace",
    worse="bbb",
)
def recognises_better(table: pd.DataFrame, better: str, worse: str) -> CheckResult:
    """Check whether one method has the larger AUROC."""
    areas = _columns(table, "auroc.epistemic", better, worse)
    return check_positive(areas[better] - areas[worse], UNITS, f"AUROC of {better} - {worse}")


@claims(
    "Bayes by Backprop fails in gaps: it loses more log-likelihood there than a deep ensemble",
    source=FOONG,
    rule=RULE.format("difference of losses > 0, loss = log-likelihood outside - in the gap"),
    worse="bbb",
    better="deep_ensemble",
)
def loses_more(table: pd.DataFrame, worse: str, better: str) -> CheckResult:
    """Check whether one method loses more log-likelihood in gaps."""
    both = _columns(_with_losses(table), "loss", worse, better)
    return check_positive(both[worse] - both[better], UNITS, f"loss of {worse} - {better}")


@claims(
    "Every method loses more log-likelihood in tails than in gaps",
    source="nnuncert 2023",
    rule=f"for each method: {RULE.format('difference of losses > 0')} after Holm's correction; "
    "tails are true ones too",
)
def every_method_loses_more_in_tails(table: pd.DataFrame) -> CheckResult:
    """Check whether all methods lose more log-likelihood in tails, feature by feature."""
    losses = _with_losses(table)
    tails, gaps = (_columns(losses, "loss", kind=kind) for kind in (TAIL, GAP))
    differences = (tails - gaps).dropna(how="all").dropna(axis=1, how="all")
    if differences.empty:
        raise NotTestable("no features with a true gap and a true tail")
    tests, texts = zip(
        *(
            independent_values(differences[name], UNITS, f"loss of {name} in tails - gaps")
            for name in differences
        ),
        strict=True,
    )
    decided = positive(tests)
    failed = [text for text, one in zip(texts, decided, strict=True) if not one]
    evidence = f"{len(tests) - len(failed)} of {len(tests)} methods"
    return all_hold(decided), "; ".join([evidence, *failed])


def _with_losses(table: pd.DataFrame) -> pd.DataFrame:
    return table.assign(loss=table["inside.log_likelihood"] - table["region.log_likelihood"])


def _columns(table: pd.DataFrame, column: str, *methods: str, kind: str = GAP) -> pd.DataFrame:
    """Return a score by data set and feature (rows) and method (columns).

    Args:
        table: from `true_regions`; several runs of a method are averaged.
        column: of the table.
        methods: that are needed.
        kind: of the regions.

    Raises:
        NotTestable: if a method is missing.
    """
    own = table[table["kind"] == kind]
    wide = own.pivot_table(index=["source", "split"], columns="method", values=column)
    if missing := [method for method in methods if method not in wide]:
        raise NotTestable(f"no runs of {' and '.join(missing)} with true gaps")
    return wide
