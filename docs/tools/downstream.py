"""Tables and figures of the page on downstream tasks, from the stored tables of its experiments."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, MaxNLocator
from stored_results import RESULTS, table

from bnnbench.report.blocks import plus_minus
from bnnbench.report.figures.bands import bands_figure
from bnnbench.report.figures.plotting import BLUE, ORANGE, legend, small_multiples
from bnnbench.report.figures.points import Form, points_figure
from bnnbench.results.metric_table import BY_KEY
from bnnbench.suites.active_learning.page import gains
from bnnbench.suites.regions.page import DISTANCE, auroc_panels

METHODS = (
    *("bbb", "vadam", "mc_dropout", "deep_ensemble", "laplace", "pbp", "map", "gp", "linear"),
    DISTANCE,
)
"""The rows of the tables."""

DATASETS = ("boston", "concrete", "yacht")

SHIFT = "permuted"
"""The shift in the tables."""

LOSS_TICKS, MIN_TICKS = (-300, -100, -30, -10, -5, -3, -1, 1), 3
"""Ticks of log-likelihoods, nats. Panels with fewer than the minimum get others."""

NO_MODEL, NOT_RUN = "no model", "not run"
"""Why a cell has no number."""


def rows_of(name: str, *experiments: str) -> pd.DataFrame:
    """Return a table of several experiments, as far as they ran."""
    folders = [f"downstream/{experiment}" for experiment in experiments]
    stored = [folder for folder in folders if any((RESULTS / folder).glob(f"{name}.csv*"))]
    return pd.concat([table(folder, name) for folder in stored], ignore_index=True)


def regions() -> pd.DataFrame:
    """Return every tested region; of sets with true gaps or tails, only these."""
    rows = rows_of("regions", "region_posterior", "region_uci")
    any_true = rows.groupby(["source", "kind"])["is_true"].transform("max")
    return rows[rows["is_true"] == any_true]


def overview() -> str:
    """Return a table for each task: a row per method, a column per data set."""
    parts = {
        "Gaps: AUROC": (region_areas(), {}),
        "Gaps: log-likelihood, median over features": (region_losses(), {DISTANCE: NO_MODEL}),
        f"Shifts: AUROC of {SHIFT} inputs": (shift_areas(), {}),
        "Active learning: gain over random rows [%]": (label_gains("random"), {DISTANCE: NO_MODEL}),
        "Active learning: gain over rows by distance [%]": (
            label_gains("distance"), {DISTANCE: NO_MODEL}
        ),
        "Bandit: regret [% of uniform choices]": (
            bandit_regrets(), {DISTANCE: NO_MODEL}
        ),
    }  # fmt: skip
    return "\n\n".join(
        f"**{title}**\n\n{task_table(columns, reasons)}"
        for title, (columns, reasons) in parts.items()
    )


def task_table(columns: Mapping[str, Mapping[str, str]], reasons: Mapping[str, str]) -> str:
    """Return a table of one task, in which every cell has a number or a reason."""
    rows = [
        {"method": f"`{method}`" if method != DISTANCE else method}
        | {
            title: cells.get(method, reasons.get(method, NOT_RUN))
            for title, cells in columns.items()
        }
        for method in METHODS
    ]
    return pd.DataFrame(rows).to_markdown(index=False, disable_numparse=True)


def gap_rows() -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield the gaps of each set."""
    rows = regions()
    for name in DATASETS:
        yield name, rows[(rows["kind"] == "gap") & (rows["source"] == name)]


def region_areas() -> dict[str, dict[str, str]]:
    """Return AUROCs of the epistemic variance in gaps, by set."""
    areas = {}
    for name, gaps in gap_rows():
        first = gaps[gaps["method"] == "bbb"].assign(method=DISTANCE)
        both = pd.concat([gaps, first.assign(**{"auroc.epistemic": first["auroc.distance"]})])
        areas[name] = with_errors(both.groupby("method")["auroc.epistemic"])
    return areas


def region_losses() -> dict[str, dict[str, str]]:
    """Return medians of the log-likelihood in gaps, by set."""
    return {
        name: gaps.groupby("method")["region.log_likelihood"]
        .median()
        .map("{:.2f}".format)
        .to_dict()
        for name, gaps in gap_rows()
    }


