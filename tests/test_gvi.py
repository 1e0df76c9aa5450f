"""The GVI thesis's experiments: their data, their sweeps, and what the report makes of them."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from conftest import compose
from scipy.stats import norm
from test_curves import curve
from test_report import make_run, make_splits

from bnnbench.cli.build import build
from bnnbench.cli.configs import config_folder
from bnnbench.cli.sweep import jobs_of
from bnnbench.data.synthetic_1d import GaussianProcess
from bnnbench.nn import MLP
from bnnbench.report.divergence_order import (
    best_rows,
    family_of,
    orders_figure,
    orders_section,
    with_orders,
)
from bnnbench.report.information_criteria import criteria, criteria_table
from bnnbench.report.interval_coverage import ONE_SIGMA, inside, sigma_table
from bnnbench.report.overview import write_report
from bnnbench.report.predictive_curves import Curve, curves_figure
from bnnbench.report.score_distributions import (
    limits,
    scores_by_split,
    spread_figure,
    spread_section,
)
from bnnbench.results.tables import gather
from bnnbench.settings import Network
from bnnbench.suites.felekis_gvi.printed import printed, theirs
from bnnbench.types import UserError

Command = Callable[..., tuple[int, str, str]]

DIVERGENCES = ["kl", "rkl", "alpha_2", "renyi_2", "alpha_renyi_2", "js", "tv_lower", "tv_upper",
               "fisher"]  # fmt: skip


# --- data, network and sweeps


def test_the_toys_function_is_a_draw_from_its_process() -> None:
    x = np.array([-2.0, 0.0, 0.5, 3.0])
    for length in (1.0, 2.0):
        draws = np.stack([
            GaussianProcess("gp", data_seed=seed, length_scale=length).function(x)
            for seed in range(3000)
        ])  # fmt: skip
        kernel = np.exp(-((x[:, None] - x) ** 2) / (2 * length**2))
        np.testing.assert_allclose(draws.T @ draws / len(draws), kernel, atol=0.08)


def test_the_toys_function_does_not_depend_on_where_it_is_looked_at() -> None:
    few, many = (GaussianProcess("gp", points=n, low=-2, high=2).load() for n in (10, 4000))
    assert few.truth is not None and many.truth is not None
    np.testing.assert_array_equal(few.truth[-401:], many.truth[-401:])
    x, noise = many.inputs[:4000, 0], (many.targets - many.truth)[:4000]
    for low, high in ((-2, -1.5), (1.5, 2)):
        there = (x >= low) & (x <= high)
        want = 0.3 * np.sqrt(np.mean((x[there] + 2) ** 2))
        assert noise[there].std() == pytest.approx(want, rel=0.1)


def test_every_layer_may_have_a_width_of_its_own() -> None:
    mlp = MLP.of(1, Network(width=(100, 200, 100), depth=3), outputs=2)
    assert mlp.sizes == (1, 100, 200, 100, 2) and 2 * mlp.n_weights == 81404
    assert MLP.of(1, Network(width=7, depth=2)).sizes == (1, 7, 7, 1)
    assert MLP.of(1, Network(width=(), depth=0)).sizes == (1, 1)


@pytest.mark.parametrize(
    ("overrides", "words"),
    [
        (["network.width=[3,4]"], ["network.width", "network.depth=1", "not of 2"]),
        (["network.width=[3,0]", "depth=2"], ["network.width", "0"]),
        (["dataset=gp", "dataset.grid_high=30"], ["dataset.grid_high", "15 length scales"]),
        (["dataset=gp", "dataset.length_scale=0"], ["dataset.length_scale"]),
        (["evaluation.trace=maybe"], ["evaluation.trace", "true or false"]),
    ],
)
def test_mistakes(overrides: list[str], words: list[str]) -> None:
    with pytest.raises(UserError) as error:
        build(compose(*overrides))
    assert all(word in str(error.value) for word in words)


@pytest.mark.parametrize(
    ("experiment", "jobs"),
    [("gvi_alpha", 11 * 3 * 4), ("gvi_uci", 15 * 3 * 4), ("gvi_competitors", 4 * 3 * 4 * 5),
     ("gp_toy", 15 * 3 * 5)],
)  # fmt: skip
def test_the_sweeps_are_the_theses(experiment: str, jobs: int) -> None:
    from hydra import initialize_config_dir

    with initialize_config_dir(str(config_folder()), version_base="1.3"):
        assert len(jobs_of([f"experiment={experiment}"])) == jobs


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_the_toys_network_follows_the_depth(depth: int) -> None:
    _, plan = build(compose("experiment=gp_toy", f"depth={depth}", "divergence=js"))
    assert plan.network.widths == (100, 200, 100)[:depth] and plan.training.final_epochs == 500
    assert plan.likelihood == "heteroscedastic" and plan.method.fixed() == {"prior_precision": 1.0}
    assert plan.iterations == 0 and len(plan.table.splits[0].train) == 401


def test_what_a_data_set_fixes_is_part_of_a_runs_identity() -> None:
    first, second = (
        build(
            compose("experiment=gp_toy", "depth=1", f"dataset.protocol.fixed.prior_precision={v}")
        )
        for v in (1.0, 2.0)
    )
    assert first[1].folder.root != second[1].folder.root


def test_a_sweep_passes_over_what_would_change_nothing(
    command: Command, table_csv: Path, tmp_path: Path
) -> None:
    table = ("dataset=csv", f"dataset.path={table_csv}", "dataset.target=y", "workers=1")
    quick = (
        "network.width=3",
        "training.epochs=1",
        "splits=1",
        "method.noise_precision=5",
        "method.prior_precision=1",
        "evaluation.out_of_fold=false",
        "outputs_dir=o",
    )
    code, out, error = command("run", "-m", *table, *quick, "divergence=kl,js", "method=map")
    assert code == 0 and out.count("results: ") == 1
    assert error.strip().endswith("passed over 1 combination that differ from others in name only")
    code, out, error = command("run", "-m", *table, *quick, "divergence=js,rkl", "method=map")
    assert code == 2 and "results" not in out and "divergence is js" in error


# --- scores against the order


@pytest.mark.parametrize(
    ("name", "found"),
    [("alpha_renyi_1.75", ("alpha_renyi", 1.75)), ("alpha_2", ("alpha", 2.0)), ("kl", None),
     ("wasserstein2", None), ("alpha_2_mc", ("alpha_mc", 2.0)),
     ("alpha_2_w0.5", ("alpha_w0.5", 2.0)), ("kl_w0.5", None), ("renyi_1e-12", ("renyi", 1e-12))],
)  # fmt: skip
def test_families_are_read_from_names(name: str, found: Any) -> None:
    assert family_of(name) == found


def runs(tmp_path: Path, scores: dict[str, float], **more: Any) -> None:
    """A finished run per divergence, all four splits around one RMSE, NLL a tenth of it."""
    for name, rmse in scores.items():
        values = rmse + np.array([-0.3, -0.1, 0.1, 0.3])
        changes = {"divergence": name, "rmse": values, "log_likelihood": -values / 10, **more}
        splits = make_splits(**{"method": "bbb", "experiment": "grid", **changes})
        make_run(tmp_path, splits, f"{name}-{'-'.join(map(str, more.values()))}", search=False)


def test_scores_stand_against_the_order_of_their_family(tmp_path: Path) -> None:
    runs(tmp_path, {"alpha_0.5": 5, "alpha_2": 3, "alpha_3": 4, "renyi_2": 1, "renyi_3": 1})
    runs(tmp_path, {"kl": 4.5}, experiment="other")
    results = gather(tmp_path)
    rows = with_orders(results)
    assert rows[["family", "order"]].to_numpy().tolist() == [["alpha", k] for k in (0.5, 2, 3)]
    assert best_rows(rows)[0] == (
        "boston",
        "alpha",
        "test RMSE [original units]",
        "2",
        "3.00 ± 0.13",
        "5",
        "3.5",
    )
    assert best_rows(rows)[1][3] == "2", "a higher likelihood is a lower NLL"
    axes = orders_figure(rows, results).axes[0]
    lines = {line.get_label(): line for line in axes.lines}
    assert lines["kl"].get_ydata()[0] == 4.5
    assert axes.containers[0].lines[0].get_ydata().tolist() == [5, 3, 4]
    assert orders_section(results[results["divergence"] == "kl"]) is None


# --- spread over splits


def test_panels_stand_by_depth_and_data_set(tmp_path: Path) -> None:
    runs(tmp_path, {"kl": 5, "js": 3})
    assert spread_section(scores_by_split(tmp_path)) is not None
    runs(tmp_path, {"kl": 6}, depth=2)
    runs(tmp_path, {"alpha_0.5": 5, "alpha_2": 3, "alpha_3": 4})
    scores = scores_by_split(tmp_path)
    assert set(scores["label"]) == {"bbb · kl", "bbb · js", "bbb"} and len(scores) == 3 * 4
    assert scores["log_likelihood"].min() == pytest.approx(0.27)
    for kind in ("boxes", "means"):
        figure = spread_figure(scores, "rmse", kind)
        titles = [axes.get_title() for axes in figure.axes]
        assert titles == ["boston · depth 1", "boston · depth 2"]


def test_a_lone_kind_of_run_has_no_spread_to_show(tmp_path: Path) -> None:
    runs(tmp_path, {"kl": 5})
    assert spread_section(scores_by_split(tmp_path)) is None


def test_lost_splits_do_not_set_the_axis() -> None:
    low, high = limits([np.array([1.0, 2.0, 3.0]), np.array([2.0, 1e9])])
    assert 0.5 < low < 1 and 3 < high < 4


# --- the toy


def calibrated(scale: float) -> Curve:
    """Targets at the quantiles of a standard normal, deviations predicted as `scale`."""
    given = curve()
    grid = given.grid.assign(mean=0.0, epistemic_variance=0.0, noise_variance=scale**2)
    within = (grid["input"] >= 0) & (grid["input"] <= 1)
    places = (np.arange(within.sum()) + 0.5) / within.sum()
    grid.loc[within, "target"] = norm.ppf(places)
    run = {**given.run, "dataset": "gp", "method": "bbb", "divergence": "alpha_2", "depth": 3}
    return Curve({**run, "experiment": "gp_toy"}, grid, given.training)


def test_shares_inside_deviations() -> None:
    steps = np.array([1.0, 2.0])
    want = norm.cdf(steps) - norm.cdf(-steps)
    np.testing.assert_allclose(inside(calibrated(1.0), steps), want, atol=0.01)
    assert inside(calibrated(2.0), steps)[0] == pytest.approx(want[1], abs=0.01)
    (row,) = sigma_table([calibrated(0.5)]).to_dict("records")
    assert row["difference"] == pytest.approx(ONE_SIGMA - 0.383, abs=0.01)
    assert (row["inside_1_thesis"], row["difference_thesis"]) == (0.75, 0.07)


def test_depths_are_columns_of_panels() -> None:
    curves = [curve("a"), curve("b"), curve("a")]
    curves[2].run["depth"] = "2"
    shown = [axes.get_title() for axes in curves_figure(curves).axes if axes.get_visible()]
    assert shown == ["a · toy · depth -", "a · toy · depth 2", "b · toy · depth -"]


def test_criteria_by_hand() -> None:
    found = criteria(-100.0, 7, 50)
    assert found == pytest.approx({
        "neg_log_likelihood": 100, "bic": 7 * math.log(50) + 200, "aic": 214,
        "hqc": 14 * math.log(math.log(50)) + 200,
    })  # fmt: skip


def test_the_theses_criteria_count_means_and_deviations_of_401_points() -> None:
    """What the report says about the printed tables, and which entries are misprints."""
    misprinted = {("js", 3), ("tvl", 2), ("tvu", 3)}
    table = printed("criteria")
    assert len(table) == 27
    for key, row in table.iterrows():
        weights = MLP.of(1, Network((100, 200, 100)[: key[1]], key[1]), outputs=2).n_weights
        points = math.exp((row["bic"] - row["aic"]) / (2 * weights) + 2)
        assert (abs(points - 401) < 0.6) == (key not in misprinted), key
        if key not in misprinted:
            assert -173 <= row["aic"] - 4 * weights <= 209


def test_printed_values_stand_beside_our_names() -> None:
    run = {"dataset": "gp", "method": "bbb", "divergence": "tv_lower", "depth": 1}
    assert theirs("criteria", run)["bic"] == 4678
    assert theirs("calibration", run | {"divergence": "renyi_2.5"})["difference"] == 0.13
    for other in ({"dataset": "boston"}, {"method": "mc_dropout"}, {"divergence": "chi2"}):
        assert theirs("criteria", run | other) == {}
    names = [name for name in DIVERGENCES if theirs("calibration", run | {"divergence": name})]
    assert names == DIVERGENCES


def test_criteria_of_runs_that_scored_their_training_part(tmp_path: Path) -> None:
    runs(tmp_path, {"kl": 5})
    assert criteria_table(tmp_path).empty
    scored = {"train_log_likelihood": [-2.0, -2.0, -2.0, -4.0], "training_rows": 50}
    runs(tmp_path, {"js": 5}, parameters=7, dataset="gp", **scored)
    (row,) = criteria_table(tmp_path).to_dict("records")
    assert (row["rows"], row["parameters"], row["neg_log_likelihood"]) == (50, 7, 125)
    assert row["aic"] == 14 + 250 and row["aic_thesis"] == 1747


def test_the_toy_ends_in_bands_calibration_criteria_and_claims(command: Command) -> None:
    torch.manual_seed(0)
    small = ("training.epochs=2", "training.samples=2", "evaluation.samples=5", "outputs_dir=o")
    data = ("dataset.points=12", "dataset.grid_points=21", "dataset.protocol.widths.2=[4,3]")
    code, _, error = command(
        *("run", "experiment=gp_toy", "method=bbb", "divergence=js", "depth='1','2'", *small, *data)
    )
    assert code == 0, error
    report = write_report(Path("o"))
    table = pd.read_csv(report.table("criteria"))
    assert table["parameters"].tolist() == [804, 2 * (8 + 15 + 8)] and set(table["rows"]) == {12}
    page = report.page.read_text()
    for name in ("curves", "sigma"):
        assert f"]({name}.png)" in page and report.figure(name, "png").stat().st_size > 10_000
    found = pd.read_csv(report.table("gvi_claims"))
    assert set(found["source"]) == {"5.0.2"}
    assert found.set_index("text").loc["That of RKL decreases.", "verdict"] == "not tested"


def test_axes_cut_off_lost_splits_above_and_never_the_best() -> None:
    values = [np.array([2.4, 2.5, 2.6]), np.array([2.5, 2.5, 900.0]), np.array([1.0, 1.1, 1.2])]
    low, high = limits(values)
    assert low < 1.0 and 2.6 < high < 900
