"""The page of a run with made rows, and the section of a report over several."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import pandas as pd
from matplotlib.figure import Figure

from bnnbench.experiment.store.record import read_record
from bnnbench.experiment.store.run_folder import RunFolder
from bnnbench.experiment.store.stored_files import read_table
from bnnbench.report import blocks
from bnnbench.report.figures.plotting import GREY, legend, line_style, small_multiples
from bnnbench.report.run_page import RunPage
from bnnbench.results.claims.saved_run import read_tables
from bnnbench.results.read.labels import short_name
from bnnbench.results.read.run_tables import Runs
from bnnbench.suites.shifts import (
    DENSITY,
    DISTANCE,
    EPISTEMIC,
    KIND,
    MAHALANOBIS,
    MEASURES,
    OUTLIERS,
    SHIFTED,
)

STATEMENT = (
    "Rows are made from the test rows of each split. permuted: every input column is permuted; "
    "shift of k: all inputs move k training standard deviations in one random direction; targets: "
    "the target is that of a random training row. AUROC: the probability that a made row has a "
    "larger score than a test row; 0.5 is the level of chance. Inputs are scored "
    "by the epistemic variance, targets by the negative log predictive density. The distance to "
    "the nearest training row and the Mahalanobis distance to their mean, in standardised inputs, "
    "are baselines without a model. Mean ± standard error over splits."
)

BASELINES = {DISTANCE: "distance to training rows", MAHALANOBIS: "Mahalanobis distance"}

CAPTION = (
    "AUROC of the epistemic variance for inputs that are shifted by k training standard "
    "deviations, mean over splits; grey: baselines without a model; dotted line: 0.5, the level of "
    "chance"
)


def read_outliers(folder: RunFolder) -> pd.DataFrame:
    """Read `outliers.csv`, with a `variant` for print.

    Raises:
        UserError: if the file is missing or damaged.
    """
    numbers = ("split", "strength", *MEASURES)
    table = read_table(folder.table(OUTLIERS), numbers, ("kind", "score"))
    shifts = table["strength"].map("shift of {:g}".format)
    return table.assign(variant=table["kind"].where(table["kind"] != SHIFTED, shifts))


def run_table(folder: RunFolder) -> blocks.TableBlock:
    """Every measure of every score."""
    groups = read_outliers(folder).groupby(["variant", "score"], sort=False)[list(MEASURES)]
    rows = blocks.mean_and_stderr(groups).reset_index()
    titles = "AUROC", "average precision", "FPR at 95 % TPR"
    columns = blocks.columns(
        {"Made rows": "{variant}", "Score": "{score}"},
        dict(zip(titles, map(blocks.with_stderr, MEASURES), strict=True)),
    )
    title = short_name(read_record(folder).metadata)
    return blocks.fill(columns, rows, title=title, caption="mean ± standard error over splits")


PAGES = (RunPage(KIND, run_table),)


def section(runs: Runs, style: blocks.Style) -> Iterator[blocks.Block]:
    """Yield the section on made rows, if there are runs with them."""
    table = read_tables(runs, KIND, read_outliers)
    if table.empty:
        return
    yield blocks.Heading("Outliers and shifts")
    yield blocks.Paragraph(STATEMENT)
    areas = {str(name): mean_areas(own) for name, own in table.groupby("dataset", sort=False)}
    for name, rows in areas.items():
        variants = {v: blocks.with_stderr(v) for v in rows if not v.endswith("_stderr")}
        yield blocks.Heading(name, 3)
        yield blocks.fill(blocks.columns({"Method": "{label}"}, variants), rows.reset_index())
    shifted = table[table["kind"] == SHIFTED]
    if shifted["strength"].nunique() > 1:
        yield blocks.FigureBlock("shifts", CAPTION, partial(shifts_figure, shifted))
    yield blocks.DataFile(OUTLIERS, table, "All measures of every split:")


def mean_areas(table: pd.DataFrame) -> pd.DataFrame:
    """Return AUROCs of a data set by method, then of the baselines, with standard errors.

    Args:
        table: rows of `read_outliers`, with a `label`, of one data set.

    Returns:
        Index `label`; columns `<variant>` and `<variant>_stderr`.
    """
    own = table[table["score"].isin([EPISTEMIC, DENSITY])]
    groups = with_baselines(own, table).groupby(["label", "variant"], sort=False)["auroc"]
    means, errors = groups.mean().unstack(sort=False), groups.sem().unstack(sort=False)
    return means.join(errors.add_suffix("_stderr"))


def with_baselines(own: pd.DataFrame, table: pd.DataFrame) -> pd.DataFrame:
    """Append the rows of the baselines, which are equal in all runs, labelled by their names."""
    baselines = table[table["score"].isin(BASELINES)]
    once = baselines.drop_duplicates(["split", "variant", "score"])
    return pd.concat([own, once.assign(label=once["score"].map(BASELINES))])


def shifts_figure(table: pd.DataFrame) -> Figure:
    """Draw AUROCs against the strength of the shift: a panel per data set, a line per method."""
    datasets = dict(iter(table.groupby("dataset", sort=False)))
    figure, panels = small_multiples(len(datasets), 3, (3.2, 2.4), (0.3, 0.7), 6.5)
    methods = list(table["label"].unique())
    for axes, (name, own) in zip(panels, datasets.items(), strict=True):
        rows = with_baselines(own[own["score"] == EPISTEMIC], own)
        for label, line in rows.groupby("label", sort=False):
            means = line.groupby("strength")["auroc"].mean()
            options = (
                line_style(methods.index(label), ("-", "--", "-."))
                if label in methods
                else {"color": GREY, "linestyle": "--" if label == BASELINES[DISTANCE] else ":"}
            )
            axes.plot(means.index, means, label=label, marker="o", markersize=3, **options)
        axes.axhline(0.5, color=GREY, linewidth=0.7, linestyle=":", zorder=0)
        axes.set_title(name, fontsize="small", parse_math=False)
        axes.set(xlabel="shift k", ylabel="AUROC")
    legend(figure, panels)
    return figure


SECTIONS = (section,)
