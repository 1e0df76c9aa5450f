"""The GVI thesis's experiments (chapter 5): which runs they are made of."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from bnnbench.results.curves import curves_of
from bnnbench.results.divergence_orders import with_orders
from bnnbench.results.information_criteria import criteria_table
from bnnbench.results.interval_coverage import sigma_table
from bnnbench.results.losses_by_split import losses_by_split
from bnnbench.results.metrics import printed_in
from bnnbench.results.reader import Runs
from bnnbench.results.significance import all_pairs, named

ORDERS, COMPARISON, TOY = "gvi_alpha", "gvi_uci", "gp_toy"
EXPERIMENTS = (ORDERS, COMPARISON, TOY)
"""Their labels."""

EPOCHS = {ORDERS: 100, COMPARISON: 100, TOY: 500}
"""Of every fit, by experiment."""

NAMES = {
    "kl": "KL",
    "rkl": "RKL",
    "alpha": "A",
    "renyi": "AR",
    "alpha_renyi": "aAR",
    "js_w2": "JS",
    "tv_lower": "TVL",
    "tv_upper": "TVU",
    "fisher": "F",
    "mc_dropout": "MC dropout",
    "deep_ensemble": "Deep ensemble",
    "sgld": "SGLD",
}
"""Our name of a contender to the thesis's; TVL and TVU by their names, not by what it prints.

Its Jensen-Shannon has no factor 1/2, so that it is our `js` of weight 2.
"""

DIVERGENCES = tuple(NAMES)[:9]

VARIATIONAL = ("kl", "alpha", "alpha_renyi", "js_w2")
"""The divergences that the thesis holds against other methods."""

OTHERS = ("mc_dropout", "deep_ensemble", "sgld")
"""The methods it holds them against; we add Laplace."""

RUN_BESIDE = (*OTHERS, "laplace")

SCORES = tuple(metric.key for metric in printed_in("figures"))
"""RMSE and log-likelihood, the latter as NLL."""


@dataclass(frozen=True)
class ThesisRuns:
    """The finished runs of the thesis's experiments; each part may be empty.

    Attributes:
        orders: `with_orders` of the grid of alpha.
        medians: over splits of the comparison, lower is better; index `dataset`, `depth` and
            `name`, columns those of `SCORES`.
        spreads: standard deviations over splits, likewise.
        pairs: those within one depth of the comparison, with `depth`, named by contender.
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
        """Whether no run is there."""
        return all(part.empty for part in vars(self).values())


def thesis_runs(runs: Runs) -> ThesisRuns:
    """The thesis's experiments among the runs of a report, but for those of other epochs."""
    table = runs.scored[~departing(runs.scored)]
    losses, criteria = runs.once(losses_by_split), runs.once(criteria_table)
    grid, comparison, toy = (table[table["experiment"] == label] for label in EXPERIMENTS)
    medians, spreads = over_splits(losses, comparison)
    sigma = sigma_table([c for c in runs.once(curves_of) if c.run["run"] in toy.index])
    return ThesisRuns(
        with_orders(grid),
        medians,
        spreads,
        paired(runs.once(all_pairs), comparison),
        beside(sigma.set_index("run") if len(sigma) else sigma, toy),
        beside(criteria, toy),
    )


def departing(table: pd.DataFrame) -> pd.Series:
    """By run, whether it is of the thesis's experiments but of other epochs, as a trial is.

    Args:
        table: rows of `Runs.scored`.
    """
    wanted = table["experiment"].map(EPOCHS)
    names = ("training.epochs", "training.final_epochs")
    own = [table["settings"].map(lambda settings, name=name: settings.get(name)) for name in names]
    return wanted.notna() & ((own[0] != wanted) | (own[1] != wanted))


def contenders(table: pd.DataFrame) -> pd.Series:
    """By run, the divergence of Bayes by Backprop without its order, else the method.

    The name says its weight where that is not 1, or where none is 1, not that of most: 0.1 is
    `_w2` where most are 0.05.

    Args:
        table: rows of `Runs.scored` of one experiment.
    """
    ours = table["method"] == "bbb"
    weights = table.loc[ours, "weight"]
    usual = 1.0 if (weights == 1).any() else weights.mode().min()
    names = [
        name.removesuffix(f"_w{weight:g}") + ("" if weight == usual else f"_w{weight / usual:g}")
        for name, weight in zip(table["divergence_family"], table["weight"], strict=True)
    ]
    return pd.Series(names, table.index).where(ours, table["method"]).rename("name")


def beside(numbers: pd.DataFrame, table: pd.DataFrame) -> pd.DataFrame:
    """The numbers of some runs with `depth` and the contender's `name`.

    Args:
        numbers: a row per run, index `run`; perhaps of more runs, perhaps empty.
        table: rows of `Runs.scored` of one experiment.
    """
    own = numbers[numbers.index.isin(table.index)]
    if own.empty:
        return pd.DataFrame()
    return own.assign(depth=table["depth"], name=contenders(table.loc[own.index]))


def over_splits(losses: pd.DataFrame, table: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The medians and spreads of `ThesisRuns`; of two runs of a contender, the better median's.

    Args:
        losses: of `losses_by_split`.
        table: rows of `Runs.scored` of the comparison.
    """
    own = losses[losses["run"].isin(table.index)] if len(losses) else losses
    if own.empty:
        return pd.DataFrame(), pd.DataFrame()
    names = contenders(table.loc[own["run"].unique()])
    by = ["dataset", "depth", "name"]
    groups = own.assign(name=own["run"].map(names)).groupby([*by, "run"])[list(SCORES)]
    medians = groups.median()
    best = medians.groupby(by).idxmin()
    chosen = (
        {metric: found.loc[best[metric], metric].to_numpy() for metric in SCORES}
        for found in (medians, groups.std())
    )
    first, second = (pd.DataFrame(columns, index=best.index) for columns in chosen)
    return first, second


def paired(pairs: pd.DataFrame, table: pd.DataFrame) -> pd.DataFrame:
    """The pairs of `ThesisRuns`; of two runs of a contender, the first.

    Args:
        pairs: of `all_pairs`.
        table: rows of `Runs.scored` of the comparison.
    """
    own = table.assign(name=contenders(table)).drop_duplicates(["dataset", "name", "depth"])
    met = named(pairs[pairs["metric"].isin(SCORES)], own["name"])
    depths = [met[side].map(own["depth"]) for side in ("run_a", "run_b")]
    return met.assign(depth=depths[0])[depths[0] == depths[1]]
