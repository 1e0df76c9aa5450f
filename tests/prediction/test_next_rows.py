"""Epistemic covariances of final models, from which the rows to label next are chosen."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from support.tiny_runs import Planner

from bnnbench.data.own_table.columns.encoding import NUMBER, Encoding
from bnnbench.experiment.splits.split_experiment import SplitExperiment
from bnnbench.prediction.final_model import FinalModel
from bnnbench.prediction.model import SavedModel, fit_model
from bnnbench.prediction.next_rows import epistemic_covariance, next_rows
from bnnbench.prediction.training_region import TrainingRegion

FIXED = ("search=none", "method.noise_precision=5", "method.prior_precision=1")


def final_model(tiny: Planner, *overrides: str) -> tuple[FinalModel, np.ndarray]:
    """Fit a method to a small table and return the model and its inputs."""
    experiment = tiny(*overrides).experiment
    assert isinstance(experiment, SplitExperiment)
    table = experiment.table
    model = fit_model(experiment.fitting, table, {})
    encodings = tuple(Encoding(name, NUMBER) for name in table.features)
    region = TrainingRegion.of(table.inputs, np.zeros(table.inputs.shape[1], bool), seed=0)
    scores = np.zeros(0)
    return FinalModel(
        SavedModel(model, {}, {}), encodings, (), (), "y", scores, region
    ), table.inputs


@pytest.mark.parametrize(
    ("method", "is_joint"), [(("method=linear",), 1), (("method=bbb", *FIXED[1:]), 1),
                             (("method=pbp",), 0)]
)  # fmt: skip
def test_the_diagonal_is_the_epistemic_variance(
    tiny: Planner, method: tuple[str, ...], is_joint: int
) -> None:
    fitted, inputs = final_model(tiny, *method)
    model = fitted.saved.model
    covariance = epistemic_covariance(model, inputs[:6])
    expected = model.predict(inputs[:6])["epistemic_variance"]
    np.testing.assert_allclose(covariance.diagonal(), expected, rtol=1e-4)
    assert np.allclose(covariance, covariance.T)
    assert np.any(covariance - np.diag(covariance.diagonal())) == is_joint


def test_a_copy_of_a_labelled_row_is_not_labelled_next(tiny: Planner) -> None:
    fitted, inputs = final_model(tiny, "method=linear")
    names = [one.column for one in fitted.encodings]
    far = 40 * np.eye(inputs.shape[1])[:2]
    pool = np.vstack([inputs[:3], 2 * far[0], 2 * far[0], far[1]])
    chosen, (statement,) = next_rows(fitted, pd.DataFrame(pool, columns=names), "pool", 3)
    assert chosen["row"].tolist()[:2] == [4, 6] and chosen["score"].is_monotonic_decreasing
    assert "epistemic" in statement


def test_a_method_without_epistemic_variance_chooses_by_distance(tiny: Planner) -> None:
    fitted, inputs = final_model(tiny, "method=map", *FIXED)
    names = [one.column for one in fitted.encodings]
    pool = np.vstack([inputs[:5], inputs[:1] + 50, inputs[:1] + 51, inputs[:1] - 20])
    chosen, (statement,) = next_rows(fitted, pd.DataFrame(pool, columns=names), "pool", 2)
    assert chosen["row"].tolist() == [7, 8] and "distance" in statement
