"""Running times beside the book's: its Table 4.3 and Fig. 4.15."""

from __future__ import annotations

from functools import partial

import pandas as pd
from matplotlib.figure import Figure

from bnnbench.report.figures.canvas import PALETTE, Look, legend, sketch
from bnnbench.report.numbers import MISSING, number
from bnnbench.report.section import Block, Data, Drawing, Heading, Paragraph, Table, numbers, words
from bnnbench.suites.cinelli_book.comparison import (
    CONFIGURATIONS,
    BookRuns,
    book_seconds,
    geometric_mean,
)

TIMED_APART = 1e-9  # a smaller relative spread of seconds over splits is rounding

TIMES_STATEMENT = (
    "Seconds per split for search, final fit and prediction: ours / the book's Table 4.3 (how many "
    "times as fast). Machines and libraries differ, so what bears on the book's claims are ratios "
    "between configurations, below as in its Fig. 4.15; they are as good as the machine was idle "
    "otherwise. Splits trained in one stack, as PBP's are, share its time equally."
)


def times_blocks(suite: BookRuns) -> tuple[Block, ...]:
    """What the page says of running times."""
    times = running_times(suite)
    drawn = relative_times(times)
    caption, draw = "Training time relative to PBP's, by data set", partial(times_figure, drawn)
    return (
        Heading("Running time (Table 4.3)", 3),
        Paragraph(TIMES_STATEMENT),
        times_table(times),
        Data("running_times", times, "At full precision:"),
        *([Drawing("relative_time", caption, draw)] if len(drawn) else []),
    )


def running_times(suite: BookRuns) -> pd.DataFrame:
    """Seconds per split of search, final fit and prediction, ours beside the book's Table 4.3.

    Returns:
        One row per run: `run`, `dataset`, `method`, `splits`, `seconds` and their `stderr` over
        splits (missing where the splits share one measured time), `book_seconds`, `speedup` (book
        / ours), `relative_to_pbp` (missing where PBP did not run) and `book_relative_to_pbp`.
    """
    runs, book = suite.runs, book_seconds()
    seconds, dataset = runs["total_seconds_mean"], runs["dataset"]
    stderr = runs["total_seconds_stderr"]
    theirs = [book.loc[key] for key in zip(dataset, runs["method"], strict=True)]
    columns = {
        "seconds": seconds,
        "stderr": stderr.where(stderr > TIMED_APART * seconds),
        "book_seconds": theirs,
        "speedup": theirs / seconds,
        "relative_to_pbp": seconds / dataset.map(suite.table("total_seconds")["pbp"]),
        "book_relative_to_pbp": theirs / dataset.map(book["pbp"]),
    }
    return runs[["dataset", "method", "splits"]].assign(**columns).reset_index()


def relative_times(times: pd.DataFrame) -> pd.DataFrame:
    """The rows that stand beside PBP's, which is the measure and so is left out."""
    return times[times["relative_to_pbp"].notna() & (times["method"] != "pbp")]


def times_figure(times: pd.DataFrame) -> Figure:
    """The book's Fig. 4.15: time relative to PBP's on a log scale.

    A group of bars per data set, one bar per configuration, from PBP's own time (1) up or down;
    the book's ratios as diamonds.

    Args:
        times: of `relative_times`, some rows.
    """
    datasets = list(dict.fromkeys(times["dataset"]))
    names = [name for name in CONFIGURATIONS if name in set(times["method"])]
    width = 0.8 / len(names)
    figure, (axes,) = sketch(max(6, 1.6 + 0.24 * len(names) * len(datasets)), 4.2)
    diamond: Look = {"color": "black", "markerfacecolor": "white", "markersize": 5, "zorder": 3}
    for i, name in enumerate(names):
        own = times[times["method"] == name]
        places = own["dataset"].map(datasets.index) + (i - (len(names) - 1) / 2) * width
        colour = PALETTE[list(CONFIGURATIONS).index(name)]
        height = own["relative_to_pbp"] - 1
        axes.bar(places, height, width, bottom=1, color=colour, label=CONFIGURATIONS[name])
        label = "" if i else "the book's"
        axes.plot(places, own["book_relative_to_pbp"], "D", label=label, **diamond)
    axes.axhline(1, color="black", linewidth=0.8)
    axes.set(yscale="log", ylabel="training time relative to PBP's")
    axes.set_xticks(range(len(datasets)), datasets)
    legend(figure, axes, columns=3)
    return figure


def digits(value: float) -> str:
    """Three significant digits, never an exponent: 9.24, 24.5, 1813."""
    return number(value, ".3g" if abs(value) < 100 else ".0f")


def times_table(times: pd.DataFrame) -> Table:
    """The book's Table 4.3 in its own shape, every cell ours / the book's (speed-up).

    Args:
        times: of `running_times`.
    """
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
    return Table((*words("Data set"), *numbers(*heads)), tuple(rows))
