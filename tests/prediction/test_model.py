"""Models fitted to whole tables: loaded models predict the same, for every method."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from support.methods import METHODS, depth_overrides
from support.quick import slow_except
from support.tiny_runs import Planner
from support.user_errors import raises_user_error

from bnnbench.experiment.run.run import Run
from bnnbench.experiment.splits.split_experiment import SplitExperiment
from bnnbench.prediction.model import (
    CHUNK_ROWS,
    JSON_FILE,
    TENSOR_FILE,
    chosen_values,
    fit_model,
    load_model,
    save_model,
)

FIXED = ("search=none", "method.noise_precision=5", "method.prior_precision=1")


def experiment_of(run: Run) -> SplitExperiment:
    assert isinstance(run.experiment, SplitExperiment)
    return run.experiment


QUICK = (
    "bbb",
    "boosting",
    "cavi",
    "deep_ensemble",
    "gp",
    "hmc",
    "laplace",
    "linear",
    "pbp",
    "swag",
)
"""A method of each kind of posterior; the others are slow tests."""


@pytest.mark.parametrize("method", slow_except(METHODS, *QUICK))
def test_a_saved_model_predicts_the_same(tiny: Planner, tmp_path: Path, method: str) -> None:
    own = ["method.iterations=3"] if method == "boosting" else []
    experiment = experiment_of(tiny(f"method={method}", *depth_overrides(method), *own))
    values = dict.fromkeys(experiment.method.hyper_names, 0.5)
    model = fit_model(experiment.fitting, experiment.table, values)
    save_model(tmp_path / "m", model, {"scores": np.arange(3.0)}, {"target": "y"})
    loaded = load_model(tmp_path / "m", experiment.fitting)
    assert loaded is not None and loaded.about["target"] == "y" and loaded.model.rows == 60
    assert loaded.arrays["scores"].tolist() == [0, 1, 2] and loaded.model.values == model.values
    for inputs in (experiment.table.inputs[:7], experiment.table.inputs[:1]):
        first, second = model.predict(inputs), loaded.model.predict(inputs)
        for name, array in first.items():
            assert array.shape == (len(inputs),) and np.isfinite(array).all()
            np.testing.assert_allclose(second[name], array, rtol=1e-9)


def test_predictions_fit_the_training_data(tiny: Planner) -> None:
    experiment = experiment_of(tiny("method=linear"))
    table = experiment.table
    model = fit_model(experiment.fitting, table, {})
    found = model.predict(table.inputs)
    assert np.corrcoef(found["mean"], table.targets)[0, 1] > 0.8
    deviation = np.sqrt(found["epistemic_variance"] + found["noise_variance"])
    assert 0.5 < np.std((table.targets - found["mean"]) / deviation) < 1.5


def test_all_chunks_are_predicted_with_the_same_weights(
    tiny: Planner, monkeypatch: pytest.MonkeyPatch
) -> None:
    experiment = experiment_of(tiny("method=vadam", *FIXED[1:]))
    model = fit_model(experiment.fitting, experiment.table, {})
    whole = model.predict(experiment.table.inputs)
    assert len(experiment.table.inputs) < CHUNK_ROWS
    monkeypatch.setattr("bnnbench.prediction.model.CHUNK_ROWS", 7)
    pieces = model.predict(experiment.table.inputs)
    for name, array in whole.items():
        np.testing.assert_allclose(pieces[name], array, rtol=1e-5)


def test_chosen_values_are_medians_without_diverged_splits() -> None:
    splits = pd.DataFrame({"diverged": [0, 0, 1, 0], "hp.a": [1.0, 4.0, 99.0, 2.0], "rmse": 1.0})
    assert chosen_values(splits) == {"a": 2.0}
    with raises_user_error(code="diverged"):
        chosen_values(splits.assign(diverged=1))


def test_damaged_models_are_errors_and_old_ones_are_ignored(
    tiny: Planner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    experiment = experiment_of(tiny("method=linear"))
    model = fit_model(experiment.fitting, experiment.table, {})
    assert load_model(tmp_path, experiment.fitting) is None
    save_model(tmp_path, model, {"scores": np.zeros(0)}, {})
    for name, old in ((TENSOR_FILE, b"scores"), (JSON_FILE, b"rows")):
        content = (tmp_path / name).read_bytes()
        for changed in (b"nothing", b"[" * 100_000, content.replace(old, b"other", 1)):
            (tmp_path / name).write_bytes(changed)
            with raises_user_error(code="damaged_model"):
                load_model(tmp_path, experiment.fitting)
        (tmp_path / name).write_bytes(content)
    assert load_model(tmp_path, experiment.fitting) is not None
    monkeypatch.setattr("bnnbench.prediction.model.__version__", "99")
    assert load_model(tmp_path, experiment.fitting) is None


def test_a_fit_that_diverges_is_refused(tiny: Planner) -> None:
    experiment = experiment_of(tiny("method=bbb", *FIXED[1:], "training.learning_rate=1e38"))
    with raises_user_error(code="diverged"):
        fit_model(experiment.fitting, experiment.table, {})
