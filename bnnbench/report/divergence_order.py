"""A score against the order alpha of families of divergences (GVI thesis, Fig. 5.2)."""

from __future__ import annotations

import re

import pandas as pd
from matplotlib.figure import Figure

from bnnbench.report.plotting import GREY, PALETTE, legend, sketch
from bnnbench.report.section import Section
from bnnbench.results.tables import markdown_table, plus_minus

LEAST_ORDERS = 3
"""Of one family, from which on scores are drawn against the order."""

SETTINGS = ["dataset", "method", "likelihood", "loss", "depth"]
"""What a family's runs share."""

SCORES = {"rmse": ("test RMSE [original units]", 1), "log_likelihood": ("test NLL [nats]", -1)}
"""Axis label of each score, and its sign there: lower is better in both."""

ORDERS_STATEMENT = (
    "Families of divergences by their order alpha: mean ± standard error over splits, lower is "
    "better (NLL is the log-likelihood with its sign turned). At alpha = 1 every family is KL "
    "(alpha Jensen-Shannon aside), drawn as a line where it was run. The best order is that of the "
    "least mean; neighbouring means often differ by less than an error. At full precision: "
    "[orders.csv](orders.csv)."
)


def family_of(name: str) -> tuple[str, float] | None:
    """`("alpha_renyi", 1.75)` of the divergence `alpha_renyi_1.75`; None for one without order.

    What a name says after the order, such as its weight, belongs to the family.
    """
    found = re.fullmatch(r"([a-z_]*[a-z])_(\d+(?:\.\d+)?(?:e[+-]\d+)?)((?:_[a-z].*)?)", name)
    return (found.group(1) + found.group(3), float(found.group(2))) if found else None


def with_orders(results: pd.DataFrame) -> pd.DataFrame:
    """The runs that belong to a family of at least `LEAST_ORDERS` orders.

    Args:
        results: what `gather` returns.

    Returns:
        Their rows with the columns `family` and `order`.
    """
    found = [family_of(str(name)) for name in results["divergence"]]
    rows = results.assign(
        family=[f[0] if f else None for f in found], order=[f[1] if f else None for f in found]
    ).dropna(subset=["family"])
    keys = [*SETTINGS, "experiment", "family"]
    orders = rows.groupby(keys)["order"].transform("nunique")
    return rows[orders >= LEAST_ORDERS].sort_values([*keys, "order"], ignore_index=True)


def reference(results: pd.DataFrame, group: pd.DataFrame) -> pd.Series | None:
    """The KL run with the settings of a group of runs; of several, that of most splits."""
    first = group.iloc[0]
    same = (results[SETTINGS] == first[SETTINGS]).all(axis=1) & (results["divergence"] == "kl")
    kl = results[same].sort_values("splits", ascending=False, kind="stable")
    return kl.iloc[0] if len(kl) else None


def orders_figure(rows: pd.DataFrame, results: pd.DataFrame) -> Figure:
    """A row of panels per score, a column per data set, a line per family.

    Args:
        rows: of `with_orders`, of one method and depth.
        results: all runs, for the KL reference.
    """
    datasets, families = list(rows["dataset"].unique()), list(rows["family"].unique())
    size = (max(6.0, 3.0 * len(datasets) + 0.4), 6.0)
    figure, panels = sketch(*size, len(datasets), len(SCORES))
    for i, (metric, (name, sign)) in enumerate(SCORES.items()):
        for j, dataset in enumerate(datasets):
            axes, own = panels[i * len(datasets) + j], rows[rows["dataset"] == dataset]
            for k, (family, group) in enumerate(own.groupby("family", sort=False)):
                axes.errorbar(
                    group["order"] + 0.03 * (k - 1),
                    sign * group[f"{metric}_mean"],
                    group[f"{metric}_stderr"],
                    color=PALETTE[families.index(family) % len(PALETTE)],
                    marker="o",
                    markersize=3.5,
                    linewidth=1,
                    elinewidth=0.8,
                    capsize=2,
                    label=str(family),
                )
            kl = reference(results, own)
            if kl is not None:
                mean, error = sign * kl[f"{metric}_mean"], kl[f"{metric}_stderr"]
                axes.axhline(mean, color=GREY, linewidth=1, linestyle="--", label="kl")
                axes.axhspan(mean - error, mean + error, color=GREY, alpha=0.15, linewidth=0)
            axes.axvline(1, color=GREY, linewidth=0.5)
            axes.set_title(str(dataset) if i == 0 else "", fontsize="medium")
            axes.set_xlabel("alpha" if i == len(SCORES) - 1 else "")
            axes.set_ylabel(name if j == 0 else "")
    legend(figure, panels[0])
    return figure


def best_rows(rows: pd.DataFrame) -> list[tuple[str, ...]]:
    """Per data set, family and score: the best order, and the means below and above 1."""
    cells = []
    for (dataset, family), group in rows.groupby(["dataset", "family"], sort=False):
        for metric, (name, sign) in SCORES.items():
            scores = (sign * group.set_index("order")[f"{metric}_mean"]).dropna()
            if scores.empty:
                continue
            best = scores.idxmin()
            run = group[group["order"] == best].iloc[0]
            sides = (scores[scores.index < 1].mean(), scores[scores.index > 1].mean())
            text = plus_minus(sign * run[f"{metric}_mean"], run[f"{metric}_stderr"])
            means = (plus_minus(side, float("nan")) for side in sides)
            cells.append((str(dataset), str(family), name, f"{best:g}", text, *means))
    return cells


def orders_section(results: pd.DataFrame) -> Section | None:
    """Scores against alpha; None without a family of enough orders.

    Args:
        results: what `gather` returns.
    """
    rows = with_orders(results)
    if rows.empty:
        return None
    parts, figures = ["## Order of the divergence", ORDERS_STATEMENT], {}
    names = ["Data set", "Divergence", "Metric", "Best alpha", "there", "mean, < 1", "mean, > 1"]
    keys = ["experiment", "method", "likelihood", "loss", "depth"]
    for number, (key, group) in enumerate(rows.groupby(keys, sort=False), 1):
        title = "orders" if number == 1 else f"orders_{number}"
        figures[title] = orders_figure(group, results)
        experiment, method, _, _, depth = key
        parts += [
            f"### {experiment}, {method}, depth {depth}",
            markdown_table(names, best_rows(group)),
        ]
        parts.append(f"![Scores against alpha, a line per family]({title}.png)")
    columns = ["experiment", "dataset", "method", "depth", "family", "order", "splits", "diverged"]
    scores = [f"{metric}_{kind}" for metric in SCORES for kind in ("mean", "std", "stderr")]
    return Section(parts, {"orders": rows[[*columns, *scores]]}, figures)
