"""Claims of a publication, each tested by an explicit rule on our numbers."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

import pandas as pd
from scipy.special import stdtr

from bnnbench.results.metrics import BY_KEY
from bnnbench.results.significance import describe_shared_splits, verdicts

MAJORITY = 0.75
"""Fraction of comparisons that counts as "most"."""

CLAIM_LEVEL = 0.95
"""Probability that confirms a claim about a mean."""

VERDICTS = {True: "confirmed", False: "not confirmed", None: "not tested"}

OTHER_DATA = "other data"
"""Begins the evidence of a claim that is not about the data set of the runs."""

CheckResult = tuple[bool | None, str]
"""Whether a rule holds (None if its runs are missing), and the numbers."""

CheckFunction = TypeVar("CheckFunction", bound=Callable[..., CheckResult])


class NotTestable(Exception):
    """Raised by a check whose results are missing; the message is the evidence."""


@dataclass(frozen=True)
class Rule:
    """Decides whether a claim holds for the runs of a publication.

    Attributes:
        rule: the criterion in words.
        function: checks it, given the runs and the arguments.
        arguments: keyword arguments of the function.
        data: names of the data sets that the claim is about; empty for any.
    """

    rule: str
    function: Callable[..., CheckResult]
    arguments: Mapping[str, Any] = field(default_factory=dict)
    data: Collection[str] = ()

    def check(self, runs: Any, data: str | None = None, differ: str = "") -> CheckResult:
        """Check runs on a data set, None for that of the source, if no settings differ."""
        if self.data and data not in (None, *self.data):
            return None, f"{OTHER_DATA}: {data}"
        if differ:
            return None, f"settings differ: {differ}"
        try:
            return self.function(runs, **self.arguments)
        except NotTestable as reason:
            return None, str(reason)


Statement = tuple[str, str, Rule]
"""Text, source and rule of a claim."""


class Claims(list[Statement]):
    """Claims, each declared above the function that checks it, in the order of the file.

    ```python
    claims = Claims()


    @claims("MLE is unbiased", source="2.6", rule="its error is below 0.1", name="MLE", limit=0.1)
    @claims("MAP is biased less", source="2.7", rule="its error is below 1", name="MAP", limit=1)
    def error_is_below(run: Run, name: str, limit: float) -> CheckResult:
        return run.error(name) < limit, f"{run.error(name):.2g}"
    ```
    """

    def __call__(
        self, text: str, *, source: str, rule: str, data: Collection[str] = (), **arguments: Any
    ) -> Callable[[CheckFunction], CheckFunction]:
        """Return a decorator that adds a claim and leaves its function as it is.

        Args:
            text: the claim.
            source: its section, table or figure.
            rule: the criterion in words.
            data: names of the data sets that the claim is about; empty for any.
            arguments: passed to the function after the runs.
        """
        position = len(self)  # the same for all decorators of a function; the last is applied first

        def add(function: CheckFunction) -> CheckFunction:
            self.insert(position, (text, source, Rule(rule, function, arguments, data)))
            return function

        return add


@dataclass(frozen=True)
class Claim:
    """A statement of a publication and the verdict on it.

    Attributes:
        text: the statement.
        source: its section, table or figure.
        verdict: one of `VERDICTS`.
        evidence: the numbers that the rule was applied to, or what is missing.
        rule: the criterion for "confirmed".
        theirs: verdict and evidence of the same rule on the publication's own numbers; empty if it
            prints none to which the rule applies.
    """

    text: str
    source: str
    verdict: str
    evidence: str
    rule: str
    theirs: str = ""


def check_claims(
    statements: Iterable[Statement],
    runs: Any,
    theirs: Any | None = None,
    data: str | None = None,
    differ: str = "",
) -> list[Claim]:
    """Test every statement on our runs and, where given, on the publication's own numbers.

    Args:
        statements: the claims.
        runs: what they are checked on.
        theirs: the same from the publication's own numbers.
        data: name of the data set of the runs; None for that of the publication.
        differ: which settings differ from the publication's, so that nothing is tested.
    """
    claims = []
    for text, source, rule in statements:
        holds, evidence = rule.check(runs, data, differ)
        published_verdict = _describe(rule, theirs)
        claims.append(Claim(text, source, VERDICTS[holds], evidence, rule.rule, published_verdict))
    return claims


def _describe(rule: Rule, theirs: Any | None) -> str:
    holds, evidence = (None, "") if theirs is None else rule.check(theirs)
    return "" if holds is None else f"{VERDICTS[holds]}: {evidence}"


def check_positive(values: pd.Series, units: str, name: str) -> CheckResult:
    """Check by a t-test whether the mean of independent values is positive.

    Args:
        values: missing ones are left out.
        units: what the values are of, such as `repetitions`.
        name: of the values, such as `AUROC of hmc - bbb`.

    Raises:
        NotTestable: with fewer than three values.
    """
    values = values.dropna()
    if len(values) < 3:
        raise NotTestable(f"{units}: {len(values)}; a test needs 3")
    mean, stderr = float(values.mean()), float(values.sem())
    probability = float(stdtr(len(values) - 1, mean / stderr)) if stderr > 0 else float(mean > 0)
    evidence = (
        f"{name}: {mean:.3g} ± {stderr:.2g} over {len(values)} {units}, P = {probability:.3f}"
    )
    return probability > CLAIM_LEVEL, evidence


def head_to_head(pairs: pd.DataFrame, a: str, b: str) -> tuple[pd.DataFrame, int, int]:
    """Return the rows that compare `a` with `b`, and how many t-tests `a` won and lost.

    `pairs` are from `significance.add_names`.
    """
    rows = pairs[pairs["a"].isin([a, b]) & pairs["b"].isin([a, b])]
    results = verdicts(rows)
    winners = rows["a"].where(results == "a", rows["b"].where(results == "b")).tolist()
    return rows, winners.count(a), winners.count(b)


def check_better(pairs: pd.DataFrame, a: str, b: str) -> CheckResult | None:
    """Check whether `a` scores better than `b`, even if slightly; None if they were not compared.

    `a` must have the better mean in three quarters of the comparisons and lose no more t-tests than
    it wins. `pairs` are from `significance.add_names`.
    """
    rows, won, lost = head_to_head(pairs, a, b)
    if rows.empty:
        return None
    better = [has_better_mean(row, a) for row in rows.to_dict("records")]
    evidence = (
        f"better mean in {sum(better)} of {len(better)}; t-tests won {won}, lost {lost} "
        f"({count_datasets(rows['dataset'].nunique())}, {describe_shared_splits(rows)})"
    )
    return sum(better) >= MAJORITY * len(better) and won >= lost, evidence


def has_better_mean(row: Mapping[Any, Any], name: str) -> bool:
    """Return whether `name`, `a` or `b` of the row, has the better mean."""
    a_is_higher = (row["difference"] > 0) == (row["a"] == name)
    return row["difference"] != 0 and a_is_higher == (BY_KEY[row["metric"]].better == "higher")


def count_datasets(datasets: int) -> str:
    """Return `1 data set`, `8 data sets`, ..."""
    return f"{datasets} data set{'s' if datasets > 1 else ''}"
