"""What a source says about its experiments, each claim checked by a rule on our numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import pandas as pd

from bnnbench.results.metrics import BY_KEY
from bnnbench.results.significance import shared, verdicts

MOST = 0.75  # the share of comparisons that counts as "most"

VERDICTS = {True: "confirmed", False: "not confirmed", None: "not tested"}

Finding = tuple[bool | None, str]
"""Whether a rule holds, None where its runs are missing, and the numbers."""

Given = TypeVar("Given", contravariant=True)
"""What a source's rules look at: its own runs, in its own shape."""


class Check(Protocol[Given]):
    """A rule that says of some runs whether a claim holds."""

    @property
    def rule(self) -> str:
        """What has to hold."""

    def find(self, runs: Given) -> Finding:
        """Applies the rule."""


@dataclass(frozen=True)
class Claim:
    """One statement of a source and what our runs say to it.

    Attributes:
        text: the statement.
        source: its section, table or figure.
        verdict: one of `VERDICTS`.
        evidence: the numbers that the rule was applied to, or what is missing.
        rule: what has to hold for the claim to count as confirmed.
        theirs: the verdict of the same rule on the source's own numbers, with these; empty where
            it prints none that the rule could be applied to.
    """

    text: str
    source: str
    verdict: str
    evidence: str
    rule: str
    theirs: str = ""


def checked(
    statements: Iterable[tuple[str, str, Check[Given]]], runs: Given, theirs: Given | None = None
) -> list[Claim]:
    """Every statement (text, source, check) with its verdict, in their order.

    Args:
        statements: of the source.
        runs: ours.
        theirs: what the source prints, in the shape of `runs`.
    """
    found = []
    for text, source, check in statements:
        holds, evidence = check.find(runs)
        own = _said(check, theirs)
        found.append(Claim(text, source, VERDICTS[holds], evidence, check.rule, own))
    return found


def _said(check: Check[Given], theirs: Given | None) -> str:
    holds, evidence = (None, "") if theirs is None else check.find(theirs)
    return "" if holds is None else f"{VERDICTS[holds]}: {evidence}"


def duel(pairs: pd.DataFrame, a: str, b: str) -> tuple[pd.DataFrame, int, int]:
    """The rows in which `a` and `b` meet, and how many t-tests `a` won and lost.

    Args:
        pairs: of `significance.named`.
        a: one name.
        b: the other.
    """
    rows = pairs[pairs["a"].isin([a, b]) & pairs["b"].isin([a, b])]
    found = verdicts(rows)
    winners = rows["a"].where(found == "a", rows["b"].where(found == "b")).tolist()
    return rows, winners.count(a), winners.count(b)


def ahead(pairs: pd.DataFrame, a: str, b: str) -> Finding | None:
    """Whether `a` scores better than `b`, be it slightly; None where they have not met.

    It has the better mean in three quarters of the comparisons and loses no more t-tests than it
    wins.

    Args:
        pairs: of `significance.named`, one per data set and score.
        a: the one said to be better.
        b: the other.
    """
    rows, won, lost = duel(pairs, a, b)
    if rows.empty:
        return None
    better = [is_better(row, a) for row in rows.to_dict("records")]
    evidence = (
        f"better mean in {sum(better)} of {len(better)}; t-tests won {won}, lost {lost} "
        f"({counted(rows['dataset'].nunique())}, {shared(rows)})"
    )
    return sum(better) >= MOST * len(better) and won >= lost, evidence


def is_better(row: Mapping[Any, Any], name: str) -> bool:
    """Whether `name`, one of the pair of a row, has the better mean."""
    a_is_higher = (row["difference"] > 0) == (row["a"] == name)
    return row["difference"] != 0 and a_is_higher == (BY_KEY[row["metric"]].better == "higher")


def counted(datasets: int) -> str:
    """`1 data set`, `8 data sets`."""
    return f"{datasets} data set{'s' if datasets > 1 else ''}"
