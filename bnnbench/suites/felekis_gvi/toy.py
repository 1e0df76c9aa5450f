"""The toy: our numbers next to the thesis's tables (section 5.0.2 and appendix), and its rules.

`toy_calibration.csv` and `toy_criteria.csv` contain its tables as printed. Its column
"log-likelihood" is a negative log-likelihood, and a few entries are misprints.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
import pandas as pd

from bnnbench.report.blocks import Block, DataFile, Heading, Paragraph, columns, fill
from bnnbench.report.sections.information_criteria import CRITERIA, criteria_table
from bnnbench.report.sections.interval_coverage import SMALL_HALF_WIDTH, sigma_table
from bnnbench.results.claims.claims import OTHERWISE, CheckResult, NotTestable, Rule, is_majority
from bnnbench.results.read.labels import labels
from bnnbench.results.read.run_tables import Runs
from bnnbench.results.score.curves import read_curves
from bnnbench.suites.felekis_gvi.checks import Names, missing_runs
from bnnbench.suites.felekis_gvi.comparison import DIVERGENCES, NAMES, ThesisRuns

DATASET = "gp_sample"

TABLE_NAMES = {
    "tv_lower": "tvl",
    "tv_upper": "tvu",
    "js_weight_2": "js",
    "kl_prior_posterior": "rkl",
}
"""The thesis's names of divergences by ours, where they differ (it swaps the TV formulas).

Our own divergences with these names are different: our `js` is half of the thesis's.
"""

TOY_DEPTHS = (1, 2, 3)

WITHOUT_TEST = " (on one data set, without a test)"
"""Ends a rule on the toy, which has one picture and no repetitions."""

WELL_CALIBRATED = 0.1
"""The thesis's bound on the difference in coverage at one standard deviation."""

SIGMA_STATEMENT = (
    "The thesis counts predicted points inside an interval of the true distribution and calls a "
    "difference of at most 0.1 well calibrated; it interprets its curves as we do here."
)

CRITERIA_STATEMENT = (
    "The thesis's criteria agree up to rounding with p = means and standard deviations of all "
    "weights (804, 41604 and 81404) and n = 401: BIC - AIC = p (ln n - 2) gives n = 401 in all "
    "rows except three misprinted ones. The remainder, its -2 ln L, lies between -173 and 209 and "
    "is not twice its printed negative log-likelihood; the thesis does not say on which points "
    "either is computed. Therefore the p terms are comparable but the fits are not."
)

SIGMA_COLUMNS = columns(
    {"Method": "{label}"},
    {
        "Depth": "{depth}",
        "Inside 1 sigma": "{inside_1:.2f}",
        "Difference": "{difference:.2f}",
        "Thesis": "{inside_1_thesis:.2f}",
        "Thesis difference": "{difference_thesis:.2f}",
    },
)

CRITERIA_COLUMNS = columns(
    {"Method": "{label}"},
    {
        "Depth": "{depth}",
        **{title: f"{{{name}:.0f}}" for name, title in CRITERIA.items()},
        **{f"{title}, thesis": f"{{{name}_thesis:.0f}}" for name, title in CRITERIA.items()},
    },
)

PRINTED_SIGMA = {"predicted_probability": "inside_1_thesis", "difference": "difference_thesis"}
"""Names in our table by column of the thesis's table."""

PRINTED_CRITERIA = {name: f"{name}_thesis" for name in CRITERIA}


def sigma_blocks(runs: Runs) -> Iterator[Block]:
    """Yield the blocks on coverage at one standard deviation, if there are matching runs."""
    curves = runs.cached(read_curves)
    records = [curve.run for curve in curves]
    table = add_thesis_values(sigma_table(curves), records, "calibration", PRINTED_SIGMA)
    if len(table):
        yield Heading("Coverage at one standard deviation", 3)
        yield Paragraph(SIGMA_STATEMENT)
        yield fill(SIGMA_COLUMNS, table)
        yield DataFile("toy_calibration", table)


