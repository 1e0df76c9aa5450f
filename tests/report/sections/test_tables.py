"""Tables behind the sections of a report."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm
from support.blocks import blocks, data_files, tables
from support.grids import make_grid
from support.runs import add_arrays, divergence_metadata, make_run
from support.synthetic_data import calibrated, make_curve_run

from bnnbench.experiment.store.split_files import OBJECTIVE
from bnnbench.report.blocks import Style
from bnnbench.report.sections.divergence_orders import best_orders, kl_reference, with_orders
from bnnbench.report.sections.information_criteria import criteria, criteria_table
from bnnbench.report.sections.interval_coverage import ONE_SIGMA, coverage_of_curve, sigma_table
from bnnbench.report.sections.leaderboard import OURS, leaderboard, section
from bnnbench.report.sections.objective import median_objectives
from bnnbench.report.sections.spread import losses_by_split
from bnnbench.report.sections.time_against_score import pareto_front, time_against_score
from bnnbench.results.metric_table import printed_in
from bnnbench.results.published.values import published_means
from bnnbench.results.read.run_tables import Runs, read_runs


@pytest.fixture(scope="module")
def grid(tmp_path_factory: pytest.TempPathFactory) -> Runs:
    """Return runs with three orders of one family, two of another, and KL elsewhere."""
    path = tmp_path_factory.mktemp("grid")
    means = {("alpha", 0.5): 5, ("alpha", 2): 3, ("alpha", 3): 4, ("renyi", 2): 1, ("renyi", 3): 1}
    for (family, order), mean in means.items():
        kind = divergence_metadata(family, order)
        make_grid(path, {kind["divergence"]: mean}, **kind)
    make_grid(path, {"kl": 4.5}, experiment="other")
    return read_runs(path)


def test_a_family_needs_at_least_three_orders(grid: Runs) -> None:
    rows = with_orders(grid.scored)
    assert rows[["divergence_family", "order"]].to_numpy().tolist() == [
        ["alpha", order] for order in (0.5, 2, 3)
    ]
    assert with_orders(grid.scored[grid.scored["divergence"] == "kl"]).empty


def test_the_best_order_has_the_smallest_mean(grid: Runs) -> None:
    rmse, nll = best_orders(with_orders(grid.scored)).to_dict("records")
    assert (rmse["metric"], rmse["order"], nll["order"]) == ("rmse", 2, 2)
    assert [rmse["mean"], rmse["below"], rmse["above"]] == pytest.approx([3, 5, 3.5])
    assert rmse["stderr"] == pytest.approx(math.sqrt(0.2 / 3 / 4))
    assert nll["mean"] == pytest.approx(0.3), "a higher likelihood is a lower NLL"


def test_the_reference_is_kl_with_the_same_settings(grid: Runs) -> None:
    rows = with_orders(grid.scored)
    kl = kl_reference(grid.scored, rows)
    assert kl is not None and kl["rmse_mean"] == pytest.approx(4.5)
    assert kl_reference(grid.scored, rows.assign(depth=2)) is None


def test_a_score_without_values_is_left_out(grid: Runs) -> None:
    rows = with_orders(grid.scored).assign(rmse_mean=math.nan)
    assert best_orders(rows)["metric"].tolist() == ["log_likelihood"]


def test_criteria_of_one_split() -> None:
    split = {"train_log_likelihood": [-2.0], "training_rows": [50], "parameters": [7]}
    (row,) = criteria(pd.DataFrame(split)).to_dict("records")
    assert row == pytest.approx({
        "neg_log_likelihood": 100, "bic": 7 * math.log(50) + 200, "aic": 214,
        "hqc": 14 * math.log(math.log(50)) + 200,
    })  # fmt: skip


def test_criteria_need_scores_of_training_rows(tmp_path: Path) -> None:
    make_grid(tmp_path, {"kl": 5})
    assert criteria_table(read_runs(tmp_path)).empty
    scored = {"train_log_likelihood": [-2.0, -2.0, -2.0, -4.0], "training_rows": 50}
    make_grid(tmp_path, {"js": 5}, parameters=7, dataset="gp_sample", **scored)
    (row,) = criteria_table(read_runs(tmp_path)).to_dict("records")
    assert (row["rows"], row["parameters"], row["neg_log_likelihood"]) == (50, 7, 125)
    assert row["aic"] == 14 + 250


def test_a_run_that_diverged_on_every_split_has_missing_values(tmp_path: Path) -> None:
    scored = {"train_log_likelihood": float("nan"), "training_rows": 50, "parameters": 7}
    make_grid(tmp_path, {"js": 5}, diverged=1, **scored)
    (row,) = criteria_table(read_runs(tmp_path)).to_dict("records")
    assert (row["rows"], row["parameters"]) == (50, 7) and math.isnan(row["bic"])


def test_coverage_of_known_quantiles() -> None:
    steps = np.array([1.0, 2.0])
    expected = norm.cdf(steps) - norm.cdf(-steps)
    np.testing.assert_allclose(coverage_of_curve(calibrated(1.0), steps), expected, atol=0.01)
    assert coverage_of_curve(calibrated(2.0), steps)[0] == pytest.approx(expected[1], abs=0.01)
    overconfident, perfect = sigma_table([calibrated(0.5), calibrated(1.0)]).to_dict("records")
    assert overconfident["difference"] == pytest.approx(ONE_SIGMA - 0.383, abs=0.01)
    assert overconfident["small_interval_excess"] < -0.1
    assert abs(perfect["small_interval_excess"]) < 0.01
    assert overconfident["points"] == 101


def test_published_values_of_later_methods() -> None:
    rows = published_means()
    assert len(rows) == 236 + 651 and set(rows["splits"]) == {"public", "own", "unknown"}
    by_method = rows.set_index(["method", "dataset", "metric"])
    hmc = by_method.loc[("HMC (1x50 BNN, HMC-1)", "boston", "rmse")]
    assert hmc["splits"] == "public" and hmc["source"] == "Bui et al."
    assert (rows[rows["source"] == "Wu et al."]["splits"] == "own").all()
    std = rows[(rows["error_kind"] == "std") & (rows["error"] > 0)].iloc[0]
    assert std["stderr"] == pytest.approx(std["error"] / std["n_splits"] ** 0.5)
    assert rows.loc[rows["error_kind"] == "unknown", "stderr"].isna().all()


def test_our_values_are_sorted_among_the_published_ones(tmp_path: Path) -> None:
    make_run(tmp_path, method="vadam", times=5)
    make_run(tmp_path, method="pbp", times=5, settings={"dataset__seeded_splits": 20})
    rows = leaderboard(read_runs(tmp_path))
    assert set(rows["dataset"]) == {"boston"}
    for metric, sign in (("rmse", 1), ("log_likelihood", -1), ("log_likelihood_joint", -1)):
        own = rows[rows["metric"] == metric]
        assert (sign * own["mean"]).is_monotonic_increasing
        ours = own[own["source"] == OURS].set_index("method")
        assert ours["splits"].to_dict() == {
            "vadam": "public", "pbp (settings differ: seeded splits 20)": "own",
        }  # fmt: skip
    assert len(rows[rows["metric"] == "rmse"]) > 20


def test_data_sets_without_published_values_have_no_leaderboard(tmp_path: Path) -> None:
    make_run(tmp_path, settings={"dataset__class": "module.Own"})
    assert leaderboard(read_runs(tmp_path)).empty
    assert not blocks(section, tmp_path, Style(all_published=True))


def test_a_report_contains_it_on_request(tmp_path: Path) -> None:
    make_run(tmp_path, method="vadam", times=5)
    runs = read_runs(tmp_path)
    assert not blocks(section, runs)
    found = blocks(section, runs, Style(all_published=True))
    ((name, rows),) = data_files(found).items()
    assert len(tables(found)) == len(printed_in("published")) and name == "published"
    assert sum(len(table.rows) for table in tables(found)) == len(rows)


TRACE = {
    "split": [0, 0, 1, 1, 2, 2],
    "epoch": [1, 2, 1, 2, 1, 2],
    "loss": [3.0, 1.0, 4.0, 2.0, 9.0, 9.0],
    "complexity": [0.5] * 6,
}


def test_medians_of_runs_that_saved_their_objective(tmp_path: Path) -> None:
    make_run(tmp_path)
    assert median_objectives(read_runs(tmp_path)).empty
    add_arrays(make_run(tmp_path, method="vadam"), OBJECTIVE, TRACE)
    rows = median_objectives(read_runs(tmp_path))
    assert rows[["label", "epoch", "objective"]].to_numpy().tolist() == [
        ["vadam", 1, 4.5], ["vadam", 2, 2.5],
    ]  # fmt: skip


def test_families_of_orders_are_left_out(tmp_path: Path) -> None:
    make_grid(tmp_path, {"kl": 5, "js": 3})
    make_grid(tmp_path, {"kl": 6}, depth=2)
    for order in (0.5, 2, 3):
        kind = divergence_metadata("alpha", order)
        make_grid(tmp_path, {kind["divergence"]: 3 + order}, **kind)
    losses = losses_by_split(read_runs(tmp_path))
    assert set(losses["label"]) == {"bbb, kl", "bbb, js"} and len(losses) == 3 * 4
    assert losses["log_likelihood"].min() == pytest.approx(0.27)


def test_diverged_splits_and_runs_of_one_split_are_left_out(tmp_path: Path) -> None:
    make_run(tmp_path, diverged=[0, 1, 0, 0])
    make_curve_run(tmp_path, scale=1.0, dataset="toy")
    losses = losses_by_split(read_runs(tmp_path))
    assert losses["split"].tolist() == [0, 2, 3] and set(losses["dataset"]) == {"boston"}
    assert losses_by_split(read_runs(tmp_path / "uci" / "toy")).empty


def test_the_front_consists_of_undominated_points() -> None:
    seconds = np.array([1.0, 2.0, 3.0, 4.0, 2.0, np.nan, 0.5])
    losses = np.array([5.0, 3.0, 4.0, 1.0, 3.0, 0.0, np.nan])
    front = pareto_front(seconds, losses)
    # Equal points do not dominate each other, and a missing value dominates none.
    assert front.tolist() == [True, True, False, True, True, False, False]


def test_runs_are_compared_within_their_experiment(tmp_path: Path) -> None:
    make_run(tmp_path, method="pbp", total_seconds=1.0, log_likelihood=-9.0)
    make_run(tmp_path, method="vadam", total_seconds=5.0)
    make_run(tmp_path, method="map", total_seconds=9.0, rmse=1.0)
    make_run(tmp_path, method="sgld", total_seconds=0.1, rmse=0.1, experiment="alone")
    make_run(tmp_path, method="bbb", dataset="toy", synthetic=True)
    table = time_against_score(read_runs(tmp_path), printed_in("figures")).set_index("label")
    assert table["total_seconds_mean"].to_dict() == {"map": 9.0, "pbp": 1.0, "vadam": 5.0}
    assert table["rmse_front"].to_dict() == {"map": True, "pbp": True, "vadam": False}
    assert table["log_likelihood_front"].to_dict() == {"map": False, "pbp": True, "vadam": True}