def with_errors(groups: pd.api.typing.SeriesGroupBy, factor: float = 1) -> dict[str, str]:
    """Return means with standard errors by the name of the group."""
    return {
        str(name): plus_minus(factor * own.mean(), abs(factor) * own.sem()) for name, own in groups
    }


def shift_areas() -> dict[str, dict[str, str]]:
    """Return AUROCs of shifted inputs, by set."""
    rows = rows_of("outliers", "shifted_posterior", "shifted_uci")
    shifted = rows[rows["variant"] == SHIFT]
    distance = shifted[(shifted["score"] == "distance") & (shifted["label"] == "map")]
    own = shifted[shifted["score"] == "epistemic"]
    named = pd.concat([own, distance.assign(label=DISTANCE)])
    return {
        name: with_errors(named[named["dataset"] == name].groupby("label")["auroc"])
        for name in DATASETS
    }


def label_gains(other: str) -> dict[str, dict[str, str]]:
    """Return how much lower the RMSE is than with another rule, in percent of it, by set."""
    rows = rows_of("labels", "active_learning")
    return {
        name: with_errors(gains(rows[rows["dataset"] == name], other).groupby("method"), 100)
        for name in DATASETS
    }


def bandit_regrets() -> dict[str, dict[str, str]]:
    """Return the regret of Thompson sampling and of greedy choices."""
    rows = rows_of("regret", "bandit")
    rows = rows[rows["delta"] == rows["delta"].max()]
    arms = {"Thompson sampling": "thompson", "greedy": "greedy"}
    return {
        title: with_errors(rows[rows["arm"].str.startswith(arm)].groupby("method")["share"])
        for title, arm in arms.items()
    }


def repetitions(experiment: str, name: str) -> int:
    """Return the number of repetitions of an experiment."""
    return rows_of(name, experiment)["repetition"].nunique()


def areas_figure() -> Figure:
    """Mean areas under ROC curves with the baseline."""
    return points_figure(auroc_panels(regions()), "AUROC", Form(columns=2))


def losses_figure() -> Figure:
    """Log-likelihoods of every feature, in the region and outside of it, by method."""
    parts = dict(iter(regions().groupby(["source", "kind"], sort=False)))
    figure, panels = small_multiples(len(parts), 2, (4.0, 2.8), (0.4, 0.6), 6.5)
    for axes, ((source, kind), own) in zip(panels, parts.items(), strict=True):
        medians = own.groupby("label")["region.log_likelihood"].median().sort_values()
        places = {name: place for place, name in enumerate(medians.index)}
        lines = own["label"].map(places)
        for part, colour, shift in (("inside", BLUE, 0.15), ("region", ORANGE, -0.15)):
            values = own[f"{part}.log_likelihood"]
            label = "in the region" if part == "region" else "outside"
            axes.plot(values, lines + shift, "o", color=colour, alpha=0.6, ms=3, label=label)
            middle = own.groupby("label")[f"{part}.log_likelihood"].median()
            axes.plot(middle, middle.index.map(places) + shift, "|", color=colour, ms=9, mew=2)
        axes.set_xscale("symlog", linthresh=5)
        low, high = axes.get_xlim()
        ticks = [tick for tick in LOSS_TICKS if low <= tick <= high]
        few = len(ticks) < MIN_TICKS
        locator = MaxNLocator(4, min_n_ticks=MIN_TICKS) if few else FixedLocator(ticks)
        axes.xaxis.set_major_locator(locator)
        axes.xaxis.set_major_formatter("{x:g}")
        axes.minorticks_off()
        axes.set_yticks(list(places.values()), list(places), fontsize="small")
        axes.set_title(f"{source}, {kind}", fontsize="small")
        axes.set_xlabel(BY_KEY["log_likelihood"].axis)
    legend(figure, panels)
    return figure


def labels_figure() -> Figure:
    """RMSE on yacht against the number of labels by rule, a panel per method."""
    rows = rows_of("label_curves", "active_learning")
    rows = rows[rows["dataset"] == "yacht"]
    panels = {str(name): own for name, own in rows.groupby("label")}
    return bands_figure(panels, "labels", BY_KEY["rmse"].axis, "random")


FIGURES = {
    "downstream_areas": areas_figure,
    "downstream_losses": losses_figure,
    "downstream_labels": labels_figure,
}
"""Figures of the page by name."""
