"""t-tests of means: their p, Holm's correction, and equivalence within a margin."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binomtest, f, rankdata, t, ttest_1samp, ttest_ind, ttest_rel
from support.decisions import settled

from bnnbench.experiment.store.answer_tables import Sample
from bnnbench.results.claims.claims import TooFew
from bnnbench.results.claims.mean_tests import (
    LEVEL,
    MeanTest,
    SpreadTest,
    against_value,
    all_positive,
    are_within,
    check_positive,
    one_sample,
    positive,
    rank_test,
    significant,
    welch,
)
from bnnbench.results.claims.saved_run import summarise
from bnnbench.results.compare.power import POWER, repetitions_needed
from bnnbench.results.compare.undecided import NO_SPREAD, Undecided


def test_tests_of_samples_agree_with_scipy() -> None:
    random = np.random.default_rng(0)
    first, second = random.normal(1, 2, 14), random.normal(0, 0.5, 9)
    found = welch(summarise(first), summarise(second))
    true = ttest_ind(first, second, equal_var=False)
    assert (found.p, found.freedom) == pytest.approx((true.pvalue, true.df))
    assert found.mean == pytest.approx(first.mean() - second.mean())
    assert found.interval == pytest.approx(tuple(true.confidence_interval(0.95)))
    paired = one_sample(summarise(first[:9] - second))
    assert paired.p == pytest.approx(ttest_rel(first[:9], second).pvalue)
    for limit in (-1.0, 0.0, 2.0):
        expected = ttest_1samp(first[:9] - second, limit).pvalue
        assert paired.p_against(limit) == pytest.approx(expected)
    assert paired.p_against(-math.inf) == 0 == paired.p_against(math.inf)


@pytest.mark.parametrize("stderr", [0.0, 0.3, 1e6])
@pytest.mark.parametrize("values", [[1.0, 2.0, 4.0], [1.0, 1.5], [1.0]])
def test_a_value_with_a_known_error_is_a_sample_without_end(
    values: list[float], stderr: float
) -> None:
    sample, size = Sample.of(np.array(values)), 10**9
    found = against_value(one_sample(sample), 3.0, stderr)
    expected = welch(sample, Sample(3.0, stderr * math.sqrt(size - 1), size))
    assert found.p == pytest.approx(expected.p, nan_ok=True)
    assert (found.mean, found.stderr) == pytest.approx(
        (expected.mean, expected.stderr), nan_ok=True
    )
    if stderr == 0 and sample.std > 0:
        assert found.p == pytest.approx(ttest_1samp(values, 3.0).pvalue)


def test_without_a_known_variance_nothing_is_shown() -> None:
    alone, second = Sample(1.0, 0.0, 1), Sample(2.0, 0.1, 9)
    assert math.isnan(welch(alone, second).p) and math.isnan(one_sample(alone).p)
    assert positive([one_sample(alone), one_sample(second)]) == [NO_SPREAD, True]
    assert positive([welch(alone, second), SpreadTest(alone, second)]) == [NO_SPREAD] * 2
    assert are_within([one_sample(alone)], 5.0) == NO_SPREAD
    decisions, evidence = all_positive({"two": second, "one": alone})
    assert decisions == [True, NO_SPREAD] and evidence.endswith("; one: +1")
    with pytest.raises(TooFew):
        all_positive({"two": second, "none": Sample()})


def test_equal_repetitions_are_not_certain() -> None:
    equal = one_sample(Sample(1.0, 0.0, 3))
    assert (equal.p, equal.p_against(1.0), equal.p_against(2.0)) == (0.25, 1, 0.25)
    assert welch(Sample(1.0, 0.0, 3), Sample(0.0, 0.0, 4)).p == 0.25
    assert welch(Sample(1.0, 0.0, 3), Sample(1.0, 0.0, 4)).p == 1


def test_two_standard_errors_do_not_suffice_with_three_repetitions() -> None:
    """Student's quantile is 4.30, not 2."""
    sample = Sample.of(np.array([1.0, 2.0, 3.0]))
    for multiple, holds in ((4.2, None), (4.4, True), (-4.2, None), (-4.4, False)):
        found = Sample(multiple * sample.stderr, sample.std, 3)
        assert [*map(settled, all_positive({"": found})[0])] == [holds], multiple


