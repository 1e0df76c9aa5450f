"""The book's comparison as sections of the report's page, with its Tables 4.3 and 4.4."""

from __future__ import annotations

import ast
import math
from importlib.resources import files

import pandas as pd

from bnnbench.report.section import Section
from bnnbench.results.claims import claims_table
from bnnbench.results.significance import tally
from bnnbench.results.tables import MISSING, markdown_table, plus_minus
from bnnbench.suites.cinelli_book.claims import claims
from bnnbench.suites.cinelli_book.comparison import (
    CONFIGURATIONS,
    SPLITS,
    BookRuns,
    book_seconds,
    geometric_mean,
    relative_time_figure,
    running_times,
    suite_of,
)

TIMES_STATEMENT = (
    "Seconds per split for search, final fit and prediction: ours / the book's Table 4.3 (how many "
    "times as fast). Machines and libraries differ, so what bears on the book's claims are ratios "
    "between configurations, below as in its Fig. 4.15; they are as good as the machine was idle "
    "otherwise. Splits trained in one stack, as PBP's are, share its time equally. At full "
    "precision: [running_times.csv](running_times.csv)."
)

PRACTICE_STATEMENT = """\
The book's Table 4.4 rates its methods "without any number". Our words follow from numbers by these
rules; the book's stand beside them.

- Effort: Python statements in this package that serve the method alone, for information. What the
  methods share (stacked training, scaling, search) is most of the work, so no word follows.
- Quality: net wins, that is correlated t-tests won less lost as a share of all, over data sets,
  opponents, RMSE and log-likelihood. Good from +1/3, Poor from -1/3 down, else OK.
- Timing: time as a multiple of the median configuration's, geometric mean over the data sets that
  every configuration shown has finished. Very fast up to 1/10, Fast up to 2/3, OK up to 3/2, else
  Slow. On the book's own Table 4.3 this rule gives the book's words, BBBx2 standing for BBB."""

LIKELIHOODS_STATEMENT = """\
Three quantities go by this name; all are averages over test points, in nats.

- Per point: the log of the density averaged over weight samples, point by point. Published for MC
  dropout and in most papers; it is what this report means by log-likelihood.
- Joint: the density of all test points together is averaged over weight samples, and its log
  divided by their number. The code of Vadam and SLANG computes it; the published values of BBB are
  the SLANG paper's, and none of Vadam's could be confirmed.
- Gaussian: one Gaussian with the mixture's mean and variance. PBP predicts just that, so for PBP
  all three agree, and its published values may stand under per point.

The book draws its log-likelihoods (Fig. 4.17) and prints none. It names the Gaussian density of one
network (eq. 4.1) and does not say how it averages that over its 100 weight samples."""

CLAIMS_STATEMENT = (
    "What section 4.7.5 says, checked by the rule in the last column on the data sets that have "
    "every configuration it names. A number counts as confirmed from half to twice it (an excess "
    "of 16 %: 8 to 32 %). Claims about total time are checked on the book's own table as well, "
    "over the same data sets. As a table: [claims.csv](claims.csv)."
)

RATINGS = {
    "bbb": ("Medium", "Poor", "Slow"),
    "vadam": ("None", "OK", "OK"),
    "pbp": ("Very hard", "Good", "Very fast"),
    "mc_dropout": ("Very easy", "Good", "OK"),
}
"""The book's Table 4.4: effort, quality and timing of each method."""

OWN_FILES = {"pbp": ("pbp.py", "shared/moment_propagation.py")}
"""Files of `methods` that serve one method alone, where it is more than that of its name."""

TIMINGS = {1 / 10: "Very fast", 2 / 3: "Fast", 3 / 2: "OK", math.inf: "Slow"}
"""Up to which multiple of the median configuration's time each word holds."""


def timings(seconds: pd.DataFrame) -> pd.Series:
    """Each configuration's time as a multiple of the median configuration's.

    Args:
        seconds: by data set and configuration; a data set with a gap is left out.
    """
    mean = geometric_mean(seconds.dropna())
    return mean / mean.median()


def timing_word(multiple: float) -> str:
    """The word of `TIMINGS`, or the dash of a missing number."""
    return next((word for limit, word in TIMINGS.items() if multiple <= limit), MISSING)


def net_wins(suite: BookRuns) -> pd.Series:
    """Correlated t-tests won less lost as a share of all, by configuration; from -1 to 1."""
    if suite.pairs.empty:
        return pd.Series(dtype=float)
    counts = tally(suite.pairs).groupby("method")[["wins", "ties", "losses"]].sum()
    return (counts["wins"] - counts["losses"]) / counts.sum(axis=1)


def quality_word(share: float) -> str:
    """`Good` from a third of net wins, `Poor` from a third of net losses, else `OK`."""
    if math.isnan(share):
        return MISSING
    return "Good" if share >= 1 / 3 else "Poor" if share <= -1 / 3 else "OK"


def statements(method: str) -> int:
    """Python statements, docstrings aside, of the files that serve this method alone."""
    folder = files("bnnbench.methods")
    names = OWN_FILES.get(method, (f"{method}.py",))
    sources = [(folder / name).read_text("utf-8") for name in names]
    nodes = [node for source in sources for node in ast.walk(ast.parse(source))]
    lone = [n for n in nodes if isinstance(n, ast.Expr) and isinstance(n.value, ast.Constant)]
    return sum(isinstance(node, ast.stmt) for node in nodes) - len(lone)


