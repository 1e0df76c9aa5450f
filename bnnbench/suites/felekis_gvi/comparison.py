"""The runs of the GVI thesis's experiments (chapter 5)."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from bnnbench.report.sections.divergence_orders import with_orders
from bnnbench.report.sections.information_criteria import criteria_table
from bnnbench.report.sections.interval_coverage import sigma_table
from bnnbench.report.sections.spread import losses_by_split
from bnnbench.results.compare.outcomes import all_pairs, with_outcomes
from bnnbench.results.compare.significance import add_names
from bnnbench.results.metric_table import printed_in
from bnnbench.results.read.configurations import distinct_names
from bnnbench.results.read.run_tables import Runs
from bnnbench.results.score.curves import read_curves

ORDERS, COMPARISON, TOY = "gvi_alpha", "gvi_uci", "gp_toy"
EXPERIMENTS = (ORDERS, COMPARISON, TOY)
"""Labels of the thesis's experiments."""

THESIS_EPOCHS = {ORDERS: 100, COMPARISON: 100, TOY: 500}
"""Epochs of every fit, by experiment."""

NAMES = {
    "kl": "KL",
    "kl_prior_posterior": "RKL",
    "alpha": "A",
    "renyi": "AR",
    "alpha_renyi": "aAR",
    "js_weight_2": "JS",
    "tv_lower": "TVL",
    "tv_upper": "TVU",
    "fisher": "F",
    "mc_dropout": "MC dropout",
    "deep_ensemble": "Deep ensemble",
    "sgld": "SGLD",
}
"""The thesis's names of divergences and methods by ours.

TVL and TVU are matched by name, although the thesis swaps their formulas. Its Jensen-Shannon has no
factor 1/2, so it is our `js` with weight 2.
"""

DIVERGENCES = tuple(NAMES)[:9]

VARIATIONAL = ("kl", "alpha", "alpha_renyi", "js_weight_2")
"""Divergences that the thesis compares with other methods."""

OTHERS = ("mc_dropout", "deep_ensemble", "sgld")
"""Methods that the thesis compares them with; we add Laplace."""

OTHERS_RUN = (*OTHERS, "laplace")

SCORES = tuple(metric.key for metric in printed_in("figures"))
"""RMSE and log-likelihood (as NLL)."""


@dataclass(frozen=True)
class ThesisRuns:
    """The finished runs of the thesis's experiments; each part may be empty.

    A contender is a divergence with Bayes by Backprop, or another method.

    Attributes:
        orders: `with_orders` of the grid of alpha.
        medians: medians over splits of the comparison, lower is better; index `dataset`, `depth`
            and `name`, columns `SCORES`.
        spreads: standard deviations over splits, with the same index and columns.
        pairs: pairwise comparisons at equal depth, with `depth` and the contenders' names; their
            p-values are adjusted over these pairs only.
        sigma: `sigma_table` of the toy, with `name`.
        criteria: `criteria_table` of the toy, with `depth` and `name`.
    """

    orders: pd.DataFrame
    medians: pd.DataFrame
    spreads: pd.DataFrame
    pairs: pd.DataFrame
    sigma: pd.DataFrame
    criteria: pd.DataFrame

    @property
    def empty(self) -> bool:
        """Whether there are no runs."""
        return all(part.empty for part in vars(self).values())


def thesis_runs(runs: Runs) -> ThesisRuns:
    """Select the thesis's experiments, without runs of other epochs."""
    table = runs.scored[~has_other_epochs(runs.scored)]
    toy = table.index[table["experiment"] == TOY]
    sigma = sigma_table([curve for curve in runs.cached(read_curves) if curve.run["run"] in toy])
    return arrange(runs, table, sigma, runs.cached(criteria_table))


def arrange(
    runs: Runs, table: pd.DataFrame, sigma: pd.DataFrame, criteria: pd.DataFrame
) -> ThesisRuns:
    """Arrange runs by the thesis's experiments.

    Args:
        runs: the finished runs.
        table: the rows of `Runs.scored` that count.
        sigma: `sigma_table` of the toy, with the column `run`; may be empty.
        criteria: `criteria_table`; may be empty.
    """
    grid, comparison, toy = (table[table["experiment"] == label] for label in EXPERIMENTS)
    medians, spreads = spread_over_splits(runs.cached(losses_by_split), comparison)
    return ThesisRuns(
        with_orders(grid),
        medians,
        spreads,
        contender_pairs(runs.cached(all_pairs), comparison),
        add_contenders(sigma.set_index("run") if len(sigma) else sigma, toy),
        add_contenders(criteria, toy),
    )


def has_other_epochs(table: pd.DataFrame) -> pd.Series:
    """Return whether each run belongs to the thesis's experiments but has other epochs."""
    expected = table["experiment"].map(THESIS_EPOCHS)
    names = ("training.epochs", "training.final_epochs")
    actual = [
        table["settings"].map(lambda settings, name=name: settings.get(name)) for name in names
    ]
    return expected.notna() & ((actual[0] != expected) | (actual[1] != expected))


def contenders(table: pd.DataFrame) -> pd.Series:
    """Return each run's divergence without its order for Bayes by Backprop, else its method.

    `distinct_names` distinguishes several runs of a data set and depth that share this name.
    The name contains the weight if it is not 1 or, if none is 1, not the most common one: 0.1 is
    `_weight_2` where most are 0.05. All runs are of one experiment.
    """
    ours = table["method"] == "bbb"
    weights = table.loc[ours, "weight"]
    default = 1.0 if (weights == 1).any() else weights.mode().min()
    names = [
        name.removesuffix(f"_weight_{weight:g}")
        + ("" if weight == default else f"_weight_{weight / default:g}")
        for name, weight in zip(table["divergence_family"], table["weight"], strict=True)
    ]
    found = pd.Series(names, table.index, dtype=object).where(ours, table["method"])
    return distinct_names(found, table, ["dataset", "depth"]).rename("name")


def add_contenders(numbers: pd.DataFrame, table: pd.DataFrame) -> pd.DataFrame:
    """Add `depth` and the contender's `name` to the numbers of runs.

    `numbers`, a row per run, may contain other runs or be empty.
    """
    selected = numbers[numbers.index.isin(table.index)]
    if selected.empty:
        return pd.DataFrame()
    names = contenders(table.loc[table.index.isin(selected.index)])
    return selected.assign(depth=table["depth"], name=names).dropna(subset="name")


def spread_over_splits(
    losses: pd.DataFrame, table: pd.DataFrame
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return `medians` and `spreads` of `ThesisRuns`."""
    names = contenders(table)
    selected = losses[losses["run"].isin(names.index)] if len(losses) else losses
    if selected.empty:
        return pd.DataFrame(), pd.DataFrame()
    selected = selected.assign(name=selected["run"].map(names))
    groups = selected.groupby(["dataset", "depth", "name"])[list(SCORES)]
    return groups.median(), groups.std()


def contender_pairs(pairs: pd.DataFrame, table: pd.DataFrame) -> pd.DataFrame:
    """Return the `pairs` of `ThesisRuns`."""
    named_pairs = add_names(pairs[pairs["metric"].isin(SCORES)], contenders(table))
    depths = [named_pairs[side].map(table["depth"]) for side in ("run_a", "run_b")]
    # Other runs in the folder must not change the correction for multiple tests.
    return with_outcomes(named_pairs.assign(depth=depths[0])[depths[0] == depths[1]])