def test_tests_made_together_are_corrected() -> None:
    assert significant([0.01, 0.04]) == [True, True]
    assert significant([0.03, 0.04]) == [False, False]
    assert significant([0.01, math.nan]) == [True, False]
    weak = Sample(2.0, 1.0, 5)  # p is 0.016
    decisions, evidence = all_positive({f"K = {k}": weak for k in range(8)})
    # 4.5 standard errors suffice for one of them, and the safe level is 0.05 / 8.
    assert decisions == [Undecided(repetitions_needed(2.0 / 1.25**0.5, LEVEL / 8))] * 8
    assert "(p 0.13)" in evidence
    assert all_positive({"K = 0": weak})[0] == [True]
    assert all_positive({"K = 0": Sample(-2.0, 1.0, 5)})[0] == [False]


@pytest.mark.parametrize(
    ("mean", "stderr", "expected"),
    [
        (0.0, 0.1, True),
        (0.7, 0.1, True),
        (0.9, 0.1, None),  # the mean is inside, but the interval reaches beyond the margin
        (1.1, 0.1, None),  # the mean is outside, but not significantly
        (0.0, 0.6, None),  # too wide
        (1.4, 0.1, False),
        (-1.4, 0.1, False),
        (9.0, 0.6, False),  # wide, but outside
    ],
)
def test_equivalence_is_decided_if_the_repetitions_suffice(
    mean: float, stderr: float, expected: bool | None
) -> None:
    assert settled(are_within([MeanTest(mean, stderr, 4)], 1.0)) is expected
    assert settled(are_within([MeanTest(mean, stderr, 4), MeanTest(0.0, 0.01, 4)], 1.0)) is expected
    assert are_within([MeanTest(-9.0, 0.1, 4)], 1.0, below=False) is True
    assert are_within([MeanTest(9.0, 0.1, 4)], 1.0, above=False) is True


def test_under_equality_equivalence_is_seldom_refuted() -> None:
    """With three repetitions, the old rule of two standard errors refuted 42 % of triples."""
    random = np.random.default_rng(0)
    refuted = 0
    for _ in range(300):
        values = random.normal(size=(3, 3))
        pairs = [one_sample(Sample.of(values[a] - values[b])) for a, b in ((0, 1), (0, 2), (1, 2))]
        refuted += are_within(pairs, 0.5) is False
    assert refuted < 15


@pytest.mark.parametrize("shift", [-2.0, -1.0, 0.3, 0.6, 1.0])
def test_a_claim_needs_a_significant_mean(shift: float) -> None:
    values = pd.Series(np.random.default_rng(0).normal(shift, size=12))
    test = ttest_1samp(values, 0)
    holds, evidence = check_positive(values, "features", "AUROC of a - b")
    assert settled(holds) == (bool(values.mean() > 0) if test.pvalue < LEVEL else None)
    low, high = test.confidence_interval(1 - LEVEL)
    assert f"[{low:.2f}, {high:.2f}] over 12 features, p {test.pvalue:.2g}" in evidence


@pytest.mark.parametrize(
    ("value", "count", "holds"),
    [
        (0.1, 6, True),
        (-0.1, 6, False),
        (0.1, 5, Undecided(6, "features")),
        (0.0, 99, Undecided(math.inf, "features")),
    ],
)
def test_equal_values_are_tested_by_their_signs(
    value: float, count: int, holds: bool | Undecided
) -> None:
    values = pd.Series([value] * count)
    assert check_positive(values, "features", "AUROC of a - b")[0] == holds
    test = binomtest(count, count).pvalue if value else 1.0
    assert MeanTest(value, 0.0, count - 1).p == pytest.approx(test)


@pytest.mark.parametrize(("count", "decision"), [(2, Undecided(6)), (6, True)])
def test_equal_values_are_within_a_margin_if_they_are_enough(
    count: int, decision: bool | Undecided
) -> None:
    assert are_within([MeanTest(0.1, 0.0, count - 1)], 0.2) == decision


def test_two_values_are_too_few() -> None:
    with pytest.raises(TooFew):
        check_positive(pd.Series([1.0, 2.0, np.nan]), "features", "AUROC of a - b")


