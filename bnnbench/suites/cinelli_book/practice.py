"""The practitioner's table from our numbers, compared with the book's Table 4.4."""

from __future__ import annotations

import ast
import math
from importlib.resources import files

import pandas as pd

from bnnbench.report import blocks
from bnnbench.report.blocks import MISSING, format_number
from bnnbench.results.compare.outcomes import OUTCOMES, tally
from bnnbench.suites.cinelli_book.comparison import CONFIGURATIONS, BookRuns, geometric_mean

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