def criteria_blocks(runs: Runs) -> Iterator[Block]:
    """Yield the blocks on information criteria, if there are matching runs."""
    criteria = runs.cached(criteria_table)
    if criteria.empty:
        return
    scored = runs.scored.loc[criteria.index]
    scored = scored.assign(label=labels(scored, ignore=("depth",)))
    names = ["experiment", "dataset", "method", "divergence", "depth", "label"]
    table = scored[names].join(criteria).reset_index()
    table = add_thesis_values(table, scored.to_dict("records"), "criteria", PRINTED_CRITERIA)
    if len(table):
        table = table.sort_values(["depth", "label"])
        yield Heading("Information criteria", 3)
        yield Paragraph(CRITERIA_STATEMENT)
        yield fill(CRITERIA_COLUMNS, table)
        yield DataFile("toy_criteria", table)


def add_thesis_values(
    table: pd.DataFrame, runs: list[Mapping[str, Any]], name: str, columns: Mapping[str, str]
) -> pd.DataFrame:
    """Return the rows that are in the thesis's table, with its numbers added.

    `runs` has the metadata of each row's record; `columns` our names by the thesis's.
    """
    printed = [thesis_row(name, run) for run in runs]
    is_printed = [bool(row) for row in printed]
    added = {new: [row[old] for row in printed if row] for old, new in columns.items()}
    return table[is_printed].assign(**added) if any(is_printed) else pd.DataFrame()


@cache
def thesis_table(name: str) -> pd.DataFrame:
    """Return the table `calibration` or `criteria`, by divergence and hidden layers."""
    path = files(__package__) / f"toy_{name}.csv"
    return pd.read_csv(str(path), index_col=["divergence", "hidden_layers"])


def thesis_row(name: str, run: Mapping[str, Any]) -> dict[str, float]:
    """Return the printed row for a run's divergence and depth; empty if the thesis has none.

    The thesis does not say which order alpha it used, so any order matches.
    """
    family = str(run["divergence_family"])
    key = (TABLE_NAMES.get(family, family), run["depth"])
    table, is_another = thesis_table(name), family in TABLE_NAMES.values()
    is_in_thesis = run["dataset"] == DATASET and run["family"] == "bbb" and not is_another
    if not is_in_thesis or key not in table.index:
        return {}
    return {str(column): float(value) for column, value in table.loc[key].items()}


@cache
def thesis_toy() -> ThesisRuns:
    """Return the thesis's tables of its toy as `ThesisRuns`, so that rules apply to both.

    The thesis has no numbers for small intervals (`small_interval_excess`), and only figures of its
    other experiments.
    """
    keys = {TABLE_NAMES.get(name, name): name for name in DIVERGENCES}
    calibration, criteria = (
        thesis_table(name).reset_index().rename(columns={"hidden_layers": "depth"})
        for name in ("calibration", "criteria")
    )
    calibration = calibration.rename(columns={"predicted_probability": "inside_1"})
    sigma, named_criteria = (
        table.assign(name=table["divergence"].map(keys)) for table in (calibration, criteria)
    )
    none = pd.DataFrame()
    return ThesisRuns(
        none, none, none, none, sigma.assign(small_interval_excess=np.nan), named_criteria
    )


def toy_at_depth(table: pd.DataFrame, names: Sequence[str], depth: int) -> pd.DataFrame:
    """Return the toy's rows of these names at one depth, indexed by name.

    Raises:
        NotTestable: unless all exist.
    """
    if table.empty:
        raise missing_runs(names, depth)
    rows = table[(table["depth"] == depth) & table["name"].isin(names)]
    rows = rows.set_index("name")
    if not (rows.index.is_unique and set(names) <= set(rows.index)):
        raise missing_runs(names, depth)
    return rows.loc[list(names)]


