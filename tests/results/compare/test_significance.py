"""The correlated t-test, its probabilities compared with baycomp, and pairwise comparisons."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from baycomp import two_on_single
from baycomp.single import Posterior
from scipy.stats import t
from support.runs import make_run

from bnnbench.experiment.store.split_files import SPLITS
from bnnbench.results.compare.outcomes import all_pairs
from bnnbench.results.compare.pairing import dataset_pairs
from bnnbench.results.compare.significance import (
    COLUMNS,
    add_names,
    compare_pairs,
    compare_scores,
    correlated_t_test,
    interval_and_p,
)
from bnnbench.results.metric_table import BY_KEY, printed_in
from bnnbench.results.read.labels import labels
from bnnbench.results.read.run_tables import Runs, read_runs

RNG = np.random.default_rng(0)
BASE = 3 + 0.5 * RNG.normal(size=20)
TENTH = np.full(20, 0.1)
RMSE = BY_KEY["rmse"]


def make_twenty(
    outputs: Path, method: str, rmse: np.ndarray, dataset: str = "boston", **columns: Any
) -> None:
    """Write a finished run of twenty splits whose scores are derived from one metric."""
    likelihoods = ("log_likelihood", "log_likelihood_joint", "log_likelihood_gaussian")
    scores = {"split": range(20), "rmse": rmse, "crps": rmse / 2, "at_bound": ""}
    scores |= dict.fromkeys(likelihoods, -rmse)
    make_run(outputs, method=method, dataset=dataset, **scores, **columns)


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return runs of three methods on two data sets: b is clearly better than a, c equals a."""
    path = tmp_path_factory.mktemp("outputs")
    for dataset in ("boston", "yacht"):
        scores = {"a": BASE, "b": BASE - 1, "c": BASE + 1e-6 * RNG.normal(size=20)}
        for method, rmse in scores.items():
            make_twenty(path, method, rmse, dataset)
    return path


def by_method(runs: Runs) -> pd.DataFrame:
    return add_names(all_pairs(runs), runs.scored["method"])


def test_twenty_splits_equal_two_runs_of_ten_folds_in_baycomp() -> None:
    a, b = BASE, BASE + 0.1 + 0.3 * RNG.normal(size=20)
    tenth = two_on_single(a, b, rope=0.05, runs=2)
    np.testing.assert_allclose(correlated_t_test(a, b, 0.05, 0.1), tenth)
    without = correlated_t_test(a, b, 0.0, 0.1)
    np.testing.assert_allclose((without[0], without[2]), two_on_single(a, b, runs=2))