def practice_table(suite: BookRuns) -> str:
    """The book's Table 4.4 from our numbers, a row per configuration."""
    seconds = suite.table("total_seconds").dropna(axis=1, how="all")
    time, net = timings(seconds), net_wins(suite)
    rows = []
    for name in seconds:
        method = name.removesuffix("_x10").removesuffix("_x1").removesuffix("_x2")
        effort, quality, timing = RATINGS[method]
        share, multiple = net.get(name, math.nan), time[name]
        rows.append([
            CONFIGURATIONS[name], str(statements(method)), effort,
            number(share, "+.2f"), quality_word(share), quality,
            number(multiple, ".3g"), timing_word(multiple), timing,
        ])  # fmt: skip
    names = ["Method", "Statements", "Effort, book", "Net wins", "Quality", "Quality, book"]
    return markdown_table([*names, "Time / median", "Timing", "Timing, book"], rows)


def number(value: float, form: str) -> str:
    """`value` in `form`, or the dash of a missing number."""
    return format(value, form) if math.isfinite(value) else MISSING


def digits(value: float) -> str:
    """Three significant digits, never an exponent: 9.24, 24.5, 1813."""
    return number(value, ".3g" if abs(value) < 100 else ".0f")


def times_table(suite: BookRuns) -> str:
    """The book's Table 4.3 in its own shape, every cell ours / the book's (speed-up)."""
    times = running_times(suite).set_index(["dataset", "method"])
    names = [name for name in CONFIGURATIONS if name in times.index.get_level_values("method")]
    cells = {
        key: f"{digits(row['seconds'])} / {digits(row['book_seconds'])} ({digits(row['speedup'])}x)"
        for key, row in times.iterrows()
    }
    datasets = times.index.unique("dataset")
    rows = [[data, *(cells.get((data, name), MISSING) for name in names)] for data in datasets]
    mean = times["speedup"].groupby("method").apply(geometric_mean)
    rows.append(["geometric mean", *(f"({digits(mean[name])}x)" for name in names)])
    return markdown_table(["Data set", *(CONFIGURATIONS[name] for name in names)], rows)


def likelihoods_table(suite: BookRuns) -> str:
    """The three log-likelihoods of every run, published ones beside."""
    names = ["Data set", "Method", "Per point", "published", "Joint", "published", "Gaussian"]
    kinds = ("", "_published", "_joint", "_joint_published", "_gaussian")
    rows = []
    for run in suite.runs.to_dict("records"):
        cells = [run["dataset"], CONFIGURATIONS[run["method"]]]
        for kind in kinds:
            name = f"log_likelihood{kind}"
            mean = name if kind.endswith("published") else f"{name}_mean"
            cells.append(plus_minus(run[mean], run[mean.removesuffix("_mean") + "_stderr"]))
        rows.append(cells)
    return markdown_table(names, rows)


def coverage_sentence(suite: BookRuns) -> str:
    """Which part of the book's comparison is there, and what was left out."""
    runs, book = suite.runs, book_seconds()
    text = [f"{len(runs)} of the {book.size} runs of the book's comparison are finished."]
    missing = []
    for dataset in book.index:
        there = set(runs[runs["dataset"] == dataset]["method"])
        gaps = ", ".join(CONFIGURATIONS[name] for name in book if name not in there)
        missing += [f"{dataset} ({gaps if there else 'all'})"] if gaps else []
    if missing:
        text.append(f"Missing: {'; '.join(missing)}. What follows rests on the others alone.")
    if (short := int((runs["splits"] < SPLITS).sum())) > 0:
        text.append(f"{short} of them have fewer than {SPLITS} splits.")
    if suite.surplus:
        more = f"{suite.surplus} more {'was' if suite.surplus == 1 else 'were'} left out"
        text.append(f"{more}: of each kind the run of most splits is taken.")
    return " ".join(text)


def book_section(results: pd.DataFrame, pairs: pd.DataFrame) -> Section | None:
    """The part of the report on the book's comparison; None without runs of it.

    Args:
        results: what `with_published` returns.
        pairs: what `all_pairs` returns.
    """
    suite = suite_of(results, pairs)
    if suite is None:
        return None
    found, figure = claims(suite), relative_time_figure(suite)
    parts = ["## The book's comparison (section 4.7)", coverage_sentence(suite)]
    parts += ["### Running time (Table 4.3)", TIMES_STATEMENT, times_table(suite)]
    if figure:
        parts.append("![Training time relative to PBP's, by data set](relative_time.png)")
    parts += ["### Practitioner's table (Table 4.4)", PRACTICE_STATEMENT, practice_table(suite)]
    parts += ["### Three log-likelihoods", LIKELIHOODS_STATEMENT, likelihoods_table(suite)]
    parts += ["### What the book says (section 4.7.5)", CLAIMS_STATEMENT]
    parts.append(claims_table(found))
    tables = {"running_times": running_times(suite), "claims": pd.DataFrame(found)}
    return Section(parts, tables, {"relative_time": figure} if figure else {})
