"""What the book's section 4.7.5 says about its comparison, each claim checked on our numbers.

A claim about total time is checked on the book's own Table 4.3 too, over the same data sets: its
text rounds, and does not say by what mean it averages.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from bnnbench.results.claims import Claim, Finding, ahead, checked, counted
from bnnbench.results.significance import shared, tally
from bnnbench.suites.cinelli_book.comparison import (
    CONFIGURATIONS,
    SCORES,
    BookRuns,
    geometric_mean,
)

ALL = tuple(CONFIGURATIONS)
TIME, SCORE = "4.7.5, Table 4.3", "4.7.5, Figs. 4.16 and 4.17"


@dataclass(frozen=True)
class Ratio:
    """Whether the time of some configurations, relative to `base`, lies between two numbers.

    Attributes:
        others: whose time is divided by that of `base`, as geometric means over data sets.
        pick: `fastest` or `slowest` of the others; it is what has to lie between the numbers.
        seconds: `total` or `fit`.
    """

    others: tuple[str, ...]
    base: str
    low: float
    high: float
    pick: str = "fastest"
    seconds: str = "total"

    @property
    def rule(self) -> str:
        many = f"the {self.pick} of the others" if len(self.others) > 1 else named(self.others)
        return (
            f"{self.seconds} time of {many} / {CONFIGURATIONS[self.base]}'s, geometric mean over "
            f"data sets: between {self.low:g} and {self.high:g}"
        )

    def find(self, suite: BookRuns) -> Finding:
        needed = [self.base, *self.others]
        ours = suite.table(f"{self.seconds}_seconds")[needed].dropna()
        if ours.empty:
            return None, f"no data set has all of {named(needed)}"
        holds, numbers = self._apply(ours)
        return holds, f"{numbers} ({counted(len(ours))})"

    def _apply(self, seconds: pd.DataFrame) -> tuple[bool, str]:
        relative = geometric_mean(seconds.div(seconds[self.base], axis=0))[list(self.others)]
        value = relative.min() if self.pick == "fastest" else relative.max()
        return bool(self.low < value < self.high), listed(relative.sort_values(), ".3g")


@dataclass(frozen=True)
class Ahead:
    """Whether configuration `a` scores better than `b`, be it slightly."""

    a: str
    b: str

    @property
    def rule(self) -> str:
        return (
            f"{CONFIGURATIONS[self.a]} has the better mean in three quarters of the comparisons "
            "(data sets x RMSE and log-likelihood) and loses no more t-tests than it wins"
        )

    def find(self, suite: BookRuns) -> Finding:
        found = ahead(suite.pairs, self.a, self.b)
        return found or (None, f"no data set has all of {named([self.a, self.b])} on all splits")


@dataclass(frozen=True)
class Place:
    """Whether a configuration takes this place among the six, alone, in both scores."""

    name: str
    place: int

    @property
    def rule(self) -> str:
        return (
            f"place {self.place}, shared with none, by t-tests won less lost against the other "
            "five, in RMSE and in log-likelihood"
        )

    def find(self, suite: BookRuns) -> Finding:
        rows = suite.pairs
        size = rows.groupby(["dataset", "metric"])["a"].transform("size")
        rows = rows[size == math.comb(len(ALL), 2)]
        if rows.empty:
            return None, f"no data set has all of {named(ALL)} on all splits"
        places, parts = [], []
        for metric, counts in tally(rows).groupby("metric", sort=False):
            counts = counts.set_index("method")
            net = (counts["wins"] - counts["losses"]).sort_values(ascending=False, kind="stable")
            places += [net.rank(ascending=False, method=m)[self.name] for m in ("min", "max")]
            parts.append(f"{SCORES[str(metric)]}: {listed(net, '+d')}")
        return all(place == self.place for place in places), (
            f"{'; '.join(parts)} ({counted(rows['dataset'].nunique())}, {shared(rows)})"
        )


def others(name: str) -> tuple[str, ...]:
    """The five configurations but `name`."""
    return tuple(other for other in CONFIGURATIONS if other != name)


def about(excess: float) -> tuple[float, float]:
    """Between which ratios "`excess` more" counts as confirmed: half to twice the excess."""
    return 1 + excess / 2, 1 + 2 * excess


STATEMENTS: tuple[tuple[str, str, Ratio | Ahead | Place], ...] = (
    ("PBP trains fastest.", TIME, Ratio(others("pbp"), "pbp", 1, math.inf)),
    ("PBP is 34 times faster than the runner-up.", TIME, Ratio(others("pbp"), "pbp", 17, 68)),
    (
        "Without hyper-parameter search PBP would be the slowest on average.",
        "4.7.5",
        Ratio(others("pbp"), "pbp", 0, 1, "slowest", "fit"),
    ),
    ("BBBx2 is by far the slowest.", TIME, Ratio(others("bbb_x2"), "bbb_x2", 0, 0.8, "slowest")),
    (
        "BBBx2, of twice the samples, takes 80 % longer than BBBx1.",
        TIME,
        Ratio(("bbb_x2",), "bbb_x1", *about(0.8)),
    ),
    ("Vadam takes 16 % longer than BBBx1.", TIME, Ratio(("vadam",), "bbb_x1", *about(0.16))),
    ("Vadam trains faster than BBBx2.", TIME, Ratio(("vadam",), "bbb_x2", 0, 1)),
    ("BBBx2 performs better than Vadam on average.", SCORE, Ahead("bbb_x2", "vadam")),
    (
        "MCDOx1 takes 10 % longer than MCDOx10.",
        TIME,
        Ratio(("mc_dropout_x1",), "mc_dropout_x10", *about(0.1)),
    ),
    (
        "MCDOx1 performs slightly but consistently better than MCDOx10.",
        SCORE,
        Ahead("mc_dropout_x1", "mc_dropout_x10"),
    ),
    ("MCDOx1 performs best overall.", SCORE, Place("mc_dropout_x1", 1)),
    ("MCDOx10 performs second best.", SCORE, Place("mc_dropout_x10", 2)),
    ("PBP performs third best.", SCORE, Place("pbp", 3)),
)


def claims(suite: BookRuns) -> list[Claim]:
    """Every claim with its verdict, in the order of the text, and that of the book's own table."""
    return checked(STATEMENTS, suite, suite.printed())


def named(names: Sequence[str]) -> str:
    """The book's names of configurations, in one line."""
    return ", ".join(CONFIGURATIONS[name] for name in names)


def listed(values: pd.Series, form: str) -> str:
    """`MCDOx10 37.9, Vadam 64.1, ...` in the order given."""
    return ", ".join(f"{CONFIGURATIONS[str(n)]} {value:{form}}" for n, value in values.items())
