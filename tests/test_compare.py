"""The Bayesian correlated t-test against baycomp's own entry point, and the tables around it."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from baycomp import two_on_single

from bnnbench.results.significance import (
    all_pairs,
    compare_scores,
    correlated_t_test,
    heat_map,
    tally,
    two_paths,
    verdict,
)

Command = Callable[..., tuple[int, str, str]]
RNG = np.random.default_rng(0)
BASE = 3 + 0.5 * RNG.normal(size=20)


def rows(method: str, rmse: np.ndarray, dataset: str = "boston") -> pd.DataFrame:
    table = pd.DataFrame({"split": range(len(rmse)), "rmse": rmse, "crps": rmse / 2})
    constants = {"experiment": "uci", "dataset": dataset, "method": method, "divergence": "kl"}
    constants |= {"depth": 1, "diverged": 0, "seed": 0, "at_bound": ""}
    times = dict.fromkeys(
        ["search_seconds", "fit_seconds", "predict_seconds", "total_seconds"], 1.0
    )
    likelihoods = ["log_likelihood", "log_likelihood_joint", "log_likelihood_gaussian"]
    return table.assign(**constants, **times, **{name: -rmse for name in likelihoods})


@pytest.fixture
def outputs(tmp_path: Path) -> Path:
    """Three methods on two data sets: b is clearly better than a, c is a's twin."""
    for dataset in ("boston", "yacht"):
        scores = {"a": BASE, "b": BASE - 1, "c": BASE + 1e-6 * RNG.normal(size=20)}
        for method, rmse in scores.items():
            folder = tmp_path / "uci" / dataset / method / "v"
            folder.mkdir(parents=True)
            rows(method, rmse, dataset).to_csv(folder / "splits.csv", index=False)
            (folder / "DONE").touch()
    return tmp_path


def test_twenty_splits_equal_two_runs_of_ten_folds_in_baycomp() -> None:
    a, b = BASE, BASE + 0.1 + 0.3 * RNG.normal(size=20)
    np.testing.assert_allclose(
        correlated_t_test(a, b, 0.05), two_on_single(a, b, rope=0.05, runs=2)
    )
    without = correlated_t_test(a, b, 0.0)
    np.testing.assert_allclose((without[0], without[2]), two_on_single(a, b, runs=2))


def test_lower_rmse_and_higher_likelihood_are_better() -> None:
    a, b = rows("a", BASE), rows("b", BASE - 1 + 0.01 * RNG.normal(size=20))
    for metric in ("rmse", "log_likelihood", "crps"):
        compared = compare_scores(a, b, metric, 0.01)
        assert compared is not None and compared["p_worse"] > 0.99


def test_diverged_splits_are_left_out() -> None:
    a = rows("a", BASE)
    a.loc[3, "rmse"] = np.nan
    compared = compare_scores(a, rows("b", BASE - 1), "rmse", 0.01)
    assert compared is not None and compared["splits"] == 19
    assert compared["difference"] == pytest.approx(1)
    assert compare_scores(a.iloc[:1], rows("b", BASE), "rmse", 0.01) is None


def test_pairs_verdicts_and_tally(outputs: Path) -> None:
    pairs = all_pairs(outputs)
    assert len(pairs) == 2 * 3 * 3
    rmse = pairs[(pairs["metric"] == "rmse") & (pairs["dataset"] == "yacht")].set_index(["a", "b"])
    said = {key: verdict(row) for key, row in pairs[pairs["dataset"] == "yacht"].iterrows()}
    assert rmse.loc[("a", "b"), "p_worse"] > 0.99 and rmse.loc[("a", "c"), "p_equivalent"] > 0.99
    assert set(said.values()) == {"b", "equivalent"}
    counts = tally(pairs).set_index(["metric", "method"])
    assert counts.loc[("rmse", "b")].tolist() == [4, 0, 0]
    assert counts.loc[("rmse", "a")].tolist() == [0, 2, 2]


def test_heat_map_shows_the_probabilities(outputs: Path) -> None:
    figure = heat_map(all_pairs(outputs), "rmse")
    image = figure.axes[0].images[0].get_array()
    assert image is not None
    assert image[1, 0] > 0.99 and image[0, 1] < 0.01 and np.ma.getmaskarray(image)[0, 0]


def test_two_folders(outputs: Path) -> None:
    pairs = two_paths(outputs / "uci" / "boston" / "a", outputs / "uci")
    assert set(pairs["dataset"]) == {"boston"}
    assert set(pairs["b"]) == {"b", "c", "a (2nd)"}


def test_command(command: Command, outputs: Path) -> None:
    code, out, _ = command("compare", str(outputs))
    assert code == 0 and "P(equivalent)" in out and "wins" in out
    code, out, _ = command("compare", str(outputs / "uci/boston/a"), str(outputs / "uci/boston/b"))
    assert code == 0 and "boston" in out and "yacht" not in out


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["nowhere"], "nowhere"),
        ([], "outputs"),
        (["--rope", "-1", "."], "--rope"),
        ([".", ".", "."], "two folders"),
    ],
)
def test_mistakes(command: Command, arguments: list[str], word: str) -> None:
    code, out, errors = command("compare", *arguments)
    assert (code, out) == (2, "") and word in errors and len(errors.strip().splitlines()) == 1


def test_one_run_alone_is_nothing_to_compare(command: Command, outputs: Path) -> None:
    code, _, errors = command("compare", str(outputs / "uci/boston/a"))
    assert code == 2 and "share two splits" in errors


def test_copies_of_runs_in_a_report_do_not_count(outputs: Path) -> None:
    before = two_paths(outputs, outputs), all_pairs(outputs)
    shutil.copytree(outputs / "uci/boston/a", outputs / "report/uci/boston/a")
    pd.testing.assert_frame_equal(two_paths(outputs, outputs), before[0])
    pd.testing.assert_frame_equal(all_pairs(outputs), before[1])
