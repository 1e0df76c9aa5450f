"""The practitioner's table from our numbers, beside the book's Table 4.4."""

from __future__ import annotations

import ast
import math
from importlib.resources import files

import pandas as pd

from bnnbench.report.numbers import MISSING, number
from bnnbench.report.section import Block, Heading, Items, Paragraph, Table, numbers, words
from bnnbench.results.significance import tally
from bnnbench.suites.cinelli_book.comparison import CONFIGURATIONS, BookRuns, geometric_mean

PRACTICE_STATEMENT = (
    'The book\'s Table 4.4 rates its methods "without any number". Our words follow from numbers '
    "by these rules; the book's stand beside them."
)

RULES = (
    "Effort: Python statements in this package that serve the method alone, for information. What "
    "the methods share (stacked training, scaling, search) is most of the work, so no word "
    "follows.",
    "Quality: net wins, that is correlated t-tests won less lost as a share of all, over data "
    "sets, opponents, RMSE and log-likelihood. Good from +1/3, Poor from -1/3 down, else OK.",
    "Timing: time as a multiple of the median configuration's, geometric mean over the data sets "
    "that every configuration shown has finished. Very fast up to 1/10, Fast up to 2/3, OK up to "
    "3/2, else Slow. On the book's own Table 4.3 this rule gives the book's words, BBBx2 standing "
    "for BBB.",
)

COLUMNS = (
    *words("Method"),
    *numbers("Statements", "Effort, book", "Net wins", "Quality", "Quality, book"),
    *numbers("Time / median", "Timing", "Timing, book"),
)

RATINGS = {
    "bbb": ("Medium", "Poor", "Slow"),
    "vadam": ("None", "OK", "OK"),
    "pbp": ("Very hard", "Good", "Very fast"),
    "mc_dropout": ("Very easy", "Good", "OK"),
}
"""The book's Table 4.4: effort, quality and timing of each method, by its family."""

OWN_FILES = {"pbp": ("pbp.py", "shared/moment_propagation.py")}
"""Files of `methods` that serve one method alone, where it is more than that of its name."""

TIMINGS = {1 / 10: "Very fast", 2 / 3: "Fast", 3 / 2: "OK", math.inf: "Slow"}
"""Up to which multiple of the median configuration's time each word holds."""


def practice_blocks(suite: BookRuns) -> tuple[Block, ...]:
    """What the page says of effort, quality and timing."""
    return (
        Heading("Practitioner's table (Table 4.4)", 3),
        Paragraph(PRACTICE_STATEMENT),
        Items(RULES),
        practice_table(suite),
    )


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


def statements(family: str) -> int:
    """Python statements, docstrings aside, of the files that serve this family alone."""
    folder = files("bnnbench.methods")
    names = OWN_FILES.get(family, (f"{family}.py",))
    sources = [(folder / name).read_text("utf-8") for name in names]
    nodes = [node for source in sources for node in ast.walk(ast.parse(source))]
    lone = [n for n in nodes if isinstance(n, ast.Expr) and isinstance(n.value, ast.Constant)]
    return sum(isinstance(node, ast.stmt) for node in nodes) - len(lone)


def practice_table(suite: BookRuns) -> Table:
    """The book's Table 4.4 from our numbers, a row per configuration."""
    seconds = suite.table("total_seconds").dropna(axis=1, how="all")
    time, net = timings(seconds), net_wins(suite)
    families = suite.runs.set_index("method")["family"].to_dict()
    rows = []
    for name in seconds:
        effort, quality, timing = RATINGS[families[name]]
        share, multiple = net.get(name, math.nan), time[name]
        rows.append((
            CONFIGURATIONS[str(name)], str(statements(families[name])), effort,
            number(share, "+.2f"), quality_word(share), quality,
            number(multiple, ".3g"), timing_word(multiple), timing,
        ))  # fmt: skip
    return Table(COLUMNS, tuple(rows))
