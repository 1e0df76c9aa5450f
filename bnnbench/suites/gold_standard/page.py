"""The report section on distances to the posterior, with figures of them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import partial

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter

from bnnbench.report import blocks
from bnnbench.report.figures.plotting import (
    BLUE,
    GREY,
    ORANGE,
    SMALL_POINTS,
    PlotOptions,
    legend,
    marker_styles,
    small_multiples,
    text_width,
)
from bnnbench.results.metric_table import Metric
from bnnbench.results.read.run_tables import Runs
from bnnbench.results.score.predictions import has_mixtures
from bnnbench.suites.gold_standard.comparison import (
    DISTANCES,
    LOG_LIKELIHOOD,
    MIN_DISTANCE_RATIO,
    PRECISIONS,
    REFERENCE,
    W1,
    Comparison,
    build_comparisons,
    check_agreement,
    check_chain_length,
    check_convergence,
    describe_nearest,
    ranks,
    sorted_means,
)
from bnnbench.suites.gold_standard.one_dimensional import one_dimensional_blocks

MAX_DISTANCE_RATIO = 100
"""Upper limit of a panel relative to the smallest distance. Larger values are printed."""

BEYOND: PlotOptions = {"ha": "right", "fontsize": "small", "color": GREY}
"""Style of values beyond a panel."""


def means_and_errors(comparison: Comparison, metric: Metric) -> pd.DataFrame:
    """`mean` and `stderr` over splits by run. The standard error of a single split is set to 0."""
    groups = comparison.methods.groupby("run", sort=False)[metric.key]
    return pd.DataFrame({"mean": groups.mean(), "stderr": groups.sem().fillna(0.0)})


def nearest_figure(comparisons: Sequence[Comparison]) -> Figure:
    """Draw a panel per data set, closest run first, with the distance between chain halves."""
    means = [sorted_means(comparison, W1) for comparison in comparisons]
    names = [
        c.names[str(run)] for c, own in zip(comparisons, means, strict=True) for run in own.index
    ]
    longest, most = max(text_width(name, SMALL_POINTS) for name in names), max(map(len, means))
    figure, panels = small_multiples(
        len(comparisons), 3, (2.7 + longest, 0.21 * most + 0.9), (0.3, 0.7)
    )
    for axes, comparison in zip(panels, comparisons, strict=True):
        _distances(axes, comparison)
    figure.supxlabel("W1 to the posterior, standard deviations of the target", fontsize="medium")
    legend(figure, panels, columns=3, title="mean ± standard error over splits")
    return figure


def _distances(axes: Axes, comparison: Comparison) -> None:
    table = means_and_errors(comparison, W1).loc[sorted_means(comparison, W1).index]
    halves = float(comparison.chain_halves[W1.key].mean())
    upper_limit = MAX_DISTANCE_RATIO * table["mean"].iloc[0]
    positions = np.arange(len(table))
    inside = (table["mean"] <= upper_limit).to_numpy()
    error: PlotOptions = {"fmt": "o", "color": BLUE, "markersize": 4, "capsize": 2}
    # Keep error bars positive on the logarithmic axis.
    below = np.minimum(table["stderr"], 0.9 * table["mean"])
    bars = np.stack([below, table["stderr"]])[:, inside]
    axes.errorbar(
        table["mean"][inside], positions[inside], xerr=bars, label="approximation", **error
    )
    for position, mean in zip(positions[~inside], table["mean"][~inside], strict=True):
        axes.text(upper_limit, position, f"{mean:.2g} →", va="center", **BEYOND)
    axes.axvline(halves, color=ORANGE, label="between halves of the chains")
    axes.axvline(
        MIN_DISTANCE_RATIO * halves,
        color=ORANGE,
        linestyle=":",
        label=f"{MIN_DISTANCE_RATIO} times that",
    )
    _logarithmic(axes)
    axes.set_yticks(
        positions, [comparison.names[str(run)] for run in table.index], fontsize=SMALL_POINTS
    )
    axes.set_ylim(len(table) - 0.4, -0.6)
    axes.set_title(comparison.dataset, fontsize="medium", parse_math=False)
    axes.grid(axis="x", color="#DDDDDD", linewidth=0.6)


def scores_figure(comparisons: Sequence[Comparison]) -> Figure:
    """Draw log-likelihood against W1 with a panel per data set."""
    figure, panels = small_multiples(len(comparisons), 3, (3.6, 3.0), (0.4, 1.2), 5.5)
    names = {
        comparison.names[run] for comparison in comparisons for run in comparison.methods["run"]
    }
    styles = marker_styles(panels[0], sorted(names))
    for axes, comparison in zip(panels, comparisons, strict=True):
        _scores(axes, comparison, styles)
    figure.supxlabel("W1 to the posterior, lower is better", fontsize="medium")
    figure.supylabel(f"{LOG_LIKELIHOOD.axis}, higher is better", fontsize="medium")
    legend(figure, panels, columns=5, title="mean ± standard error over splits")
    return figure


def _scores(axes: Axes, comparison: Comparison, styles: Mapping[str, PlotOptions]) -> None:
    x, y = (means_and_errors(comparison, metric) for metric in (W1, LOG_LIKELIHOOD))
    finite = x.index[np.isfinite(x["mean"]) & np.isfinite(y["mean"])]
    reference_score = float(comparison.chain_halves[LOG_LIKELIHOOD.key].mean())
    axes.axhline(reference_score, color=GREY, linewidth=1, label="reference chains")
    # Set the scale by the bulk of the runs, because some scores may be extremely low.
    bulk = np.append(y.loc[finite, "mean"].to_numpy(), reference_score)
    low, high = np.quantile(bulk, 0.25), bulk.max()
    lower_limit = max(bulk.min(), low - 3 * (high - low))
    margin = 0.12 * (high - lower_limit) or 0.1
    axes.set_ylim(lower_limit - margin, high + margin)
    for run in finite:
        style, (distance, spread) = (
            styles[comparison.names[str(run)]],
            x.loc[run, ["mean", "stderr"]],
        )
        score, error = y.loc[run, ["mean", "stderr"]]
        if score < lower_limit:
            axes.plot(distance, lower_limit, linestyle="none", **style)
            label = f"{score:.3g} ↓"
            axes.text(distance, lower_limit - margin / 2, label, **BEYOND)
            continue
        bars = [[min(spread, 0.9 * distance)], [spread]]
        axes.errorbar(distance, score, error, bars, elinewidth=0.8, markersize=5, **style)
    _logarithmic(axes)
    axes.set_title(comparison.dataset, fontsize="medium", parse_math=False)


def _logarithmic(axes: Axes) -> None:
    """Set a logarithmic x axis with plain tick labels, one to three per decade."""
    axes.set_xscale("log")
    low, high = axes.get_xlim()
    decades = math.log10(high / low)
    subs = (1.0, 2.0, 5.0) if decades < 1 else (1.0, 3.0) if decades < 2.5 else (1.0,)
    axes.xaxis.set_major_locator(LogLocator(subs=subs))
    axes.xaxis.set_major_formatter("{x:g}")
    axes.xaxis.set_minor_formatter(NullFormatter())


STATEMENT = (
    "All methods use the same network, prior and noise, and their predictions are compared with "
    "those of long HMC chains on the same splits. A distance is the error of a method's "
    "approximation and of its training, whereas test scores also depend on the quality of the "
    "model. R-hat shows that the chains agree: chains that start at trained networks can agree "
    "and miss other parts of the posterior. For each test point we compare two "
    "predictive distributions, both mixtures of Gaussians. W1 and W2: Wasserstein distances "
    "between quantile functions (accurate to 1e-4 of a distribution's width), in standard "
    "deviations of the training targets. W1, 1,000 draws: the score of the NeurIPS 2021 "
    "competition, where it is called W2; it is never 0. W1, function: W1 between distributions of "
    "the network's output, without noise, which dilutes W1. Energy distance: between joint "
    "distributions of the outputs at all points of a split, with the root mean square as norm; "
    "only for methods that predict with networks. Epistemic ratio: epistemic standard "
    "deviation of the method divided by that of the chains, geometric mean over points. "
    "Correlation: Spearman's correlation of the two over points. Mass in 90 %: probability that "
    "the method assigns to the chains' central 90 % interval; above 0.9 the method is too narrow, "
    "below it too wide or shifted. Means over test points, then over splits, ± standard error. We "
    "report no Kullback-Leibler divergence, because it would require smoothing the samples."
)

COLUMNS = blocks.columns(
    {"Method": "{name}"},
    {
        "W1": blocks.with_stderr("w1"),
        "W1, 1,000 draws": blocks.with_stderr("w1_sampled"),
        "W2": blocks.with_stderr("w2"),
        "W1, function": blocks.with_stderr("w1_function"),
        "Energy distance": blocks.with_stderr("energy_distance"),
        "Epistemic ratio": blocks.with_stderr("epistemic_ratio"),
        "Correlation": blocks.with_stderr("epistemic_correlation"),
        "Mass in 90 %": blocks.with_stderr("mass_inside"),
        "Log-likelihood": blocks.with_stderr("log_likelihood"),
    },
)

RANKING_METRICS = (*DISTANCES, LOG_LIKELIHOOD)

NO_REFERENCE = (
    f"There is no reference for the saved predictive distributions: none is from "
    f"method={REFERENCE}. Run experiment=gold_standard with this method once per data set."
)


def section(runs: Runs, style: blocks.Style) -> Iterator[blocks.Block]:
    """Distances to the posterior, if runs saved their predictive distributions."""
    if not any(has_mixtures(folder) for folder in runs.folders.values()):
        return
    comparisons = runs.cached(build_comparisons)
    yield blocks.Heading("Distance to the posterior")
    if not comparisons:
        yield blocks.Paragraph(NO_REFERENCE)
        return
    yield blocks.Paragraph(STATEMENT)
    for comparison in comparisons:
        yield from _comparison_blocks(runs, comparison)
    nonempty = [comparison for comparison in comparisons if len(comparison.methods)]
    if nonempty:
        yield from _rankings(nonempty)
    yield from one_dimensional_blocks(runs, comparisons)
    full = pd.concat(
        [comparison.table.assign(dataset=comparison.dataset) for comparison in comparisons]
    )
    names = {run: name for comparison in comparisons for run, name in comparison.names.items()}
    full.insert(1, "method", full["run"].map(names))
    full["epochs"] = full["run"].map(runs.scored["final_epochs"])
    yield blocks.DataFile("distances", full, "Distances on each split:")


def _comparison_blocks(runs: Runs, comparison: Comparison) -> Iterator[blocks.Block]:
    """A heading, statements on the reference and the ranking, and a table of distances."""
    splits = runs.splits[runs.splits["run"] == comparison.reference]
    converged, convergence = check_convergence(splits)
    long_enough, chain_length = check_chain_length(comparison)
    status = "gold standard" if converged and long_enough else "reference, not a gold standard"
    notes = [describe_model(splits), convergence, chain_length]
    if len(comparison.methods):
        notes += [
            describe_nearest(comparison),
            check_agreement(comparison)[1],
            describe_other_settings(runs, comparison),
        ]
    if comparison.excluded:
        notes.append(f"Excluded for a different model: {'; '.join(comparison.excluded)}.")
    title = f"{comparison.dataset}: {comparison.names[comparison.reference]} ({status})"
    yield blocks.Heading(title, 3)
    yield blocks.ItemList(tuple(filter(None, notes)))
    yield distances_table(comparison)


def describe_model(splits: pd.DataFrame) -> str:
    """Describe the precisions of the model, in standardised units."""
    parts = []
    for name in PRECISIONS:
        values = splits[f"hp.{name}"].dropna() if f"hp.{name}" in splits else pd.Series(dtype=float)
        if len(values):
            low, high = values.min(), values.max()
            value = f"{low:.4g}" if np.isclose(low, high, rtol=1e-4) else f"{low:.4g} to {high:.4g}"
            parts.append(f"{name.replace('_', ' ')} {value}")
    return f"Model: {', '.join(parts) or 'precisions sampled by the chains'}."


def describe_other_settings(runs: Runs, comparison: Comparison) -> str:
    """Describe settings of the compared runs outside the model: epochs and dropout."""
    table = runs.scored.loc[[comparison.reference, *comparison.methods["run"].unique()]]
    epochs = {
        f"{epochs} ({', '.join(comparison.names[str(run)] for run in group.index)})"
        for epochs, group in table.groupby("final_epochs")
    }
    model = [f"hp.{name}" for name in PRECISIONS]
    others = [str(name) for name in runs.splits if str(name).startswith("hp.")]
    values = [
        f"{name.removeprefix('hp.').replace('_', ' ')} {value:.4g} ({comparison.names[str(run)]})"
        for name in others
        if name not in model
        for run, value in runs.splits.groupby("run")[name].median().reindex(table.index).items()
        if np.isfinite(value)
    ]
    return f"Other settings: epochs {', '.join([*sorted(epochs), *values])}."


def distances_table(comparison: Comparison) -> blocks.TableBlock:
    """Distances between the halves of the reference, then of the runs, the closest first."""
    groups = comparison.table.drop(columns="split").groupby("run", sort=False)
    table = blocks.mean_and_stderr(groups)
    reference = f"between halves of {comparison.names[comparison.reference]}"
    names = {comparison.reference: reference}
    names |= {run: comparison.names[run] for run in sorted_means(comparison, W1).index}
    return blocks.fill(COLUMNS, table.loc[list(names)].assign(name=list(names.values())))


def _rankings(comparisons: Sequence[Comparison]) -> Iterator[blocks.Block]:
    """Rankings by each distance and by log-likelihood, and the figures."""
    yield blocks.Heading("Rankings", 3)
    yield blocks.Paragraph(rankings_statement(comparisons))
    numbers = {metric.title: f"{{{metric.key}:g}}" for metric in RANKING_METRICS}
    heads = blocks.columns({"Method": "{name}"}, numbers)
    for comparison in comparisons:
        found = {metric.key: ranks(comparison, metric) for metric in RANKING_METRICS}
        table = pd.DataFrame(found).sort_values(W1.key, kind="stable")
        rows = table.assign(name=table.index.map(comparison.names))
        yield blocks.fill(heads, rows, title=comparison.dataset)
    distances = (
        "W1 to the posterior: mean ± standard error over splits. Solid line: distance between "
        f"halves of the chains; dotted line: {MIN_DISTANCE_RATIO} times that"
    )
    scores = (
        "Log-likelihood against W1 to the posterior: mean ± standard error over splits. Grey line: "
        "reference chains"
    )
    yield blocks.FigureBlock("gold_nearest", distances, partial(nearest_figure, comparisons))
    yield blocks.FigureBlock("gold_scores", scores, partial(scores_figure, comparisons))


def rankings_statement(comparisons: Sequence[Comparison]) -> str:
    """Explain the ranks, and on how many data sets the rankings disagree."""
    disagree = [
        comparison.dataset for comparison in comparisons if not check_agreement(comparison)[0]
    ]
    text = (
        "Ranks by the mean over splits; 1 is best. Epistemic ratios are ranked by the absolute "
        "value of their logarithm, and the mass by its absolute difference from 0.9 at each point."
    )
    if disagree:
        return (
            f"{text} Rankings by log-likelihood and by W1 disagree on {len(disagree)} of "
            f"{len(comparisons)} data sets ({', '.join(disagree)}), where a better score does not "
            "imply a better approximation."
        )
    return f"{text} Rankings by log-likelihood and by W1 agree on all data sets."


SECTIONS = (section,)
