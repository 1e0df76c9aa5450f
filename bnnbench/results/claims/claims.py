"""Claims of a publication, each tested by an explicit rule on our numbers."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
import pandas as pd

from bnnbench.notes import join_words
from bnnbench.results.compare.outcomes import has_better_mean, mirrored, with_outcomes
from bnnbench.results.compare.power import POWER, splits_needed, trials_needed
from bnnbench.results.compare.significance import SIGNIFICANCE_LEVEL, describe_shared_splits
from bnnbench.results.compare.undecided import Decision, Undecided, decide_parts

MAJORITY = 0.75
"""Fraction of comparisons that counts as "most"."""

OTHERWISE = "; contradicted if this is false for three quarters, undecided otherwise"
"""Ends a rule that `is_majority` decides."""

BY_SIGN_TEST = (
    f" and in more than by chance (two-sided binomial test, p below {SIGNIFICANCE_LEVEL}, taking "
    "them as independent); contradicted if the opposite is true in as many, undecided otherwise"
)
"""Ends a rule that `is_significant_majority` decides."""

COMPARISONS, SPLITS = "comparisons", "splits"

CORRECTED = (
    f"p of the correlated t-test below {SIGNIFICANCE_LEVEL} after Holm's correction over all "
    "comparisons of the claim"
)
"""The test of the comparisons that `compare_together` returns."""

VERDICTS = {True: "confirmed", False: "contradicted", None: "undecided"}
"""Verdicts by what a check returns."""

NOT_JUDGED = ""
"""Replaces the verdict on a claim about other runs."""

OTHER_DATA, THESE_SETTINGS = "about", "on these settings"
"""Beginnings of the reason why a claim is not judged: other data, or other settings."""

OURS = "ours"
"""Source of a claim of our own, which may be judged on any settings."""

CheckResult = tuple[Decision, str]
"""Whether a rule holds, is contradicted, or is undecided, and the numbers."""

CheckFunction = TypeVar("CheckFunction", bound=Callable[..., CheckResult])


class NotTestable(Exception):
    """Raised by a check if the runs that the claim is about are missing.

    The message is the reason.
    """


class TooFew(Exception):
    """Raised by a check that has too few repetitions to be decided.

    Attributes:
        needed: how many are needed.
    """

    def __init__(self, evidence: str, needed: Undecided) -> None:
        super().__init__(evidence)
        self.needed = needed


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

        An undecided claim's evidence says what would decide it. A claim that is `NOT_JUDGED` has
        the reason as its evidence.

        Args:
            runs: what the claim is checked on.
            data: the name of their data set.
            differ: the settings that differ from the source's.
        """
        if self.data and data not in (None, *self.data):
            return NOT_JUDGED, f"{OTHER_DATA} {join_words(self.data)}, not {data}"
        if differ:
            return NOT_JUDGED, f"{THESE_SETTINGS} ({differ})"
        try:
            holds, evidence = self.function(runs, **self.arguments)
        except NotTestable as reason:
            return NOT_JUDGED, str(reason)
        except TooFew as few:
            holds, evidence = few.needed, str(few)
        if isinstance(holds, Undecided):
            return VERDICTS[None], f"{evidence}; {holds}"
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
        verdict: one of `VERDICTS`, or `NOT_JUDGED`.
        evidence: the numbers that the rule was applied to, and what would decide it if they do not;
            or why it is not judged.
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
        differ: which settings differ from the publication's, so that only claims of our own are
            judged.
    """
    claims = []
    for text, source, rule in statements:
        verdict, evidence = rule.check(runs, data, "" if source == OURS else differ)
        published_verdict = _describe(rule, theirs)
        claims.append(Claim(text, source, verdict, evidence, rule.rule, published_verdict))
    return claims


def _describe(rule: Rule, theirs: Any | None) -> str:
    verdict, evidence = (NOT_JUDGED, "") if theirs is None else rule.check(theirs)
    return "" if verdict == NOT_JUDGED else f"{verdict}: {evidence}"


def why_not_judged(claims: Iterable[Claim]) -> list[str]:
    """Return a sentence for each reason why some claims are not judged."""
    texts: dict[str, list[str]] = {}
    for claim in claims:
        if claim.verdict == NOT_JUDGED:
            texts.setdefault(claim.evidence, []).append(claim.text.rstrip("."))
    return [
        f"Not judged {reason if reason.startswith(THESE_SETTINGS) else f'({reason})'}: "
        f"{'; '.join(own)}."
        for reason, own in texts.items()
    ]


def all_hold(decisions: Iterable[Decision]) -> Decision:
    """Return whether all of several decisions hold: False if one is contradicted."""

    def decide(found: Sequence[bool | None]) -> bool | None:
        return False if False in found else True if all(found) else None

    return decide_parts(decisions, decide)


def most_hold(decisions: Iterable[Decision]) -> Decision:
    """Return whether at least `MAJORITY` of several decisions hold.

    False if more than the rest are contradicted, so that undecided ones do not matter.
    """

    def decide(found: Sequence[bool | None]) -> bool | None:
        if found.count(True) >= MAJORITY * len(found):
            return True
        return False if found.count(False) > (1 - MAJORITY) * len(found) else None

    return decide_parts(decisions, decide)


def is_majority(count: int, total: int) -> bool | Undecided:
    """Return whether a count is at least `MAJORITY` of a total; False if the rest is.

    More comparisons with the same shares would not decide otherwise.
    """
    if count >= MAJORITY * total:
        return True
    if total - count >= MAJORITY * total:
        return False
    return Undecided(math.inf, COMPARISONS)


def share_interval(count: int, total: int) -> tuple[float, float]:
    """Return the exact interval of a share (Clopper & Pearson 1934) at `SIGNIFICANCE_LEVEL`.

    A share outside it is rejected by a two-sided binomial test. `total` is positive.
    """
    from scipy.special import betaincinv

    tail = SIGNIFICANCE_LEVEL / 2
    low = float(betaincinv(count, total - count + 1, tail)) if count else 0.0
    high = float(betaincinv(count + 1, total - count, 1 - tail)) if count < total else 1.0
    return low, high


def undecided_share(
    count: int, total: int, units: str, *limits: float, level: float = SIGNIFICANCE_LEVEL
) -> Undecided:
    """Return how many trials would show that a share is not any of some limits.

    Args:
        count: number of successes.
        total: number of trials.
        units: what they are.
        limits: shares that the binomial tests must reject.
        level: of every test.
    """
    power = 1 - (1 - POWER) / len(limits)
    share = count / total
    return Undecided(max(trials_needed(share, one, level, power) for one in limits), units)


def is_significant_majority(
    count: int, opposite: int, equal: int = 0, chance: float = 0.5
) -> Decision:
    """Return whether a count is a majority that chance does not explain.

    Args:
        count: how many agree with a claim.
        opposite: how many contradict it.
        equal: how many do neither.
        chance: expected share of `count` in `count + opposite` if the claim is about nothing.

    Returns:
        True, or False for the opposite, if it is at least `MAJORITY` of all and a two-sided
        binomial test rejects `chance`; otherwise how many comparisons that are not equal would
        decide, if the shares stay.
    """
    majority = is_majority(count, count + opposite + equal)
    is_contrary = is_majority(opposite, count + opposite + equal)
    if not count + opposite or not (majority or is_contrary):
        return Undecided(math.inf, COMPARISONS)
    low, high = share_interval(count, count + opposite)
    if majority and low > chance:
        return True
    if is_contrary and high < chance:
        return False
    share = count / (count + opposite)
    if share < chance if majority else share > chance:  # no number reverses it
        return Undecided(math.inf, COMPARISONS)
    return undecided_share(count, count + opposite, COMPARISONS, chance)


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
    better = int(has_better_mean(rows).sum())
    evidence = (
        f"{describe_outcomes(count_outcomes(rows, a, b))}; better mean in {better} "
        f"({count_datasets(rows['dataset'].nunique())}, {describe_shared_splits(rows)})"
    )

    def decide(rows: pd.DataFrame) -> bool | None:
        holds = more_better(count_outcomes(rows, a, b))
        return None if holds and better < MAJORITY * len(rows) else holds

    return decide_by_splits(rows, decide), evidence


def decide_by_splits(
    rows: pd.DataFrame, decide: Callable[[pd.DataFrame], bool | None]
) -> bool | Undecided:
    """Return a decision by the outcomes of comparisons, or how many splits it would need.

    With this number, each decisive difference would be significant with `power.POWER`, at
    `SIGNIFICANCE_LEVEL` divided by the number of comparisons, the smallest of Holm's correction.

    Args:
        rows: from `compare_together`.
        decide: takes such rows.
    """
    decision = decide(rows)
    if decision is not None:
        return decision
    tested = rows["p_value"].notna()
    needed = splits_needed(rows, SIGNIFICANCE_LEVEL / max(len(rows), 1)).where(tested, math.inf)
    shown = pd.Series(np.where(has_better_mean(rows), "better", "worse"), rows.index)
    for splits in sorted({*needed[np.isfinite(needed)]}):
        if decide(rows.assign(outcome=rows["outcome"].mask(needed <= splits, shown))) is not None:
            return Undecided(splits, SPLITS)
    return Undecided(math.inf, SPLITS)


def count_datasets(datasets: int) -> str:
    """Return `1 data set`, `8 data sets`, ..."""
    return f"{datasets} data set{'s' if datasets > 1 else ''}"
