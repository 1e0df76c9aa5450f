"""Report section on the book's comparison: Tables 4.3 and 4.4, log-likelihoods and claims."""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator
from functools import partial
from importlib.resources import files

import pandas as pd
from matplotlib.figure import Figure

from bnnbench.report import blocks
from bnnbench.report.blocks import MISSING, format_number
from bnnbench.report.claims_table import claims_blocks
from bnnbench.report.figures.plotting import PALETTE, PlotOptions, legend, new_figure
from bnnbench.results.compare.outcomes import OUTCOMES, all_pairs, tally
from bnnbench.results.compare.published_scores import with_published
from bnnbench.results.read.run_tables import Runs
from bnnbench.suites.cinelli_book.comparison import (
    CONFIGURATIONS,
    SPLITS,
    BookRuns,
    book_runs,
    book_seconds,
    claims,
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


PRACTICE_STATEMENT = (
    'The book\'s Table 4.4 rates methods "without any number". Our ratings follow from numbers by '
    "these rules; the book's ratings are shown for comparison."
)

RULES = (
    "Effort: number of Python statements of the method's own code in this package. There is no "
    "rating because most of the code (stacked training, scaling, search) is shared.",
    "Quality: net wins, i.e. comparisons (significantly better - worse) / all, over data sets, "
    "opponents, RMSE and log-likelihood. Good from +1/3, Poor up to -1/3, otherwise OK.",
    "Timing: time as a multiple of the median configuration's, geometric mean over the data sets "
    "that all listed configurations have finished. Very fast up to 1/10, Fast up to 2/3, OK up to "
    "3/2, otherwise Slow. Applied to the book's own Table 4.3, this rule gives the book's ratings "
    "(with BBBx2 for BBB).",
)

COLUMNS = (
    *blocks.label_columns("Method"),
    *blocks.number_columns("Statements", "Effort, book", "Net wins", "Quality", "Quality, book"),
    *blocks.number_columns("Time / median", "Timing", "Timing, book"),
)

RATINGS = {
    "bbb": ("Medium", "Poor", "Slow"),
    "vadam": ("None", "OK", "OK"),
    "pbp": ("Very hard", "Good", "Very fast"),
    "mc_dropout": ("Very easy", "Good", "OK"),
}
"""The book's Table 4.4: effort, quality and timing by method family."""

OWN_FILES = {"pbp": ("pbp.py", "shared/moment_propagation.py")}
"""Files of `methods` that belong to one method, if not just the file of its name."""

TIMINGS = {1 / 10: "Very fast", 2 / 3: "Fast", 3 / 2: "OK", math.inf: "Slow"}
"""Rating by the largest multiple of the median configuration's time."""


def timings(seconds: pd.DataFrame) -> pd.Series:
    """Return each configuration's time as a multiple of the median configuration's.

    Data sets with gaps are left out.
    """
    mean = geometric_mean(seconds.dropna())
    return mean / mean.median()


def timing_rating(multiple: float) -> str:
    """Return the rating of `TIMINGS`, or a dash if the number is missing."""
    return next((rating for limit, rating in TIMINGS.items() if multiple <= limit), MISSING)


def net_wins(suite: BookRuns) -> pd.Series:
    """Return comparisons (significantly better - worse) / all by configuration, from -1 to 1."""
    if suite.pairs.empty:
        return pd.Series(dtype=float)
    counts = tally(suite.pairs).groupby("method")[[*OUTCOMES]].sum()
    return (counts["better"] - counts["worse"]) / counts.sum(axis=1)


def quality_rating(wins: float) -> str:
    """Return `Good` from 1/3 net wins, `Poor` up to -1/3, otherwise `OK`."""
    if math.isnan(wins):
        return MISSING
    return "Good" if wins >= 1 / 3 else "Poor" if wins <= -1 / 3 else "OK"


def count_statements(family: str) -> int:
    """Return the number of Python statements, without docstrings, in the family's own files."""
    folder = files("bnnbench.methods")
    names = OWN_FILES.get(family, (f"{family}.py",))
    sources = [(folder / name).read_text("utf-8") for name in names]
    nodes = [node for source in sources for node in ast.walk(ast.parse(source))]
    constants = [n for n in nodes if isinstance(n, ast.Expr) and isinstance(n.value, ast.Constant)]
    return sum(isinstance(node, ast.stmt) for node in nodes) - len(constants)


def practice_table(suite: BookRuns) -> blocks.TableBlock:
    """Return the book's Table 4.4 from our numbers, a row per configuration."""
    seconds = suite.table("total_seconds").dropna(axis=1, how="all")
    time, net = timings(seconds), net_wins(suite)
    families = suite.runs.set_index("method")["family"].to_dict()
    rows = []
    for name in seconds:
        effort, quality, timing = RATINGS[families[name]]
        wins, multiple = net.get(name, math.nan), time[name]
        rows.append((
            CONFIGURATIONS[str(name)], str(count_statements(families[name])), effort,
            format_number(wins, "+.2f"), quality_rating(wins), quality,
            format_number(multiple, ".3g"), timing_rating(multiple), timing,
        ))  # fmt: skip
    return blocks.TableBlock(COLUMNS, tuple(rows))


LIKELIHOODS_STATEMENT = (
    "Three quantities are called log-likelihood; all are averages over test points, in nats."
)

LIKELIHOODS = (
    "Per point: the log of the predictive density (averaged over weight samples) at each point. "
    "Published for MC dropout and in most papers; elsewhere in this report, log-likelihood means "
    "this quantity.",
    "Joint: the joint density of all test points is averaged over weight samples, and its log is "
    "divided by their number. Computed by the code of Vadam and SLANG; the published values of BBB "
    "are from the SLANG paper, and no value of Vadam could be confirmed.",
    "Gaussian: the log density of one Gaussian with the mean and variance of the mixture. PBP "
    "predicts such a Gaussian, so for PBP all three agree and its published values are listed "
    "under per point.",
)

LIKELIHOOD_OF_THE_BOOK = (
    "The book plots its log-likelihoods (Fig. 4.17) without printing numbers. It defines the "
    "Gaussian density of one network (eq. 4.1) but not how it is averaged over its 100 weight "
    "samples."
)

LIKELIHOOD_COLUMNS = (
    blocks.Column("Data set", "label", "{dataset}"),
    blocks.Column("Method", "label", lambda run: CONFIGURATIONS[run["method"]]),
    blocks.Column("Per point", cell=blocks.score("log_likelihood")),
    blocks.Column("published", cell=blocks.with_stderr("log_likelihood_published")),
    blocks.Column("Joint", cell=blocks.score("log_likelihood_joint")),
    blocks.Column("published", cell=blocks.with_stderr("log_likelihood_joint_published")),
    blocks.Column("Gaussian", cell=blocks.score("log_likelihood_gaussian")),
)

CLAIMS_STATEMENT = (
    "Claims of section 4.7.5, each tested by the rule in the last column on the data sets with "
    "runs of every configuration it mentions. A number is confirmed if ours is between half and "
    "twice it (for an excess of 16 %: 8 to 32 %). Claims about total time are also tested on the "
    "book's own Table 4.3, over the same data sets; the book prints no scores or fit times."
)


def section(runs: Runs, style: blocks.Style) -> Iterator[blocks.Block]:
    """Yield the report section on the book's comparison, if there are runs of it."""
    if runs.scored.empty:
        return
    suite = book_runs(with_published(runs), runs.cached(all_pairs))
    if suite is None:
        return
    yield blocks.Heading("The book's comparison (section 4.7)")
    yield blocks.Paragraph(coverage_sentence(suite))
    if suite.runs.empty:
        return
    yield from times_blocks(suite)
    yield blocks.Heading("Practitioner's table (Table 4.4)", 3)
    yield blocks.Paragraph(PRACTICE_STATEMENT)
    yield blocks.ItemList(RULES)
    yield practice_table(suite)
    yield blocks.Heading("Three log-likelihoods", 3)
    yield blocks.Paragraph(LIKELIHOODS_STATEMENT)
    yield blocks.ItemList(LIKELIHOODS)
    yield blocks.Paragraph(LIKELIHOOD_OF_THE_BOOK)
    yield blocks.fill(LIKELIHOOD_COLUMNS, suite.runs)
    yield blocks.Heading("Claims of the book (section 4.7.5)", 3)
    yield blocks.Paragraph(CLAIMS_STATEMENT)
    yield from claims_blocks(claims(suite), "claims")


def coverage_sentence(suite: BookRuns) -> str:
    """Describe which runs of the book's comparison are finished, missing or left out."""
    runs, book = suite.runs, book_seconds()
    if runs.empty:
        return (
            f"No results: the settings of all {suite.n_deviating} runs deviate from the protocol."
        )
    text = [f"{len(runs)} of the {book.size} runs of the book's comparison are finished."]
    missing = []
    for dataset in book.index:
        finished = set(runs[runs["dataset"] == dataset]["method"])
        gaps = ", ".join(CONFIGURATIONS[name] for name in book if name not in finished)
        missing += [f"{dataset} ({gaps if finished else 'all'})"] if gaps else []
    if missing:
        text.append(f"Missing: {'; '.join(missing)}. All results below are based on the others.")
    if (n_short := int((runs["splits"] < SPLITS).sum())) > 0:
        text.append(
            f"{n_short} of them have fewer than {SPLITS} splits and are not used to test claims "
            "about scores."
        )
    reasons = {
        "because the settings deviate from the protocol": suite.n_deviating,
        "in favour of a run of the same configuration with more splits": suite.n_duplicates,
    }
    text += [
        f"{count} more {'was' if count == 1 else 'were'} left out {reason}."
        for reason, count in reasons.items()
        if count
    ]
    return " ".join(text)


SECTIONS = (section,)
