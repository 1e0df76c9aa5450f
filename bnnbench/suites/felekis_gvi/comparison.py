"""The GVI thesis's experiments (chapter 5): which runs they are made of."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from bnnbench.report.divergence_order import SCORES, family_of, with_orders
from bnnbench.report.interval_coverage import sigma_table
from bnnbench.report.predictive_curves import Curve
from bnnbench.report.score_distributions import spread_figure
from bnnbench.report.section import Section
from bnnbench.results.tables import labels

ORDERS, COMPARISON, TOY = "gvi_alpha", "gvi_uci", "gp_toy"
"""Labels of the experiments."""

NAMES = {
    "kl": "KL",
    "rkl": "RKL",
    "alpha": "A",
    "renyi": "AR",
    "alpha_renyi": "aAR",
    "js": "JS",
    "tv_lower": "TVL",
    "tv_upper": "TVU",
    "fisher": "F",
    "mc_dropout": "MC dropout",
    "deep_ensemble": "Deep ensemble",
    "sgld": "SGLD",
}
"""Our name of a contender to the thesis's; TVL and TVU by their names, not by what it prints."""

DIVERGENCES = tuple(NAMES)[:9]
RIVALS = (
    "Fig. 5.6 of the GVI thesis: four divergences and other methods, mean ± standard error over "
    "splits, a row of panels per depth. Lower is better."
)
VARIATIONAL = ("kl", "alpha", "alpha_renyi", "js")
"""The divergences that the thesis holds against other methods."""
OTHERS = ("mc_dropout", "deep_ensemble", "sgld")
"""The methods it holds them against; we add Laplace."""
RUN_BESIDE = (*OTHERS, "laplace")


def contender(run: Mapping[str, Any]) -> str:
    """The divergence of a run of Bayes by Backprop without its order, else the method."""
    if run["method"] != "bbb":
        return str(run["method"])
    divergence = str(run["divergence"])
    family = family_of(divergence)
    return family[0] if family else divergence


@dataclass(frozen=True)
class ThesisRuns:
    """The finished runs of the thesis's experiments; each part may be empty.

    Attributes:
        orders: `with_orders` of the grid of alpha.
        medians: over splits of the comparison, lower is better; index `dataset`, `depth` and
            `name`, columns those of `SCORES`.
        spreads: standard deviations over splits, likewise.
        pairs: rows of `all_pairs` within one depth of the comparison, with `depth`; `a` and `b`
            are contenders.
        sigma: `sigma_table` of the toy, with `name`.
        criteria: `criteria_table` of the toy, with `name`.
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


def suite_of(
    results: pd.DataFrame,
    pairs: pd.DataFrame,
    scores: pd.DataFrame,
    criteria: pd.DataFrame,
    curves: list[Curve],
) -> ThesisRuns:
    """The thesis's experiments among the runs of a report.

    Args:
        results: of `gather`.
        pairs: of `all_pairs`.
        scores: of `scores_by_split`.
        criteria: of `criteria_table`.
        curves: of `curves_below`.
    """
    orders = with_orders(results)
    toy = [c for c in curves if c.run["experiment"] == TOY and len(c.training)]
    medians, spreads = over_splits(scores)
    return ThesisRuns(
        orders[orders["experiment"] == ORDERS],
        medians,
        spreads,
        paired(results, pairs),
        _named(sigma_table(toy)),
        _named(criteria[criteria["experiment"] == TOY] if len(criteria) else criteria),
    )


def over_splits(scores: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The medians and spreads of `ThesisRuns`; of two runs of a contender, the better median's.

    Args:
        scores: of `scores_by_split`.
    """
    scores = scores[scores["experiment"] == COMPARISON] if len(scores) else scores
    if scores.empty:
        return pd.DataFrame(), pd.DataFrame()
    by = ["dataset", "depth", "name"]
    groups = _named(scores).groupby([*by, "variant"])[list(SCORES)]
    medians = groups.median()
    best = medians.groupby(by).idxmin()
    chosen = (
        {metric: table.loc[best[metric], metric].to_numpy() for metric in SCORES}
        for table in (medians, groups.std())
    )
    first, second = (pd.DataFrame(columns, index=best.index) for columns in chosen)
    return first, second


def paired(results: pd.DataFrame, pairs: pd.DataFrame) -> pd.DataFrame:
    """See `ThesisRuns`."""
    columns = ["dataset", "metric", "a", "b", "depth"]
    own = results.assign(label=labels(results))
    own = _named(own[own["experiment"] == COMPARISON])
    own = own.drop_duplicates(["dataset", "name", "depth"]) if len(own) else own
    if pairs.empty or own.empty:
        return pd.DataFrame(columns=columns)
    run = own.set_index(["dataset", "label"])[["name", "depth"]]
    sides = [pairs.join(run, on=["dataset", side])[["name", "depth"]] for side in ("a", "b")]
    both = pairs.assign(a=sides[0]["name"], b=sides[1]["name"], depth=sides[0]["depth"])
    both = both[(sides[0]["depth"] == sides[1]["depth"]) & both["metric"].isin(SCORES)]
    return both.dropna(subset=["a", "b"])


def rivals_section(scores: pd.DataFrame) -> Section | None:
    """Fig. 5.6: other methods beside some divergences; None without both.

    Args:
        scores: of `scores_by_split`.
    """
    own = _named(scores[scores["experiment"] == COMPARISON] if len(scores) else scores)
    shown = own[own["name"].isin((*VARIATIONAL, *RUN_BESIDE))] if len(own) else own
    if shown.empty or not set(shown["method"]) > {"bbb"}:
        return None
    parts, figures = ["## Generalised variational inference and other methods", RIVALS], {}
    for metric, (name, _) in SCORES.items():
        figures[f"rivals_{metric}"] = spread_figure(shown, metric, "means")
        parts.append(f"![Means of the {name} by depth and data set](rivals_{metric}.png)")
    return Section(parts, {}, figures)


def _named(table: pd.DataFrame) -> pd.DataFrame:
    """With the column `name`; a suite that has one weight of the divergence throughout omits it."""
    if table.empty:
        return table
    names = [contender(row) for row in table.to_dict("records")]
    weight = re.compile(r"(_w[\d.e+-]+)?$")
    divergences = set(names) - set(RUN_BESIDE)
    if len({weight.search(name)[0] for name in divergences}) == 1:  # type: ignore[index]
        names = [weight.sub("", name) for name in names]
    return table.assign(name=names)
