"""Parts of the rules that check the claims: groups of configurations, and tests of means.

The rules on means apply to the thesis's own tables too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import wraps
from itertools import combinations

import numpy as np

from bnnbench.experiment.store.answer_tables import Sample
from bnnbench.notes import quantity
from bnnbench.results.claims.claims import (
    CheckResult,
    NotTestable,
    TooFew,
    all_hold,
    share_interval,
)
from bnnbench.results.claims.mean_tests import (
    F_TEST,
    LEVEL,
    MeanTest,
    SpreadTest,
    are_within,
    one_sample,
    positive,
    welch,
)
from bnnbench.results.compare.significance import INTERVAL
from bnnbench.results.compare.undecided import Decision, Undecided
from bnnbench.suites.lam_density_ratio.comparison.evidence import (
    ENOUGH,
    MIN_REPETITIONS,
    SprinklerEvidence,
    SprinklerRun,
)
from bnnbench.suites.lam_density_ratio.comparison.thesis import ThesisCell
from bnnbench.suites.lam_density_ratio.names import (
    CONTRASTS,
    DIVERGENCES,
    ESTIMATORS,
    RELU_RATIO,
    SYMBOLS,
)

Group = tuple[ThesisCell, ...]
"""The configurations D, r and T of one setting, contrast and divergence."""


def estimators(setting: str, contrast: str, divergence: str) -> Group:
    """Return the three estimators of one divergence."""
    return tuple(ThesisCell(setting, contrast, divergence, name) for name in ESTIMATORS)


def groups(setting: str, *contrasts: str) -> tuple[Group, ...]:
    """Return the groups of one setting and of some contrasts, by default both."""
    return tuple(
        estimators(setting, contrast, divergence)
        for contrast in contrasts or CONTRASTS
        for divergence in DIVERGENCES
    )


def cells(setting: str, *contrasts: str) -> Group:
    """Return the configurations of all groups of one setting."""
    return tuple(cell for group in groups(setting, *contrasts) for cell in group)


def by_divergence(setting: str, *contrasts: str) -> list[tuple[ThesisCell, ThesisCell]]:
    """Return every estimator with reverse KL and with GAN."""
    gan = (cell for cell in cells(setting, *contrasts) if cell.divergence == "gan")
    return [(replace(cell, divergence="kl_posterior_prior"), cell) for cell in gan]


RELU, EXPONENTIAL, CLASSIFIER = (
    {contrast: ThesisCell("optimal", contrast, *rest) for contrast in CONTRASTS}
    for rest in (
        ("kl_posterior_prior", RELU_RATIO),
        ("kl_posterior_prior", "ratio"),
        ("gan", "class_probability"),
    )
)
"""Ratios of chapters 5 and 6 and class probability estimation as in chapter 5, by contrast."""

ALL_RELU = tuple(
    replace(cell, setting=setting)
    for setting in ("optimal", "undertrained")
    for cell in RELU.values()
)

WELCH = f"Welch's p, by Holm's correction of all, below {LEVEL}"
"""The test of several pairs together."""

RANKS = f"Welch's p of the ranks, by Holm's correction of all, below {LEVEL}"
"""The test of repetitions of which a few may diverge."""

LOWER_MEAN = f"lower mean average KL, {WELCH}, in every available pair"

LOWER_MEAN_AND_STD = (
    f"lower mean average KL and standard deviation (Welch's test; {F_TEST} after Holm's correction "
    "of all), in every available pair"
)

EQUIVALENCE_MARGIN = 0.005
"""Difference of the average KL, nats, within which configurations are equivalent."""

EQUIVALENT = (
    f"within {EQUIVALENCE_MARGIN} nats of zero, with its whole {INTERVAL} (Welch); "
    "contradicted if it is significantly larger"
)

NO_DIFFERENCE = (
    f"in every group, the difference of every pair of means is {EQUIVALENT}, by Holm's correction "
    "for all of the group"
)

EARLY_ITERATIONS = 500
"""Iterations after which, according to the thesis, the loss of reverse KL is steady."""

BURN_IN = 0.1
"""Fraction of the iterations before trends are fitted."""

TOO_FEW_EVALUATIONS = "too few evaluations in a part of the training"

Case = tuple[Decision, str, Sequence[ThesisCell]]
"""Whether a claim holds in one case, the evidence, and the configurations that it is from."""


def for_every_case(
    missing: str = "",
) -> Callable[[Callable[..., Iterator[Case]]], Callable[..., CheckResult]]:
    """Return a decorator for a check that yields its cases, all of which must hold.

    Args:
        missing: reason why the claim is not judged if there is no case.
    """

    def decorate(check: Callable[..., Iterator[Case]]) -> Callable[..., CheckResult]:
        @wraps(check)
        def check_all(evidence: SprinklerEvidence, *args: object, **kwargs: object) -> CheckResult:
            cases = list(check(evidence, *args, **kwargs))
            if not cases:
                raise NotTestable(missing)
            holds, parts, used = zip(*cases, strict=True)
            note = evidence.deviation_note(cell for cells in used for cell in cells)
            return all_hold(holds), "; ".join(parts) + note

        return check_all

    return decorate


@for_every_case()
def is_better(
    evidence: SprinklerEvidence,
    pairs: Sequence[tuple[ThesisCell, ThesisCell]],
    table: str = "",
    spread: bool = False,
    min_pairs: int = 1,
) -> Iterator[Case]:
    """Check whether the first configuration of each pair has a significantly lower mean.

    Contradicted if a mean, or standard deviation, is significantly higher.

    Args:
        evidence: the runs.
        pairs: the configuration claimed to be better, then the other.
        table: number of the table in the thesis; by default that of chapter 8 or 9.
        spread: whether its standard deviation must be lower too.
        min_pairs: number of pairs that must be available.
    """
    available = evidence.with_enough(pairs, table, min_pairs)
    samples = [[evidence.sample(cell, table) for cell in pair] for pair in available]
    tests = [welch(other, better) for better, other in samples]
    spreads = [SpreadTest(other, better) for better, other in samples if spread]
    decisions = positive([*tests, *spreads])
    for k, (pair, (better, other), test) in enumerate(zip(available, samples, tests, strict=True)):
        text = f"{pair[1].name} minus {pair[0].name}: {test}"
        if spread:
            text += f", sd {better.std:.4f} against {other.std:.4f}, p {spreads[k].p:.2g}"
        yield all_hold(decisions[k :: len(tests)]), text, pair


@for_every_case()
def are_equivalent(evidence: SprinklerEvidence, groups: Sequence[Group]) -> Iterator[Case]:
    """Check whether the means of each group are equivalent."""
    evidence.with_enough([[cell for group in groups for cell in group]])
    for group in groups:
        samples = [evidence.sample(cell) for cell in group]
        means = [sample.mean for sample in samples]
        tests = [welch(*pair) for pair in combinations(samples, 2)]
        widest = max(abs(end) for test in tests for end in test.interval)
        equivalent = are_within(tests, EQUIVALENCE_MARGIN)
        divergences = dict.fromkeys(DIVERGENCES[cell.divergence] for cell in group)
        text = (
            f"{group[0].contrast}, {' and '.join(divergences)}: {min(means):.4f} to "
            f"{max(means):.4f}, intervals within {widest:.4f} of zero"
        )
        yield equivalent, text, group


def known(*values: float) -> tuple[float, ...]:
    """Return numbers to compare, none of which may be NaN, because comparisons would be false.

    Raises:
        NotTestable: if one is NaN, as the mean of a part of the training without evaluations is.
    """
    if any(map(math.isnan, values)):
        raise NotTestable(TOO_FEW_EVALUATIONS)
    return values


def pairwise_tests(
    evidence: SprinklerEvidence, group: Sequence[ThesisCell]
) -> Iterator[tuple[str, MeanTest]]:
    """Yield the name of every pair of a group, and the t-test of its means.

    The test is paired if repetitions of the same number share weights and random numbers.
    """
    for a, b in combinations(group, 2):
        symbols = f"{SYMBOLS[a.estimator]} and {SYMBOLS[b.estimator]}"
        name = f"{CONTRASTS[a.contrast]}, {DIVERGENCES[a.divergence]}, {symbols}"
        runs = [*evidence.available((a, b)).values()]
        if len(runs) == 2 and runs[0].differs_only_in("estimator", runs[1]):
            yield name, one_sample(runs[0].differences(runs[1]))
        else:
            yield name, welch(evidence.sample(a), evidence.sample(b))


def describe_share(count: int, total: int, verb: str) -> str:
    """Return `3 of 10 fail (share 0.07 to 0.65)`."""
    low, high = share_interval(count, total)
    return f"{count} of {total} {verb} (share {low:.2f} to {high:.2f})"


def repetitions_of(
    evidence: SprinklerEvidence, cells: Iterable[ThesisCell], ratio: str
) -> tuple[list[SprinklerRun], int]:
    """Return the runs of some configurations, and their number of repetitions if it suffices."""
    runs = [evidence.runs[cell] for cell in cells if cell in evidence.runs]
    total = sum(len(run.scores) for run in runs)
    if not runs:
        raise NotTestable(f"no runs of the {ratio} ratio")
    if total < MIN_REPETITIONS:
        raise TooFew(f"{quantity(total, 'repetition')} of the {ratio} ratio", ENOUGH)
    return runs, total


def half_differ(groups: Sequence[Mapping[str, MeanTest]], differ: Sequence[bool]) -> Undecided:
    """Return how many repetitions would show a difference in half of the groups.

    Args:
        groups: the tests of each group.
        differ: whether one of them is significant.
    """
    level = LEVEL / sum(map(len, groups))
    needed = sorted(
        0 if found else min(test.undecided(level).needed for test in tests.values())
        for tests, found in zip(groups, differ, strict=True)
    )
    return Undecided(needed[(len(needed) - 1) // 2])


def less(sample: Sample, value: float) -> MeanTest:
    """Return the test of a mean minus a number."""
    return one_sample(replace(sample, mean=sample.mean - value))


def standardised_difference(first: Sample, second: Sample) -> float:
    """Return the difference of two means in pooled standard deviations."""
    pooled = math.sqrt((first.std**2 + second.std**2) / 2)
    return abs(first.mean - second.mean) / pooled


def runs_under_both(
    evidence: SprinklerEvidence,
) -> Iterator[tuple[Group, SprinklerRun, SprinklerRun]]:
    """Yield each undertrained estimator's configurations, and its runs with GAN and reverse KL."""
    pairs = by_divergence("undertrained")
    found = {(gan, kl): evidence.available((gan, kl)) for kl, gan in pairs}
    both = {pair: runs for pair, runs in found.items() if len(runs) == 2}
    if not both:
        raise evidence.not_enough(pairs, needs_runs=True)
    for (gan, kl), runs in both.items():
        yield (gan, kl), runs[gan], runs[kl]


def loss_changes(run: SprinklerRun) -> tuple[float, float]:
    """Return the mean change of the estimator loss up to `EARLY_ITERATIONS` and after it.

    Raises:
        NotTestable: if there are too few evaluations in one of the parts.
    """
    wide = run.curves_of("estimator_loss")
    change = wide.diff().abs().iloc[1:].mean(axis=1)
    early = change.index <= EARLY_ITERATIONS
    before, after = known(change[early].mean(), change[~early].mean())
    return before, after


def slope(run: SprinklerRun, measure: str) -> float:
    """Return the slope of a mean curve, nats per thousand iterations.

    Raises:
        NotTestable: if it has fewer than three evaluations after `BURN_IN`.
    """
    curve = run.mean_curve
    late = curve[curve.index >= BURN_IN * curve.index.max()].dropna()
    if len(late) < 3:
        raise NotTestable(TOO_FEW_EVALUATIONS)
    return float(np.polyfit(late.index / 1000, late[measure], 1)[0])
