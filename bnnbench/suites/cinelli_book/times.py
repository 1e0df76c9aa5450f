"""Running times compared with the book's Table 4.3 and Fig. 4.15."""

from __future__ import annotations

from functools import partial

import pandas as pd
from matplotlib.figure import Figure

from bnnbench.report import blocks
from bnnbench.report.blocks import MISSING, format_number
from bnnbench.report.figures.plotting import PALETTE, PlotOptions, legend, new_figure
from bnnbench.suites.cinelli_book.comparison import (
    CONFIGURATIONS,
    BookRuns,
    book_seconds,
    geometric_mean,
)

MIN_RELATIVE_SPREAD = 1e-9  # a smaller spread of seconds over splits is rounding

TIMES_STATEMENT = (
    "Seconds per split for search, final fit and prediction: ours / the book's Table 4.3 "
    "(speed-up). Machines and libraries differ, so the book's claims are tested on ratios between "
    "configurations, plotted below as in its Fig. 4.15; other load on the machine distorts them. "
    "Splits trained in one stack, such as PBP's, share its time equally."
)


def times_blocks(suite: BookRuns) -> tuple[blocks.Block, ...]:
    """Return the blocks on running times."""
    times = running_times(suite)
    relative = relative_times(times)
    caption = (
        "Training time relative to PBP's (horizontal line), by data set, on a log scale. Bars: our "
        "times; diamonds: the book's"
    )
    draw = partial(times_figure, relative)
    return (
        blocks.Heading("Running time (Table 4.3)", 3),
        blocks.Paragraph(TIMES_STATEMENT),
        times_table(times),
        blocks.DataFile("running_times", times, "At full precision:"),
        *([blocks.FigureBlock("relative_time", caption, draw)] if len(relative) else []),
    )


def running_times(suite: BookRuns) -> pd.DataFrame:
    """Return seconds per split of search, final fit and prediction, ours and the book's.

    Returns:
        One row per run: `run`, `dataset`, `method`, `splits`, `seconds` and their `stderr` over
        splits (missing if the splits share one measured time), `book_seconds`, `speedup` (book /
        ours), `relative_to_pbp` (missing without a run of PBP) and `book_relative_to_pbp`.
    """
    runs, book = suite.runs, book_seconds()
    seconds, dataset = runs["total_seconds_mean"], runs["dataset"]
    stderr = runs["total_seconds_stderr"]
    theirs = [book.loc[key] for key in zip(dataset, runs["method"], strict=True)]
    columns = {
        "seconds": seconds,
        "stderr": stderr.where(stderr > MIN_RELATIVE_SPREAD * seconds),
        "book_seconds": theirs,
        "speedup": theirs / seconds,
        "relative_to_pbp": seconds / dataset.map(suite.table("total_seconds")["pbp"]),
        "book_relative_to_pbp": theirs / dataset.map(book["pbp"]),
    }
    return runs[["dataset", "method", "splits"]].assign(**columns).reset_index()


def relative_times(times: pd.DataFrame) -> pd.DataFrame:
    """Return the rows with a time relative to PBP's, except PBP itself."""
    return times[times["relative_to_pbp"].notna() & (times["method"] != "pbp")]


def times_figure(times: pd.DataFrame) -> Figure:
    """Draw the book's Fig. 4.15: time relative to PBP's on a log scale.

    Each data set has a group of bars, one per configuration, starting from PBP's time (1); diamonds
    are the book's ratios.
    """
    datasets = list(dict.fromkeys(times["dataset"]))
    names = [name for name in CONFIGURATIONS if name in set(times["method"])]
    width = 0.8 / len(names)
    figure, (axes,) = new_figure(max(6, 1.6 + 0.24 * len(names) * len(datasets)), 4.2)
    diamond: PlotOptions = {
        "color": "black",
        "markerfacecolor": "white",
        "markersize": 5,
        "zorder": 3,
    }
    for i, name in enumerate(names):
        rows = times[times["method"] == name]
        positions = rows["dataset"].map(datasets.index) + (i - (len(names) - 1) / 2) * width
        colour = PALETTE[list(CONFIGURATIONS).index(name)]
        height = rows["relative_to_pbp"] - 1
        axes.bar(positions, height, width, bottom=1, color=colour, label=CONFIGURATIONS[name])
        label = "" if i else "the book's"
        axes.plot(positions, rows["book_relative_to_pbp"], "D", label=label, **diamond)
    axes.axhline(1, color="black", linewidth=0.8)
    axes.set(yscale="log", ylabel="training time relative to PBP's")
    axes.set_xticks(range(len(datasets)), datasets)
    legend(figure, axes, columns=3)
    return figure


def digits(value: float) -> str:
    """Format with at least three significant digits and no exponent: 9.24, 24.5, 1813."""
    return format_number(value, ".3g" if abs(value) < 100 else ".0f")


def times_table(times: pd.DataFrame) -> blocks.TableBlock:
    """Return the book's Table 4.3 with cells ours / book (speed-up)."""
    names = [name for name in CONFIGURATIONS if (times["method"] == name).any()]
    cells = {
        (row["dataset"], row["method"]): (
            f"{digits(row['seconds'])} / {digits(row['book_seconds'])} ({digits(row['speedup'])}x)"
        )
        for row in times.to_dict("records")
    }
    rows = [
        (dataset, *(cells.get((dataset, name), MISSING) for name in names))
        for dataset in times["dataset"].unique()
    ]
    mean = times.groupby("method")["speedup"].apply(geometric_mean)
    rows.append(("geometric mean", *(f"({digits(mean[name])}x)" for name in names)))
    heads = (CONFIGURATIONS[name] for name in names)
    return blocks.TableBlock(
        (*blocks.label_columns("Data set"), *blocks.number_columns(*heads)), tuple(rows)
    )
