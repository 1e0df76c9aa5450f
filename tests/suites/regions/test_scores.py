"""Areas under ROC curves and scores of regions, where the answers are known."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from bnnbench.data.regions import GAP, TAIL, Regions
from bnnbench.data.synthetic_1d import Sine
from bnnbench.experiment.splits.fitting import FitSettings, fit_task, predict
from bnnbench.methods.gp import GP
from bnnbench.methods.linear import Linear
from bnnbench.methods.shared.contract import Method
from bnnbench.preprocessing import standardise
from bnnbench.random_streams import Streams
from bnnbench.settings import Network, Training
from bnnbench.suites.regions.experiment import auroc, split_distances, split_scores
from bnnbench.types import Prediction, Table

CPU = torch.device("cpu")


class Symmetric:
    """Inputs that are symmetric around zero, with a smooth function as target."""

    name = "symmetric"

    def load(self) -> Table:
        x = np.linspace(-3, 3, 60)
        return Table("symmetric", x[:, None], np.sin(2 * x), (), ("x",), "y")


def scores_of(method: Method, region: str) -> dict[str, float]:
    """Fit a method to the training part of a region of symmetric data, and score the test part."""
    regions = Regions(Symmetric(), region, inside=0.2)
    table = regions.load()
    (split,) = table.splits
    fitting = FitSettings(method, Network(depth=0), Training(), 1, "cpu", 0)
    data, scaler = standardise(table, [split.train], [0], CPU, torch.float64)
    streams = Streams([0], (0,), "cpu", torch.float64)
    posterior = method.fit(fit_task(fitting, data, scaler, [{}], 1, streams))
    inputs = scaler.inputs([table.inputs[split.test]])
    prediction = predict(fitting, posterior, scaler, inputs, streams)
    rows = int(next(regions.regions(table)).tested.sum())
    distances = split_distances(table, split)
    return split_scores(prediction, table.targets[split.test], distances, rows)


def test_auroc_counts_pairs_and_half_of_ties() -> None:
    random = np.random.default_rng(0)
    positive, negative = random.integers(0, 5, 30), random.integers(1, 7, 20)
    pairs = np.sign(positive[:, None] - negative)
    assert auroc(positive, negative) == pytest.approx((pairs.mean() + 1) / 2, abs=1e-12)
    assert auroc(np.full(7, 0.3), np.full(9, 0.3)) == 0.5
    assert math.isnan(auroc(positive, negative[:0]))


def test_a_linear_model_is_surest_at_the_mean_of_its_inputs() -> None:
    """Its variance is a quadratic with its minimum there: inside a gap, and far from tails."""
    method = Linear(label="linear")
    gap, tail = scores_of(method, GAP), scores_of(method, TAIL)
    assert (gap["auroc.epistemic"], gap["auroc.total"]) == (0, 0)
    assert (tail["auroc.epistemic"], tail["auroc.total"]) == (1, 1)
    assert gap["region.epistemic_deviation"] < gap["inside.epistemic_deviation"]


@pytest.mark.parametrize("region", [GAP, TAIL])
def test_a_gaussian_process_recognises_regions_longer_than_its_length_scale(region: str) -> None:
    scores = scores_of(GP(label="gp"), region)
    assert scores["auroc.epistemic"] > 0.95 and scores["auroc.distance"] > 0.95


def test_distances_to_the_nearest_training_row() -> None:
    table = Sine(name="sine", points=20, grid_points=30).load()
    split = table.splits[0]
    x, train = table.inputs[split.test], table.inputs[split.train]
    expected = np.abs(x - train.T).min(1) / train.std()
    assert split_distances(table, split) == pytest.approx(expected)


def test_scores_of_both_parts() -> None:
    loc = torch.tensor([[[0.0, 1.0, 5.0, 7.0]], [[2.0, 1.0, 5.0, 7.0]]], dtype=torch.float64)
    zero, one = torch.zeros(1, 1, 1).double(), torch.ones(1, 1, 1).double()
    targets = np.array([1.0, 1.0, 5.0, 10.0])
    scores = split_scores(Prediction(loc, zero, one), targets, np.array([3.0, 1, 1, 1]), 2)
    assert scores["region.rmse"] == 0 and scores["inside.rmse"] == pytest.approx(math.sqrt(4.5))
    assert scores["region.coverage"] == 1 and scores["inside.coverage"] == 0.5
    assert scores["region.epistemic_deviation"] == 0.5
    assert scores["inside.width"] == pytest.approx(2 * 1.6448536)
    # One of two rows is more uncertain, or farther, than both others; the other one is equal.
    assert scores["auroc.epistemic"] == scores["auroc.total"] == scores["auroc.distance"] == 0.75
    empty = split_scores(Prediction(loc, zero, one), targets, np.ones(4), 4)
    assert math.isnan(empty["inside.rmse"]) and math.isnan(empty["auroc.epistemic"])