def best_calibrated(names: Names, depth: int) -> Rule:
    """These divergences are the best calibrated on the toy at one depth."""

    def check(suite: ThesisRuns) -> CheckResult:
        difference = toy_at_depth(suite.sigma, DIVERGENCES, depth)["difference"]
        evidence = ", ".join(
            f"{NAMES[str(name)]} {value:.2f}"
            for name, value in difference.sort_values(kind="stable").items()
        )
        is_named = difference.index.isin(names)
        limit = min(WELL_CALIBRATED, difference[~is_named].min())
        return bool(difference[is_named].max() <= limit), f"difference of coverage: {evidence}"

    return Rule(
        f"of {len(DIVERGENCES)} divergences, these have the smallest differences between "
        f"coverage at one standard deviation and 0.68, each at most {WELL_CALIBRATED}"
        f"{WITHOUT_TEST}",
        check,
    )


def coverage_rises(names: Names, *, falls: bool = False) -> Rule:
    """Coverage at one standard deviation rises, or falls, from one hidden layer to three."""

    def check(suite: ThesisRuns) -> CheckResult:
        rows = [toy_at_depth(suite.sigma, names, depth)["inside_1"] for depth in TOY_DEPTHS]
        table = pd.concat(rows, axis=1)
        change = table.iloc[:, -1] - table.iloc[:, 0]
        n_holds = int(((change < 0) if falls else (change > 0)).sum())
        evidence = "; ".join(
            f"{NAMES[str(name)]} {', '.join(f'{coverage:.2f}' for coverage in row)}"
            for name, row in zip(table.index, table.to_numpy(), strict=True)
        )
        word = "lower" if falls else "higher"
        return is_majority(n_holds, len(table)), f"{word} in {n_holds} of {len(table)}: {evidence}"

    most = f" for three quarters of them{OTHERWISE}" if len(names) > 1 else ""
    return Rule(
        f"coverage at one standard deviation is {'lower' if falls else 'higher'} at depth "
        f"{TOY_DEPTHS[-1]} than at depth {TOY_DEPTHS[0]}{most}{WITHOUT_TEST}",
        check,
    )


def small_intervals_fail() -> Rule:
    """Small intervals contain too few targets, which is overconfident."""

    def check(suite: ThesisRuns) -> CheckResult:
        low = {}
        for depth in TOY_DEPTHS:
            with suppress(NotTestable):
                rows = toy_at_depth(suite.sigma, DIVERGENCES, depth)
                if len(excess := rows["small_interval_excess"].dropna()):
                    low[depth] = excess < 0
        if not low:
            raise missing_runs(DIVERGENCES, 1)
        evidence = ", ".join(
            f"too narrow in {sum(is_low)} of {len(is_low)} at depth {d}"
            for d, is_low in low.items()
        )
        all_low = pd.concat(low)
        return is_majority(int(all_low.sum()), len(all_low)), evidence

    return Rule(
        "coverage is below a Gaussian's on average over half-widths of 0.1 to "
        f"{SMALL_HALF_WIDTH - 0.1:g} standard deviations, for three quarters of divergences x "
        f"depths{OTHERWISE}{WITHOUT_TEST}",
        check,
    )


def one_layer_is_best() -> Rule:
    """Every criterion of every divergence is smallest with one hidden layer."""

    def check(suite: ThesisRuns) -> CheckResult:
        table = suite.criteria
        table = table[table["name"].isin(DIVERGENCES)] if len(table) else table
        if table.empty or table["depth"].nunique() < 2:
            raise NotTestable("the toy was not run at two depths")
        criteria = table.melt(["name", "depth"], ["bic", "aic", "hqc"])
        best = criteria.loc[criteria.groupby(["name", "variable"])["value"].idxmin(), "depth"]
        return bool((best == 1).all()), f"smallest at depth 1 in {(best == 1).sum()} of {len(best)}"

    return Rule(
        f"BIC, AIC and HQC of every divergence are smallest at depth 1{WITHOUT_TEST}", check
    )
