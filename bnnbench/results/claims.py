"""Claims of a publication, each tested by an explicit rule on our numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

import pandas as pd

from bnnbench.results.metrics import BY_KEY
from bnnbench.results.outcomes import mirrored, with_outcomes
from bnnbench.results.significance import SIGNIFICANCE_LEVEL, describe_shared_splits

MAJORITY = 0.75
"""Fraction of comparisons that counts as "most"."""

OTHERWISE = "; contradicted if this is false for three quarters, undecided otherwise"
"""Ends a rule that `is_majority` decides."""

BY_SIGN_TEST = (
    f" and in more than by chance (two-sided binomial test, p below {SIGNIFICANCE_LEVEL}, taking "
    "them as independent); contradicted if the opposite is true in as many, undecided otherwise"
)
"""Ends a rule that `is_significant_majority` decides."""

CORRECTED = (
    f"p of the correlated t-test below {SIGNIFICANCE_LEVEL} after Holm's correction over all "
    "comparisons of the claim"
)
"""The test of the comparisons that `compare_together` returns."""

VERDICTS = {True: "confirmed", False: "contradicted", None: "undecided"}
"""Verdicts by what a check returns."""

NOT_TESTED = "not tested"
"""Verdict on a claim whose runs are missing or differ."""

OTHER_DATA = "other data"
"""Begins the evidence of a claim that is not about the data set of the runs."""

CheckResult = tuple[bool | None, str]
"""Whether a rule holds, is contradicted, or is undecided (None), and the numbers."""

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

    def check(self, runs: Any, data: str | None = None, differ: str = "") -> tuple[str, str]:
        """Return verdict and evidence of runs on a data set, None for that of the source.

        Runs with settings that differ are not tested.
        """
        if self.data and data not in (None, *self.data):
            return NOT_TESTED, f"{OTHER_DATA}: {data}"
        if differ:
            return NOT_TESTED, f"settings differ: {differ}"
        try:
            holds, evidence = self.function(runs, **self.arguments)
        except NotTestable as reason:
            return NOT_TESTED, str(reason)
        return VERDICTS[holds], evidence


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
        verdict: one of `VERDICTS`, or `NOT_TESTED`.
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
        verdict, evidence = rule.check(runs, data, differ)
        published_verdict = _describe(rule, theirs)
        claims.append(Claim(text, source, verdict, evidence, rule.rule, published_verdict))
    return claims


def _describe(rule: Rule, theirs: Any | None) -> str:
    verdict, evidence = (NOT_TESTED, "") if theirs is None else rule.check(theirs)
    return "" if verdict == NOT_TESTED else f"{verdict}: {evidence}"


def all_hold(decisions: Iterable[bool | None]) -> bool | None:
    """Return whether all of several decisions hold: False if one is contradicted."""
    found = [*decisions]
    return False if False in found else None if None in found else True


def most_hold(decisions: Iterable[bool | None]) -> bool | None:
    """Return whether at least `MAJORITY` of several decisions hold.

    False if more than the rest are contradicted, so that undecided ones do not matter.
    """
    found = [*decisions]
    if found.count(True) >= MAJORITY * len(found):
        return True
    return False if found.count(False) > (1 - MAJORITY) * len(found) else None


def is_majority(count: int, total: int) -> bool | None:
    """Return whether a count is at least `MAJORITY` of a total; False if the rest is."""
    if count >= MAJORITY * total:
        return True
    return False if total - count >= MAJORITY * total else None


def share_interval(count: int, total: int) -> tuple[float, float]:
    """Return the exact interval of a share (Clopper & Pearson 1934) at `SIGNIFICANCE_LEVEL`.

    A share outside it is rejected by a two-sided binomial test. `total` is positive.
    """
    from scipy.special import betaincinv

    tail = SIGNIFICANCE_LEVEL / 2
    low = float(betaincinv(count, total - count + 1, tail)) if count else 0.0
    high = float(betaincinv(count + 1, total - count, 1 - tail)) if count < total else 1.0
    return low, high


def is_significant_majority(
    count: int, opposite: int, equal: int = 0, chance: float = 0.5
) -> bool | None:
    """Return whether a count is a majority that chance does not explain.

    Args:
        count: how many agree with a claim.
        opposite: how many contradict it.
        equal: how many do neither.
        chance: expected share of `count` in `count + opposite` if the claim is about nothing.

    Returns:
        True, or False for the opposite, if it is at least `MAJORITY` of all and a two-sided
        binomial test rejects `chance`; None otherwise.
    """
    majority = is_majority(count, count + opposite + equal)
    if majority is None or not count + opposite:
        return None
    low, high = share_interval(count, count + opposite)
    if majority:
        return True if low > chance else None
    return False if high < chance and is_majority(opposite, count + opposite + equal) else None


def compare_together(
    pairs: pd.DataFrame, names: Collection[str], others: Collection[str]
) -> pd.DataFrame:
    """Return the comparisons of some contenders with others, with p-values adjusted together.

    Args:
        pairs: from `significance.compare_pairs` and `significance.add_names`.
        names: the first contenders, in column `a` of the result.
        others: the second ones, in column `b`; none is one of the first.

    Returns:
        Columns as of `outcomes.with_outcomes`, with Holm's correction over all rows.
    """
    own = pairs[pairs[["a", "b"]].isin([*names, *others]).all(axis=1)]
    both = pd.concat([own, mirrored(own)], ignore_index=True)
    rows = both[both["a"].isin(names) & both["b"].isin(others)]
    return with_outcomes(rows.assign(claim=0), ("claim",))


def count_outcomes(rows: pd.DataFrame, a: str, b: str) -> Counter[str]:
    """Return the number of each outcome of `a` against `b` in rows of `compare_together`."""
    return Counter(rows.loc[(rows["a"] == a) & (rows["b"] == b), "outcome"].tolist())


def describe_outcomes(counts: Mapping[str, int]) -> str:
    """Return `significantly better in 3, worse in 0 of 8`."""
    total = sum(counts.values())
    return (
        f"significantly better in {counts.get('better', 0)}, worse in {counts.get('worse', 0)} of "
        f"{total}"
    )


def more_better(counts: Mapping[str, int]) -> bool | None:
    """Return whether more comparisons are significantly better than worse; None if equally many."""
    better, worse = counts.get("better", 0), counts.get("worse", 0)
    return None if better == worse else better > worse


def check_better(pairs: pd.DataFrame, a: str, b: str) -> CheckResult | None:
    """Check whether `a` scores better than `b`; None if they were not compared.

    More comparisons must be significantly better than worse, and `a` must have the better mean in
    three quarters of them. The claim is contradicted if more are significantly worse. `pairs` are
    as for `compare_together`.
    """
    rows = compare_together(pairs, [a], [b])
    if rows.empty:
        return None
    counts = count_outcomes(rows, a, b)
    is_loss = rows["metric"].map(lambda key: BY_KEY[key].better == "lower")
    better = int(((rows["difference"] < 0) == is_loss)[rows["difference"] != 0].sum())
    evidence = (
        f"{describe_outcomes(counts)}; better mean in {better} "
        f"({count_datasets(rows['dataset'].nunique())}, {describe_shared_splits(rows)})"
    )
    holds = more_better(counts)
    return None if holds and better < MAJORITY * len(rows) else holds, evidence


def count_datasets(datasets: int) -> str:
    """Return `1 data set`, `8 data sets`, ..."""
    return f"{datasets} data set{'s' if datasets > 1 else ''}"