@pytest.mark.parametrize(
    ("first", "second", "size", "expected"),
    [
        (2.0, 1.0, 30, True),
        (1.0, 2.0, 30, False),
        (1.1, 1.0, 30, None),
        (2.0, 1.0, 5, None),
        (1.0, 0.0, 5, True),
        (0.0, 0.0, 5, None),
        (1.0, 2.0, 1, None),
    ],
)
def test_spreads_are_compared_by_f_tests(
    first: float, second: float, size: int, expected: bool | None
) -> None:
    test = SpreadTest(Sample(5.0, first, size), Sample(0.0, second, size))
    assert [*map(settled, positive([test]))] == [expected]
    if first and second and size > 1:
        tails = (
            f.cdf(ratio := (first / second) ** 2, size - 1, size - 1),
            f.sf(ratio, size - 1, size - 1),
        )
        assert test.p == pytest.approx(2 * min(tails))


def test_spreads_of_samples_of_unequal_size_have_unbiased_variances() -> None:
    random = np.random.default_rng(0)
    first, second = random.normal(size=5), random.normal(size=9)
    ratio = first.var(ddof=1) / second.var(ddof=1)
    found = SpreadTest(summarise(first), summarise(second))
    assert found.mean == pytest.approx(math.log(ratio))
    assert found.p == pytest.approx(2 * min(f.cdf(ratio, 4, 8), f.sf(ratio, 4, 8)))


def test_a_diverged_repetition_does_not_decide_a_test_of_ranks() -> None:
    random = np.random.default_rng(0)
    low, high = (pd.Series(random.normal(mean, 1, 20)) for mean in (0, 2))
    low[3], high[4] = 1e9, np.nan
    ranks = rankdata([*high.dropna(), *low])
    assert rank_test(high, low).p == pytest.approx(
        ttest_ind(ranks[:19], ranks[19:], equal_var=False).pvalue
    )
    assert positive([rank_test(high, low), rank_test(low, high)]) == [True, False]
    assert positive([rank_test(low, low)]) == [Undecided(math.inf)]


def rejection_rate(test: MeanTest, size: int, level: float) -> float:
    """Return how often a t-test of normal repetitions has the sign of the mean, by simulation."""
    std = test.stderr * math.sqrt(test.freedom + 1)
    draws = np.random.default_rng(0).normal(test.mean, std, (20_000, size))
    statistic = draws.mean(1) / (draws.std(1, ddof=1) / math.sqrt(size))
    return float((np.sign(test.mean) * statistic > t.ppf(1 - level / 2, size - 1)).mean())


@pytest.mark.parametrize(("mean", "std", "size"), [(1.0, 1.2, 4), (-1.0, 2.5, 3), (3.0, 0.5, 2)])
@pytest.mark.parametrize("tests", [1, 10])
def test_the_number_that_decides_a_mean_has_the_power(
    mean: float, std: float, size: int, tests: int
) -> None:
    sample = one_sample(Sample(mean, std, size))
    (needed, *_) = positive([sample] * tests)
    assert isinstance(needed, Undecided) and needed.needed > size
    number = int(needed.needed)
    assert rejection_rate(sample, number, LEVEL / tests) > POWER - 0.01
    assert rejection_rate(sample, number - 1, LEVEL / tests) < POWER + 0.01


@pytest.mark.parametrize(
    ("mean", "below", "limit"),
    [(0.0, True, 1.0), (0.4, True, 0.6), (0.4, False, 0.6), (-0.4, False, 1.4), (1.5, True, 0.5)],
)
def test_the_number_that_decides_a_margin_is_that_of_its_nearest_end(
    mean: float, below: bool, limit: float
) -> None:
    """The whole interval must be inside, or the mean significantly outside; see `are_within`."""
    found = are_within([MeanTest(mean, 1.0, 3)], 1.0, below=below)
    power = 0.9 if below and mean < 1 else POWER  # both ends must be avoided
    assert found == Undecided(repetitions_needed(limit / 2.0, power=power))


def test_a_mean_at_the_margin_is_never_decided() -> None:
    assert are_within([MeanTest(1.0, 1.0, 3)], 1.0) == Undecided(math.inf)


def test_the_widest_of_several_intervals_decides_last() -> None:
    narrow, wide, inside = MeanTest(0.0, 0.4, 3), MeanTest(0.0, 0.8, 3), MeanTest(0.0, 0.1, 3)
    assert are_within([narrow, wide, inside], 1.0) == are_within([wide], 1.0)


def test_two_samples_need_as_many_repetitions_as_their_differences() -> None:
    """Of samples of unequal size, the number is that of each."""
    found = welch(Sample(1.0, 1.0, 5), Sample(0.5, 2.0, 17))
    std = math.sqrt(5 / 4 * 1.0 + 17 / 16 * 4.0)
    assert positive([found]) == [Undecided(repetitions_needed(0.5 / std))]