@pytest.mark.parametrize(("fraction", "folds"), [(0.1, 10), (0.2, 5), (0.25, 4)])
def test_the_correlation_is_the_test_fraction_as_in_cross_validation(
    fraction: float, folds: int
) -> None:
    """With k folds the test fraction is 1 / k, where baycomp uses 1 / (k - 1)."""
    a, b = BASE, BASE + 0.1 + 0.3 * RNG.normal(size=20)
    probabilities = correlated_t_test(a, b, 0.05, fraction)
    np.testing.assert_allclose(probabilities, two_on_single(a, b, rope=0.05, runs=20 // folds))


def test_a_larger_test_fraction_makes_the_posterior_wider(tmp_path: Path) -> None:
    """The scale at 30 % is sqrt((1/20 + 3/7) / (1/20 + 1/9)) = 1.72 times that at 10 %."""
    better, certainty = BASE - 0.05 + 0.1 * RNG.normal(size=20), {}
    for rows in (10, 30):
        sizes = {"training_rows": 100 - rows, "test_rows": rows}
        make_twenty(tmp_path / str(rows), "a", BASE, **sizes)
        make_twenty(tmp_path / str(rows), "b", better, **sizes)
        pairs = all_pairs(read_runs(tmp_path / str(rows)), rope=0).set_index("metric")
        certainty[rows] = t.ppf(pairs.loc["rmse", "p_worse"], df=19)
    assert certainty[10] / certainty[30] == pytest.approx(
        math.sqrt((1 / 20 + 3 / 7) / (1 / 20 + 1 / 9))
    )


def test_lower_rmse_and_higher_likelihood_are_better() -> None:
    better = BASE - 1 + 0.01 * RNG.normal(size=20)
    for metric in printed_in("pairs"):
        a, b = (metric.sign * scores[None] for scores in (BASE, better))
        assert compare_scores(a, b, TENTH[None], metric)["p_worse"] > 0.99


def test_comparing_many_pairs_equals_comparing_each_alone() -> None:
    """One pair has missing splits, another has identical differences."""
    a, b = (BASE + RNG.normal(size=(5, 20)) for _ in range(2))
    a[1, ::3] = math.nan
    b[2], a[2] = 2.5, 2.0
    fraction = np.tile(TENTH, (5, 1))
    together = compare_scores(a, b, fraction, RMSE)
    assert together["splits"].tolist() == [20, 13, 20, 20, 20]
    assert (together["p_better"][2], together["p_worse"][2]) == (1, 0)
    for pair in range(5):
        alone = compare_scores(a[[pair]], b[[pair]], fraction[[pair]], RMSE)
        for name, values in alone.items():
            np.testing.assert_allclose(values[0], together[name][pair], rtol=1e-12)


@pytest.mark.parametrize("rope", [1e-9, 0.3, 3.0])
def test_pairs_with_missing_splits_agree_with_baycomp(rope: float) -> None:
    a, b = RNG.normal(size=(2, 20)) + np.array([[0.0], [0.4]])
    a[4], b[7] = math.nan, math.nan
    d = np.delete(b - a, [4, 7])
    expected = Posterior(d.mean(), d.var(ddof=1) * (1 / 18 + 0.2 / 0.8), 17, rope).probs()
    np.testing.assert_allclose(correlated_t_test(a, b, rope, 0.2), expected, atol=1e-12)


def test_all_pairs_are_compared_by_every_metric(outputs: Path) -> None:
    pairs = by_method(read_runs(outputs))
    assert len(pairs) == 2 * 3 * 3 and tuple(pairs)[: len(COLUMNS)] == COLUMNS
    rmse = pairs[(pairs["metric"] == "rmse") & (pairs["dataset"] == "yacht")].set_index(["a", "b"])
    assert rmse.loc[("a", "b"), "p_worse"] > 0.99 and rmse.loc[("a", "c"), "p_equivalent"] > 0.99
    assert rmse["outcome"].tolist() == ["worse", "equivalent", "better"]


def test_an_interval_ends_where_the_test_gives_its_probability() -> None:
    """The probability that the difference exceeds either end of its interval is 0.025."""
    a, b = BASE + 0.2 * RNG.normal(size=20), BASE
    (pair,) = pd.DataFrame(compare_scores(a[None], b[None], TENTH[None], RMSE)).to_dict("records")
    above, _, _ = correlated_t_test(a - pair["high"], b, 0.0, 0.1)
    _, _, below = correlated_t_test(a - pair["low"], b, 0.0, 0.1)
    assert (above, below) == pytest.approx((0.025, 0.025))


def test_the_p_value_is_that_of_the_interval_that_ends_at_zero() -> None:
    mean = np.array([0.3])
    numbers = np.array([0.5]), np.array([20]), np.array([0.1])
    half, _ = interval_and_p(mean, *numbers)
    assert interval_and_p(half, *numbers)[1] == pytest.approx(0.05)
    assert interval_and_p(-half, *numbers)[1] == pytest.approx(0.05)


def test_runs_without_a_name_are_left_out(outputs: Path) -> None:
    runs = read_runs(outputs)
    some = runs.scored.loc[runs.scored["method"] != "c", "method"]
    pairs = add_names(all_pairs(runs), some)
    assert set(pairs["a"]) | set(pairs["b"]) == {"a", "b"} and len(pairs) == 2 * 3


def test_a_single_run_gives_an_empty_table_with_all_columns(outputs: Path) -> None:
    pairs = all_pairs(read_runs(outputs / "uci/boston/a"))
    assert pairs.empty and tuple(pairs) == (*COLUMNS, "p_holm", "outcome")


def test_pairs_are_sorted_by_label(outputs: Path) -> None:
    runs = read_runs(outputs)
    pairs = add_names(all_pairs(runs), labels(runs.scored))
    own = pairs[(pairs["metric"] == "rmse") & (pairs["dataset"] == "boston")]
    assert own[["a", "b"]].to_numpy().tolist() == [["a", "b"], ["a", "c"], ["b", "c"]]


def test_two_versions_of_the_same_run_are_compared(tmp_path: Path) -> None:
    """Two folders contain runs with equal settings but different scores."""
    worse = np.array([5.0, 6.0, 7.0, 8.0])
    for name, rmse in {"before": worse + 30, "after": worse}.items():
        make_run(tmp_path / name, rmse=rmse)
    first, second = read_runs(tmp_path / "before"), read_runs(tmp_path / "after")
    assert first.scored.index.tolist() == second.scored.index.tolist()
    pairs = compare_pairs(dataset_pairs(first, second)).set_index("metric")
    assert pairs.loc["rmse", "difference"] == pytest.approx(30)
    assert pairs.loc["rmse", "p_worse"] > 0.99


def test_the_copy_with_more_splits_is_used(tmp_path: Path) -> None:
    short = make_run(tmp_path / "a")
    path = short.table(SPLITS)
    pd.read_csv(path).iloc[:2].to_csv(path, index=False)
    make_run(tmp_path / "b")
    (run,) = read_runs(tmp_path).scored.to_dict("records")
    assert run["splits"] == 4
