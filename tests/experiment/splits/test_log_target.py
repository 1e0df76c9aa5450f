"""Runs, models and estimators of a target's logarithm, compared with those of hand-made logs."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from io import StringIO
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pandas as pd
import pytest
from support.command import Command
from support.tiny_runs import finished, tiny_run
from support.user_errors import raises_user_error

from bnnbench import BNNRegressor
from bnnbench.experiment.store.run_folder import RunFolder
from bnnbench.results.read.run_files import read_columns, read_test_points

pytestmark = pytest.mark.usefixtures("without_figures")

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(60, 2))
LOGS = 3 + X[:, 0] + 0.5 * RANDOM.normal(size=60)

LOG = "dataset.log_target=true"


def write(folder: Path, targets: np.ndarray) -> Path:
    path = folder / "t.csv"
    frame = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "y": targets})
    frame.to_csv(path, index=False, float_format="%.17g")
    return path


Runs = Callable[[str], tuple[RunFolder, RunFolder]]
"""The folders of a run of a method on positive targets, and of one on their logarithms."""


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Runs:
    @cache
    def run(method: str) -> tuple[RunFolder, RunFolder]:
        words = ("evaluation.out_of_fold=true", "evaluation.score_training_rows=true", method)
        folders = []
        for targets, more in ((np.exp(LOGS), (LOG,)), (LOGS, ())):
            place = tmp_path_factory.mktemp("run")
            folders.append(finished(tiny_run(write(place, targets), place / "o", *words, *more))[0])
        return folders[0], folders[1]

    return run


@pytest.mark.parametrize(
    "method", ["linear", "vadam", *(pytest.param(m, marks=pytest.mark.ci) for m in ("gp", "pbp"))]
)
def test_a_run_is_that_of_the_logarithms(both: Runs, method: str) -> None:
    ours, by_hand = both(f"method={method}")
    own, hand = (pd.read_csv(folder.table("splits")) for folder in (ours, by_hand))
    for name in ("predictions", "out_of_fold", "training"):
        found, expected = read_columns(ours, name), read_columns(by_hand, name)
        assert found is not None and expected is not None
        np.testing.assert_allclose(found["log_mean"], expected["mean"], rtol=1e-5)
        total = expected["epistemic_variance"] + expected["noise_variance"]
        np.testing.assert_allclose(found["log_variance"], total, rtol=1e-4)
        assert (found["mean"] > np.exp(found["log_mean"])).all(), "it is above the median"
    points = read_test_points(ours, own)
    assert points is not None
    jacobian = np.log(points["target"]).groupby(points["split"]).mean()
    for name in ("log_likelihood", "log_likelihood_joint", "log_likelihood_gaussian"):
        difference = hand.set_index("split")[name] - own.set_index("split")[name]
        np.testing.assert_allclose(difference, jacobian, rtol=1e-4)
    hyper = [column for column in own if column.startswith("hp.")]
    np.testing.assert_allclose(own[hyper], hand[hyper], rtol=1e-4)


def test_the_search_maximises_the_log_likelihood_of_the_target(both: Runs) -> None:
    ours, by_hand = both("method=vadam")
    own, hand = (pd.read_csv(folder.table("search")) for folder in (ours, by_hand))
    folds = [column for column in own if column.startswith("fold_")]
    lost = hand[folds] - own[folds]  # the mean logarithm of the targets of the fold
    assert (lost.groupby(own["split"]).std() < 1e-3).all(axis=None)
    assert lost.to_numpy() == pytest.approx(LOGS.mean(), abs=0.8)


def test_a_run_continues_after_an_interruption(both: Runs, tmp_path: Path) -> None:
    run = tiny_run(write(tmp_path, np.exp(LOGS)), tmp_path / "o", "method=vadam", LOG)
    place = "bnnbench.experiment.splits.split_experiment.final_fit"
    with patch(place, side_effect=KeyboardInterrupt), pytest.raises(KeyboardInterrupt):
        finished(run)
    whole = pd.read_csv(both("method=vadam")[0].table("search"))
    found = pd.read_csv(finished(run)[0].table("search"))
    times = ["seconds", "suggest_seconds"]
    pd.testing.assert_frame_equal(found.drop(columns=times), whole.drop(columns=times))


@pytest.mark.parametrize("calibrate", ["none", "isotonic", "conformal"])
def test_a_saved_model_predicts_the_target(command: Command, both: Runs, calibrate: str) -> None:
    ours, by_hand = both("method=linear")
    new = pd.DataFrame({"a": [-2.0, 0.0, 1.5], "b": [0.1, 0.0, -1.0]})
    new.to_csv("new.csv", index=False)
    found = []
    for folder in (ours, by_hand, ours):  # the last prediction loads the model
        words = ("predict", str(folder.root), "new.csv", "--calibrate", calibrate)
        code, out, errors = command(*words)
        assert code == 0, errors
        found.append(pd.read_csv(StringIO(out)))
    own, hand, again = found
    pd.testing.assert_frame_equal(own, again)
    for end in ("lower", "upper"):
        np.testing.assert_allclose(own[end], np.exp(hand[end]), rtol=1e-4)
    variance = hand["standard_deviation"] ** 2
    np.testing.assert_allclose(own["mean"], np.exp(hand["mean"] + variance / 2), rtol=1e-4)
    deviation = own["mean"] * np.sqrt(np.expm1(variance))
    np.testing.assert_allclose(own["standard_deviation"], deviation, rtol=1e-3)


def test_rows_to_label_are_those_of_the_logarithm(command: Command, both: Runs) -> None:
    ours, by_hand = both("method=linear")
    pd.DataFrame({"a": [0.0, 3.0, -2.0], "b": [0.0, 1.0, -1.0]}).to_csv("pool.csv", index=False)
    tables = []
    for folder in (ours, by_hand):
        code, out, errors = command("predict", str(folder.root), "--next", "2", "pool.csv")
        assert code == 0 and ("logarithm" in errors) == (folder is ours)
        tables.append(pd.read_csv(StringIO(out)))
    pd.testing.assert_frame_equal(*tables, rtol=1e-4)


def test_impossible_intervals_are_noted_for_new_rows(
    command: Command, both: Runs, tmp_path: Path
) -> None:
    pd.DataFrame({"a": [-2.0, 0.0], "b": [0.1, 0.0]}).to_csv("new.csv", index=False)
    plain = finished(tiny_run(write(tmp_path, np.exp(LOGS)), tmp_path / "o", "method=linear"))[0]
    ours, by_hand = both("method=linear")
    notes = [command("predict", str(f.root), "new.csv")[2] for f in (plain, ours, by_hand)]
    assert [LOG in note for note in notes] == [True, False, False]


def test_an_estimator_equals_one_of_the_logarithms() -> None:
    settings = {"noise_precision": 4.0, "prior_precision": 1.0, "epochs": 20, "width": 5}
    ours = BNNRegressor("vadam", log_target=True, **settings).fit(X, np.exp(LOGS))
    by_hand = BNNRegressor("vadam", **settings).fit(X, LOGS)
    found, expected = (one.predict_distribution(X[:9]) for one in (ours, by_hand))
    levels = [0.05, 0.5, 0.99]
    np.testing.assert_allclose(found.quantile(levels), np.exp(expected.quantile(levels)), 1e-5)
    mean, deviation = ours.predict(X[:9], return_std=True)
    drawn = found.sample(100_000, 0)
    np.testing.assert_allclose(mean, drawn.mean(1), rtol=0.05)
    np.testing.assert_allclose(deviation, drawn.std(1), rtol=0.2)


@pytest.mark.parametrize("value", [0.0, -1e-9, -5.0])
@pytest.mark.parametrize("row", [0, 7, 59])
def test_targets_without_a_logarithm_are_refused(tmp_path: Path, value: float, row: int) -> None:
    targets = np.where(np.arange(60) == row, value, np.exp(LOGS))
    with raises_user_error("dataset.log_target", "not_positive", ["'y'", f"row {row + 1};"]):
        tiny_run(write(tmp_path, targets), tmp_path / "o", LOG)
    with raises_user_error("log_target", "not_positive", [f"row {row + 1};"]):
        BNNRegressor("linear", log_target=True).fit(X, targets)


def test_the_row_of_a_refused_target_is_that_of_the_file(tmp_path: Path) -> None:
    """Rows without a value are dropped, but counted."""
    targets = np.exp(LOGS)
    targets[[3, 5]], targets[8] = np.nan, 0
    path = write(tmp_path, targets)
    with raises_user_error("dataset.log_target", "not_positive", ["row 9;"]):
        tiny_run(path, tmp_path / "o", LOG, "dataset.missing=drop")


@pytest.mark.parametrize("value", ["yes", 1, None])
def test_the_parameter_is_true_or_false(value: object) -> None:
    with raises_user_error("log_target", "wrong_type"):
        BNNRegressor("linear", log_target=value).fit(X, np.exp(LOGS))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "words",
    [
        ("experiment=active_learning", "experiment.test=9", "experiment.additions=2"),
        ("experiment=region_uci",),
        ("experiment=shifted_uci",),
        (
            "experiment=linear_regression",
            "dataset.drop=[b]",
            "splits=[0]",
            "method.noise_precision=4",
            "method.prior_precision=1",
        ),
    ],
)
def test_other_experiments_refuse_the_logarithm(
    command: Command, tmp_path: Path, words: tuple[str, ...]
) -> None:
    table = ("dataset=csv", f"dataset.path={write(tmp_path, np.exp(LOGS))}", "dataset.target=y")
    code, _, errors = command("run", "method=bbb", *words, *table, LOG)
    assert code == 2 and "dataset.log_target" in errors and "Traceback" not in errors
