"""The rule of significance, recomputed with scipy alone from the scores of splits."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import t
from support.runs import make_run

from bnnbench.results.compare.outcomes import (
    NOT_TESTED,
    OUTCOMES,
    all_pairs,
    compare_with,
    from_both_sides,
    mirrored,
    not_significantly_worse,
    tally,
    with_outcomes,
)
from bnnbench.results.compare.pairing import SplitScores
from bnnbench.results.compare.significance import add_names, compare_pairs
from bnnbench.results.metric_table import BY_KEY, printed_in
from bnnbench.results.read.run_tables import read_runs

SPLITS = 20
RMSE = BY_KEY["rmse"]
RNG = np.random.default_rng(0)
BASE = 5 + np.sin(np.arange(SPLITS))
NOISE = RNG.standard_normal((6, SPLITS))
NOISE -= NOISE.mean(1, keepdims=True)
TENTH = 51 / 506

SCORES = {
    "a": BASE,
    "far": BASE + 1 + 0.1 * NOISE[0],
    "hint": BASE + 0.33 + 0.5 * NOISE[1],  # p alone is below 0.05
    "near": BASE + 0.01 * NOISE[2],
    "small": BASE + 0.02 + 0.001 * NOISE[3],  # significant inside the region of equivalence
    "wild": BASE + 3 * NOISE[4],
}
"""RMSE by method and split."""


def interval_and_p(a: np.ndarray, b: np.ndarray) -> tuple[float, float, float, float]:
    """Return the mean difference, both ends of its interval, and its p (Nadeau & Bengio 2003)."""
    d = a - b
    error = d.std(ddof=1) * math.sqrt(1 / len(d) + TENTH / (1 - TENTH))
    low, high = t.interval(0.95, len(d) - 1, d.mean(), error)
    return d.mean(), low, high, 2 * t.sf(abs(d.mean()) / error, len(d) - 1)


def adjusted(p: list[float]) -> list[float]:
    """Return p-values adjusted by Holm (1979), from his definition."""
    steps = [(len(p) - k) * one for k, one in enumerate(sorted(p))]
    return [min(1, max(steps[: sorted(p).index(one) + 1])) for one in p]


def expected(pairs: list[tuple[str, str]], sign: int = 1, nats: bool = False) -> pd.DataFrame:
    """Return the numbers and outcomes of these pairs, which are all comparisons of a family."""
    tests = [interval_and_p(sign * SCORES[a], sign * SCORES[b]) for a, b in pairs]
    outcomes, holm = [], adjusted([test[3] for test in tests])
    for (a, b), (mean, low, high, _), p in zip(pairs, tests, holm, strict=True):
        rope = 0.01 if nats else 0.01 * (SCORES[a].mean() + SCORES[b].mean()) / 2
        if p < 0.05:
            outcomes.append("better" if sign * mean < 0 else "worse")
        else:
            outcomes.append("equivalent" if -rope <= low and high <= rope else "undecided")
    table = pd.DataFrame(tests, columns=["difference", "low", "high", "p_value"])
    return table.assign(p_holm=holm, outcome=outcomes)


def assert_equal(found: pd.DataFrame, true: pd.DataFrame) -> None:
    found = found[[*true]].reset_index(drop=True).astype(true.dtypes)
    pd.testing.assert_frame_equal(found, true, rtol=1e-7, atol=1e-12)


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> pd.DataFrame:
    """Return all comparisons of runs whose log-likelihood is minus their RMSE, with names."""
    path = tmp_path_factory.mktemp("outputs")
    for method, rmse in SCORES.items():
        scores = {"rmse": rmse, "crps": rmse, "log_likelihood": -rmse, "split": range(SPLITS)}
        likelihoods = {"log_likelihood_joint": -rmse, "log_likelihood_gaussian": -rmse}
        make_run(path, method=method, at_bound="", **scores, **likelihoods)
    runs = read_runs(path)
    return add_names(all_pairs(runs), runs.scored["method"])


@pytest.mark.parametrize("metric", ["rmse", "crps", "log_likelihood"])
def test_every_pair_is_judged_by_the_correlated_t_test_and_holm(
    pairs: pd.DataFrame, metric: str
) -> None:
    own, higher = pairs[pairs["metric"] == metric], metric == "log_likelihood"
    true = expected([*zip(own["a"], own["b"], strict=True)], -1 if higher else 1, higher)
    assert_equal(own, true)
    assert len(own) == 15 and {*true["outcome"]} == {*OUTCOMES}
    alone = (true["p_value"] < 0.05) & (true["p_holm"] >= 0.05)
    assert alone.any(), "the correction matters"


@pytest.mark.parametrize("name", SCORES)
def test_a_run_is_adjusted_over_its_rivals(pairs: pd.DataFrame, name: str) -> None:
    own = pairs[pairs["metric"] == "rmse"]
    run = {**dict(zip(own["a"], own["run_a"], strict=True)), "wild": own["run_b"].iloc[-1]}[name]
    found = compare_with(run, own)
    assert set(found["b"]) == {name} and found.index.tolist() == found["run_a"].tolist()
    assert_equal(found, expected([*zip(found["a"], found["b"], strict=True)]))


def test_both_sides_are_adjusted_over_the_rivals_of_the_second_run(pairs: pd.DataFrame) -> None:
    found = from_both_sides(pairs[pairs["metric"] == "rmse"])
    assert len(found) == 30
    for name, own in found.groupby("b"):
        assert len(own) == 5, name
        assert_equal(own, expected([*zip(own["a"], own["b"], strict=True)]))


def test_more_comparisons_make_fewer_differences_significant(pairs: pd.DataFrame) -> None:
    own = pairs[(pairs["metric"] == "rmse") & (pairs["a"] == "a") & (pairs["b"] == "hint")]
    assert own["outcome"].item() == "undecided" and own["p_value"].item() < 0.05
    assert with_outcomes(own)["outcome"].item() == "better"


def test_mirrored_pairs_have_opposite_outcomes(pairs: pd.DataFrame) -> None:
    other = mirrored(pairs)
    pd.testing.assert_frame_equal(mirrored(other), pairs)
    assert other["a"].tolist() == pairs["b"].tolist()
    np.testing.assert_array_equal(other["high"], -pairs["low"])
    again = with_outcomes(other.drop(columns=["p_holm", "outcome"]))
    assert again["outcome"].tolist() == other["outcome"].tolist()
    assert again["p_holm"].tolist() == other["p_holm"].tolist()
    swap = {"better": "worse", "worse": "better"}
    assert other["outcome"].tolist() == pairs["outcome"].replace(swap).tolist()


def one_pair(a: np.ndarray, b: np.ndarray) -> pd.Series:
    """Return the comparison of two runs by their RMSE."""
    scores = SplitScores(
        {"rmse": {"a": a, "b": b}},
        dict.fromkeys("ab", np.full(len(a), TENTH)),
        {"a": np.isnan(a), "b": np.isnan(b)},
    )
    pairs = compare_pairs([("boston", scores, scores, [("a", "b")])], metrics=(RMSE,))
    return with_outcomes(pairs).iloc[0]


def lost(scores: np.ndarray, *splits: int) -> np.ndarray:
    return np.where(np.isin(np.arange(SPLITS), splits), np.nan, scores)


@pytest.mark.parametrize(
    ("a_lost", "b_lost", "outcome"),
    [
        ((), (), "better"),
        ((3,), (), "worse"),
        ((), (3,), "better"),
        ((3,), (4,), "undecided"),
        ((3, 5), (4,), "undecided"),
        ((3,), (3,), "better"),
        ((3, 4), (3,), "worse"),
    ],
)
@pytest.mark.parametrize("swapped", [False, True])
def test_a_run_that_alone_diverged_is_worse(
    a_lost: tuple[int, ...], b_lost: tuple[int, ...], outcome: str, swapped: bool
) -> None:
    """On the splits on which both finished, `a` is much better."""
    both = lost(BASE, *a_lost), lost(SCORES["far"], *b_lost)
    swap = {"better": "worse", "worse": "better"} if swapped else {}
    pair = one_pair(*both[:: -1 if swapped else 1])
    assert pair["outcome"] == swap.get(outcome, outcome)
    tested = len({a_lost, b_lost}) == 1
    assert (pair["p_holm"] < 0.05) == tested == np.isfinite(pair["low"]), "no test is needed"


@pytest.mark.parametrize("finished", [0, 1, 2, 3])
def test_a_run_that_diverged_almost_everywhere_is_worse(finished: int) -> None:
    pair = one_pair(lost(BASE, *range(finished, SPLITS)), BASE)
    assert (pair["outcome"], pair["splits"]) == ("worse", finished)
    assert np.isnan([pair["p_holm"], pair["low"], pair["high"]]).all()


def test_runs_that_are_never_ranked_are_no_rivals() -> None:
    scores = SplitScores(
        {"rmse": {"a": BASE, "b": BASE + 0.3 * NOISE[0], "c": BASE - 1}},
        dict.fromkeys("abc", np.full(SPLITS, TENTH)),
        dict.fromkeys("abc", np.zeros(SPLITS)),
    )
    pairs = compare_pairs(
        [("boston", scores, scores, [("a", "b"), ("a", "c"), ("b", "c")])], metrics=(RMSE,)
    )
    found = with_outcomes(pairs, barred={"c"})
    assert found["outcome"].tolist()[1:] == [NOT_TESTED] * 2 and found["p_holm"][1:].isna().all()
    assert found["p_holm"][0] == pytest.approx(pairs["p_value"][0])


@pytest.mark.parametrize(
    ("b", "outcome"),
    [
        (BASE, "equivalent"),
        (BASE * (1 + 1e-8), "equivalent"),
        (BASE + 1e-7, "equivalent"),
        (BASE + 1e-8 * NOISE[0], "equivalent"),
        (BASE + 1e-4, "better"),
        (BASE + 1, "better"),
        (BASE - 1, "worse"),
    ],
)
def test_rounding_is_no_difference(b: np.ndarray, outcome: str) -> None:
    """Other processors change the last digits of every split in the same direction."""
    pair = one_pair(BASE, b)
    assert pair["outcome"] == outcome
    assert pair["p_value"] == pytest.approx(1 if outcome == "equivalent" else 0)


@pytest.mark.parametrize(
    ("shift", "noise", "outcome"),
    [
        (0.02, 0.001, "worse"),  # significant, although inside the region of equivalence
        (0.0, 0.05, "equivalent"),
        (0.04, 0.05, "undecided"),  # the mean is inside, the interval is not
        (0.0, 1.0, "undecided"),
        (0.5, 0.05, "worse"),
    ],
)
def test_significance_precedes_equivalence(shift: float, noise: float, outcome: str) -> None:
    """The region of equivalence is 0.05 wide to either side."""
    steps = np.where(np.arange(SPLITS) % 2, noise, -noise)
    pair = one_pair(BASE + shift + steps, BASE)
    assert pair["outcome"] == outcome and pair["rope"] == pytest.approx(0.05, abs=0.003)


def test_a_significant_interval_excludes_zero(pairs: pd.DataFrame) -> None:
    significant = pairs["outcome"].isin(["better", "worse"])
    outside = (pairs["low"] > 0) | (pairs["high"] < 0)
    assert outside[significant].all() and significant.any() and (outside & ~significant).any()


def test_the_best_run_and_those_not_significantly_worse(pairs: pd.DataFrame) -> None:
    own = pairs[pairs["metric"] == "rmse"]
    losses = pd.Series({name: rmse.mean() for name, rmse in SCORES.items()})
    by_run = own.assign(run_a=own["a"], run_b=own["b"])
    means = losses.sort_values().index.tolist()
    rivals = [(name, means[0]) for name in means[1:]]
    outcomes = expected(rivals)["outcome"]
    best = {means[0], *(name for (name, _), one in zip(rivals, outcomes, strict=True)
                        if one != "worse")}  # fmt: skip
    assert not_significantly_worse(losses, by_run) == best and 1 < len(best) < len(SCORES)
    apart = pd.Series({"apart": 0.0})
    assert not_significantly_worse(pd.concat([losses, apart]), by_run) == {"apart"}
    unknown = pd.Series({"unknown": math.nan})
    assert not_significantly_worse(pd.concat([losses, unknown]), by_run) == best
    assert not_significantly_worse(unknown, by_run) == set()
    # A family without the runs that have no loss: two runs make one comparison.
    assert not_significantly_worse(losses[["a", "hint"]], by_run) == {"a"}


def test_outcomes_are_counted_from_both_sides(pairs: pd.DataFrame) -> None:
    counts = tally(pairs).set_index(["metric", "method"])
    assert [*counts] == [*OUTCOMES] and (counts.sum(axis=1) == 5).all()
    for metric in printed_in("pairs"):
        own = pairs[pairs["metric"] == metric.key]
        for name in SCORES:
            better = ((own["a"] == name) & (own["outcome"] == "better")) | (
                (own["b"] == name) & (own["outcome"] == "worse")
            )
            assert counts.loc[(metric.key, name), "better"] == better.sum()
    assert counts["better"].sum() == counts["worse"].sum() > 0


def test_no_pairs_have_no_outcomes() -> None:
    empty = with_outcomes(compare_pairs([]))
    assert empty.empty and [*empty][-2:] == ["p_holm", "outcome"]
    assert tally(add_names(empty, pd.Series(dtype=object))).empty


def test_families_are_adjusted_apart(pairs: pd.DataFrame) -> None:
    """A second data set does not change the first."""
    own = pairs.drop(columns=["p_holm", "outcome"])
    both = with_outcomes(pd.concat([own, own.assign(dataset="yacht")], ignore_index=True))
    assert both["p_holm"].tolist() == 2 * pairs["p_holm"].tolist()
    assert len({*combinations(SCORES, 2)}) * 3 == len(pairs)
