"""Costs, conditional coverage and joint predictions, where the exact answers are known."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import multivariate_normal, norm
from support.blocks import blocks, data_files
from support.config import TINY, compose
from support.tiny_runs import no_page
from support.user_errors import raises_user_error

from bnnbench.config.assemble import build
from bnnbench.experiment.execution import execute
from bnnbench.experiment.split_files import OUT_OF_FOLD
from bnnbench.portable_math import mixture_crps
from bnnbench.report.sections import conditional_coverage, joint, newsvendor, proper_scores
from bnnbench.report.sections.joint import chains_lead
from bnnbench.results.claims import NotTestable
from bnnbench.results.conditional_coverage import split_coverage
from bnnbench.results.conformal import conformal_radius
from bnnbench.results.joint_predictions import input_sets, joint_scores, split_joint
from bnnbench.results.metrics import COMPUTED
from bnnbench.results.mixtures import Mixture
from bnnbench.results.newsvendor import LEVELS, pinball, split_costs
from bnnbench.results.predictive_distances import NORMAL_SCORES, WEIGHTS, quantiles
from bnnbench.results.reader import read_runs
from bnnbench.results.reference.comparison import compare_with_reference
from bnnbench.results.run_filter import RunFilter, filter_runs
from bnnbench.results.split_predictions import SplitPredictions, split_predictions

POINTS = 3000


def exact(seed: int = 0, held_out: bool = True) -> SplitPredictions:
    """Return targets from their Gaussian predictive distributions, of different widths."""
    random = np.random.default_rng(seed)

    def points() -> pd.DataFrame:
        epistemic, mean = random.uniform(0.1, 4, POINTS), random.normal(size=POINTS)
        target = mean + np.sqrt(epistemic + 1) * random.normal(size=POINTS)
        variances = {"epistemic_variance": epistemic, "noise_variance": 1.0}
        return pd.DataFrame({"target": target, "mean": mean, **variances})

    own = points()
    mixture = Mixture(*(own[[c]].to_numpy() for c in own.columns[1:]))
    return SplitPredictions(0, own, mixture, points() if held_out else pd.DataFrame())


def test_the_cost_of_exact_gaussians() -> None:
    """The expected cost is s phi(Phi^-1(q)) (Gaussian of standard deviation s)."""
    predictions = exact()
    rows = pd.DataFrame(split_costs(predictions)).set_index("level")
    deviation = predictions.mixture.deviation.mean()
    for level in LEVELS:
        expected = deviation * norm.pdf(norm.ppf(level))
        assert rows.loc[level, "cost"] == pytest.approx(expected, rel=0.08)
    assert (rows["value_of_uncertainty"] > 0).all() and (rows["value_of_inputs"] > 0.1).all()
    missing = pd.DataFrame(split_costs(exact(held_out=False)))
    assert missing["value_of_uncertainty"].isna().all() and missing["cost"].notna().all()


def test_the_average_pinball_loss_is_half_the_crps() -> None:
    loc = np.array([[-1.0, 0.0, 3.0], [2.0, 2.5, 2.0]])
    mixture = Mixture(loc, np.zeros((2, 1)), np.full((2, 1), 0.5))
    targets = np.array([[0.3], [4.0]])
    losses = pinball(targets, quantiles(mixture), norm.cdf(NORMAL_SCORES)) @ WEIGHTS
    crps = mixture_crps(loc.T, np.full((3, 2), 0.5), targets[:, 0])
    assert 2 * losses == pytest.approx(crps, rel=1e-3)
    errors = pinball(targets, np.median(loc, 1)[:, None], 0.5)[:, 0]
    assert errors == pytest.approx(np.abs(targets[:, 0] - np.median(loc, 1)) / 2)


def coverage_of(predictions: SplitPredictions) -> pd.DataFrame:
    return pd.DataFrame(split_coverage(predictions)).set_index("interval")


def test_exact_gaussians_are_covered_alike() -> None:
    rows = coverage_of(exact())
    error = 3.5 * math.sqrt(0.09 / (POINTS / 3))
    chi_squared = rows["u"] ** 2 / rows["v"]  # one degree of freedom
    for name in ("raw", "isotonic", "total"):
        thirds = rows.loc[name, ["low", "middle", "high"]].to_numpy(float)
        assert thirds == pytest.approx(0.9, abs=error) and chi_squared[name] < 10
    # A constant width is too narrow where the method is uncertain.
    assert rows.loc["constant", "trend"] < -0.1 and chi_squared["constant"] > 50
    assert rows.loc["constant", "coverage"] == pytest.approx(0.9, abs=0.02)
    assert rows["score"].idxmin() in ("raw", "isotonic", "total")


def test_conformal_intervals() -> None:
    assert conformal_radius(np.arange(1, 10), 0.9) == 9 and conformal_radius(np.ones(8)) == math.inf
    predictions = exact()
    for part in (predictions.points, predictions.held_out):
        part["epistemic_variance"] = 0.3
    rows = coverage_of(predictions)
    assert rows.loc["constant", "width"] == pytest.approx(rows.loc["total", "width"])
    assert rows["trend"].isna().all() and (rows["v"] == 0).all()  # equal deviations


def linear_draws(draws: int, seed: int = 0) -> tuple[Mixture, np.ndarray, np.ndarray]:
    """Return predictions of four points by draws of two weights, targets, and the covariance."""
    random = np.random.default_rng(seed)
    x = np.array([[1.0, 0.5], [1.0, -0.4], [0.3, 1.0], [0.8, 0.7]])
    covariance = 0.6 * x @ x.T + 0.2 * np.eye(4)
    loc = x @ random.normal(scale=0.6**0.5, size=(2, draws))
    targets = np.array([0.5, 0.1, -0.6, 0.4])
    return Mixture(loc, np.zeros((4, 1)), np.full((4, 1), 0.2)), targets, covariance


def test_joint_log_likelihoods_of_a_linear_model() -> None:
    mixture, targets, covariance = linear_draws(20_000)
    scores = joint_scores(mixture, targets, np.arange(4)[None])
    expected = multivariate_normal(np.zeros(4), covariance).logpdf(targets) / 4
    deviations = np.sqrt(covariance.diagonal())
    assert scores["sampled"] == pytest.approx(expected, abs=0.01)
    assert scores["gaussian"] == pytest.approx(expected, abs=0.01)
    assert scores["marginal"] == pytest.approx(norm.logpdf(targets, 0, deviations).mean(), abs=0.01)
    # Components that are permuted at one point are no functions any more.
    loc = mixture.loc.copy()
    loc[0] = np.random.default_rng(1).permutation(loc[0])
    permuted = joint_scores(replace(mixture, loc=loc), targets, np.arange(4)[None])
    assert permuted["marginal"] == pytest.approx(scores["marginal"])
    assert permuted["sampled"] < scores["sampled"] - 0.01
    one, few = (joint_scores(linear_draws(s)[0], targets, np.arange(4)[None]) for s in (1, 20))
    assert one["sampled"] == pytest.approx(one["marginal"]) == pytest.approx(one["gaussian"])
    assert math.isnan(few["sampled"]) and math.isfinite(few["gaussian"])


def test_sets_of_points() -> None:
    inputs = np.concatenate([np.arange(8.0), 100 + np.arange(8.0)])[:, None]
    points = pd.DataFrame({"target": np.zeros(16)})
    mixture = Mixture(*(np.ones((16, 1)) for _ in range(3)))
    predictions = SplitPredictions(3, points, mixture, points, saved=True, inputs=inputs)
    sets = dict(input_sets(predictions))
    assert all((np.diff(np.sort(s, 1)) > 0).all() and s.shape == (200, 10) for s in sets.values())
    assert ((sets["dyadic"] < 8).sum(1) == 5).all()  # anchors in both halves, or rows would repeat
    assert split_joint(predictions) == []  # one component with an epistemic variance
    certain = replace(mixture, epistemic=np.zeros((16, 1)))
    assert len(split_joint(replace(predictions, mixture=certain))) == 2


def test_the_claim_about_chains() -> None:
    table = pd.DataFrame({
        "experiment": "gold_standard", "dataset": ["a", "a", "b", "b", "c"], "sampled": range(5),
        "family": ["map", "hmc", "bbb", "hmc", "bbb"], "label": ["map", "hmc", "bbb", "hmc", "bbb"],
    })  # fmt: skip
    assert chains_lead(table) == (True, "best on a: hmc, b: hmc")
    assert chains_lead(table.assign(sampled=range(5, 0, -1)))[0] is False
    with pytest.raises(NotTestable):
        chains_lead(table[table["family"] != "hmc"])


@pytest.mark.slow
def test_sections_of_a_run(tmp_path: Path) -> None:
    words = ["dataset=diabetes", "method=bbb", "method.prior_precision=1", "search=none", *TINY]
    words += ["method.noise_precision=5", "workers=1"]
    words += [f"evaluation.save_{name}=true" for name in ("predictive_mixture", "fold_predictions")]
    folder = execute(build(compose(*words, f"outputs_dir={tmp_path}")), no_page)
    for one in split_predictions(folder):
        mean, total = one.mixture.loc.mean(1), one.mixture.epistemic_deviation() ** 2
        assert mean == pytest.approx(one.points["mean"].to_numpy(), rel=1e-4)
        assert total == pytest.approx(one.points["epistemic_variance"].to_numpy(), rel=1e-3)
    files = data_files([
        block for module in (newsvendor, proper_scores, conditional_coverage, joint)
        for block in blocks(module.section, tmp_path)
    ])  # fmt: skip
    assert len(files["newsvendor"]) == 2 * len(LEVELS)
    assert len(files["conditional_coverage"]) == 2 * 7
    assert (
        files["joint"]["inputs"].tolist() == ["random"] * 2 and (files["joint"]["draws"] == 5).all()
    )
    conformal = files["intervals"]["in_band"].dropna()
    assert len(files["proper_scores"]) == 2 and len(conformal) == 2 * 3
    runs, keys = read_runs(tmp_path), [metric.key for metric in COMPUTED]
    scored = filter_runs(runs, RunFilter(metrics=(*keys, "rmse"))).scored.iloc[0]
    for key in keys:
        assert scored[f"{key}_mean"] == pytest.approx(files["proper_scores"][key].mean())
    runs.folders[scored.name].arrays(OUT_OF_FOLD).unlink()
    with raises_user_error("--metric", "no_predictions"):
        filter_runs(replace(runs, _cache={}), RunFilter(metrics=("tail_crps",)))
    with raises_user_error("--metric", "not_in_reference"):
        compare_with_reference(runs, "reference", COMPUTED, 0.01)
