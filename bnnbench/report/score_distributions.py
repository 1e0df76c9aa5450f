"""How scores spread over splits, by name and depth (GVI thesis, Figs. 5.4-5.6 and 7.1)."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bnnbench.report.divergence_order import SCORES, with_orders
from bnnbench.report.plotting import BLUE, GREY, ORANGE, Style, sketch
from bnnbench.report.section import Section
from bnnbench.results.tables import labels, read_splits, record, runs_below

LEAST_SPLITS = 2
NAMED = ("experiment", "dataset", "depth", "label", "method", "divergence", "variant")

SPREAD_STATEMENT = (
    "A row of panels per depth, a column per data set. Boxes: median, quartiles, and whiskers to "
    "the last split within 1.5 interquartile ranges; splits beyond are dots, and those beyond the "
    "panel are counted at its top. Means: mean ± standard error over splits, which a few lost "
    "splits can carry off the panel (then an arrow points to them). Lower is better in all."
)


def scores_by_split(path: Path) -> pd.DataFrame:
    """A row per split that did not diverge of every finished run, but of runs on one split.

    Columns: `split`, those of `NAMED` (`label` leaves out the depth) and those of `SCORES`, there
    with the sign by which lower is better. Families of orders are left to `orders_section`.
    """
    runs = runs_below(path)
    named = pd.DataFrame(map(record, runs))
    grid = set(with_orders(named)["variant"])
    kept = [
        k
        for k, row in enumerate(named.to_dict("records"))
        if row["splits"] >= LEAST_SPLITS and row["variant"] not in grid
    ]
    if not kept:
        return pd.DataFrame()
    named = named.iloc[kept].reset_index(drop=True)
    named = named.assign(label=labels(named, aside=("depth",)))
    pieces = []
    for run, row in zip((runs[k] for k in kept), named.to_dict("records"), strict=True):
        splits = read_splits(run)
        splits = splits[splits["diverged"] == 0]
        signed = {metric: sign * splits[metric] for metric, (_, sign) in SCORES.items()}
        names = {name: row[name] for name in NAMED}
        pieces.append(splits[["split"]].assign(**names, **signed))
    return pd.concat(pieces, ignore_index=True)


def limits(values: list[np.ndarray]) -> tuple[float, float]:
    """Of an axis that shows the bulk of every box: some splits may lie orders of magnitude above.

    Nothing is cut off below, where the best are.
    """
    pooled = np.concatenate(values)
    low, high = np.quantile(pooled, (0.25, 0.75))
    inside = pooled[pooled <= high + 3 * (high - low)]
    margin = 0.06 * (inside.max() - inside.min()) or 0.1
    return float(inside.min() - margin), float(inside.max() + margin)


def draw_boxes(axes: Axes, places: list[int], values: list[np.ndarray]) -> None:
    """A box per place, and how many of its splits lie above the panel."""
    line: Style = {"color": BLUE, "linewidth": 0.9}
    axes.boxplot(
        values,
        positions=places,
        widths=0.6,
        boxprops=line,
        whiskerprops=line,
        capprops=line,
        medianprops={"color": ORANGE, "linewidth": 1.4},
        flierprops={"marker": ".", "markersize": 3, "markeredgecolor": GREY},
    )
    low, high = limits(values)
    axes.set_ylim(low, high)
    for place, own in zip(places, values, strict=True):
        beyond = int((own > high).sum())
        if beyond:
            axes.text(place, high, f"{beyond}↑", ha="center", va="bottom", fontsize=6, color=GREY)


def draw_means(axes: Axes, places: list[int], values: list[np.ndarray]) -> None:
    """A mean and its standard error per place; an arrow where it lies above the panel."""
    mean = np.array([own.mean() for own in values])
    error = np.array([own.std(ddof=1) / np.sqrt(len(own)) if len(own) > 1 else 0 for own in values])
    axes.errorbar(places, mean, error, fmt="o", color=BLUE, markersize=4, capsize=2)
    low, high = limits([np.concatenate([mean - error, mean + error])])
    axes.set_ylim(low, high)
    for k in np.flatnonzero(mean > high).tolist():
        # Beside its place, where an error bar may reach down from above.
        text: Style = {"ha": "left", "va": "top", "rotation": 90, "fontsize": 6, "color": GREY}
        axes.text(places[k] + 0.12, high, f"{mean[k]:.3g} ↑", **text)


DRAWN = {"boxes": draw_boxes, "means": draw_means}


def spread_figure(scores: pd.DataFrame, metric: str, kind: str) -> Figure:
    """Panels by depth and data set.

    Args:
        scores: of `scores_by_split`.
        metric: a key of `SCORES`.
        kind: a key of `DRAWN`.
    """
    depths, datasets = sorted(scores["depth"].unique()), list(scores["dataset"].unique())
    names = sorted(set(scores["label"]))
    width = max(2.4, 0.3 * len(names) + 0.7)
    figure, panels = sketch(
        width * len(datasets) + 0.4, 2.3 * len(depths) + 1.1, len(datasets), len(depths)
    )
    for i, depth in enumerate(depths):
        for j, dataset in enumerate(datasets):
            axes = panels[i * len(datasets) + j]
            column = scores[scores["dataset"] == dataset]
            own = column[column["depth"] == depth]
            # A name has one place in the whole column, whose last panel names it.
            named = [name for name in names if (column["label"] == name).any()]
            places = [k for k, name in enumerate(named) if (own["label"] == name).any()]
            if places:
                values = [own.loc[own["label"] == named[k], metric].to_numpy() for k in places]
                DRAWN[kind](axes, places, values)
            axes.set_xlim(-0.6, len(named) - 0.4)
            last = i == len(depths) - 1
            axes.set_xticks(
                range(len(named)), named if last else [""] * len(named), rotation=90, fontsize=7
            )
            axes.set_title(f"{dataset} · depth {depth}", fontsize="small", pad=10)
            axes.set_ylabel(SCORES[metric][0] if j == 0 else "", fontsize="small")
            axes.tick_params(axis="y", labelsize=7)
    return figure


def spread_section(scores: pd.DataFrame) -> Section | None:
    """Box plots and means, where runs on one data set differ in divergence or depth.

    Args:
        scores: of `scores_by_split`.
    """
    if scores.empty:
        return None
    choices = scores.groupby(["dataset", "method"])[["divergence", "depth"]].nunique()
    if not (choices > 1).any(axis=None):
        return None
    parts, figures = ["## Spread over splits", SPREAD_STATEMENT], {}
    for kind in DRAWN:
        for metric, (name, _) in SCORES.items():
            title = f"{kind}_{metric}"
            figures[title] = spread_figure(scores, metric, kind)
            parts.append(
                f"![{kind.capitalize()} of the {name} by name, depth and data set]({title}.png)"
            )
    return Section(parts, {}, figures)
