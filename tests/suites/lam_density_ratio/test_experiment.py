"""The experiment from its configuration to its tables: settings, units, resuming, mistakes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from support.config import job_overrides
from support.sprinkler_runs import sprinkler
from support.tiny_runs import with_experiment

from bnnbench.experiment.kinds import resumable_stack
from bnnbench.experiment.kinds.base import Task
from bnnbench.experiment.kinds.resumable_stack import STATE, saved_steps
from bnnbench.experiment.run.execution import execute
from bnnbench.experiment.run.run import Run
from bnnbench.experiment.store.run_folder import RunFolder
from bnnbench.suites.lam_density_ratio import SUITE, adversaries, experiment
from bnnbench.suites.lam_density_ratio.names import CURVES, REPETITIONS, SAMPLES
from bnnbench.suites.lam_density_ratio.stack import DensityRatioStack

TINY = (
    "pretraining_steps=4", "estimator_steps=2", "iterations=6", "samples=4", "evaluate_every=3",
)  # fmt: skip


@pytest.fixture(autouse=True)
def few_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reduce the draws of the final scores, which would take longer than the training."""
    monkeypatch.setattr(experiment, "KL_ROUNDS", 2)


def run_of(outputs: Path, *overrides: str, repetitions: int = 2) -> Run:
    return sprinkler(outputs, *TINY, f"repetitions={repetitions}", *overrides)


def tables(folder: RunFolder) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return both tables without the measured times."""
    curves, ends = (pd.read_csv(folder.table(name)) for name in (CURVES, REPETITIONS))
    return curves, ends.drop(columns="seconds")


def assert_same_tables(ours: RunFolder, theirs: RunFolder) -> None:
    for one, other in zip(tables(ours), tables(theirs), strict=True):
        pd.testing.assert_frame_equal(one, other)


def test_a_run_writes_the_tables_that_pages_read(tmp_path: Path) -> None:
    folder = execute(run_of(tmp_path))
    curves, ends = (pd.read_csv(folder.table(name)) for name in (CURVES, REPETITIONS))
    assert list(curves) == ["repetition", "iteration", "average_kl", "estimator_loss", "nelbo"]
    assert curves[["repetition", "iteration"]].to_numpy().tolist() == [
        [r, i] for r in range(2) for i in (0, 3, 6)
    ]
    assert list(ends) == ["repetition", "average_kl", "kl", "estimator_loss", "nelbo", "status",
                          "failed_at", "seconds"]  # fmt: skip
    by_repetition = curves.groupby("repetition")["average_kl"]
    np.testing.assert_array_equal(ends["average_kl"], by_repetition.last())
    # Both measure the same generator: 1.3241 apart, up to the density estimates.
    assert (ends["average_kl"] - 1.3241 - ends["kl"]).abs().max() < 1.0
    assert ends["status"].tolist() == ["ok", "ok"] and ends["failed_at"].isna().all()
    with np.load(folder.arrays(SAMPLES)) as arrays:
        samples = arrays["samples"]
    assert samples.shape == (2, 5, 1000, 2) and samples.dtype == np.float32
    assert not list(folder.work.glob(f"*.{STATE}"))


class Killed(Exception):
    """Simulates a signal."""


@pytest.mark.slow
def test_a_killed_repetition_is_resumed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = execute(run_of(tmp_path / "whole"))
    monkeypatch.setattr(resumable_stack, "SAVE_SECONDS", 0.0)
    run = run_of(tmp_path / "killed")
    take_step, done = DensityRatioStack.take_step, []

    def killed_after_five(stack: DensityRatioStack) -> None:
        if len(done) == 5:
            raise Killed
        done.append(stack.steps)
        take_step(stack)

    with monkeypatch.context() as patch:
        patch.setattr(DensityRatioStack, "take_step", killed_after_five)
        with pytest.raises(Killed):
            execute(run)
    unit, state = "repetition-00", run.store.file("repetition-00", STATE)
    assert saved_steps(state) == 5
    assert run.experiment.count_steps(unit, run.store) == (5, 7)
    assert run.experiment.progress(unit, run.store) == pytest.approx(5 / 7)

    restarted: list[int] = []
    monkeypatch.setattr(
        DensityRatioStack, "take_step", lambda s: (restarted.append(s.steps), take_step(s))[1]
    )
    assert_same_tables(execute(run), whole)
    assert restarted == [5, 6, *range(7)]  # the second repetition from its start
    assert run.experiment.count_steps(unit, run.store) == (7, 7)
    assert "damaged" not in capsys.readouterr().err


@pytest.mark.slow
def test_stacked_repetitions_give_the_results_of_separate_ones(tmp_path: Path) -> None:
    """As on a GPU, where all repetitions of a run form one stack."""
    curves, ends = tables(execute(run_of(tmp_path / "alone")))
    run = run_of(tmp_path / "together")
    Task(run.experiment, run.store, run.experiment.units()).run()
    ours = tables(execute(run))
    pd.testing.assert_frame_equal(ours[0], curves, rtol=1e-3)
    np.testing.assert_allclose(ours[1]["average_kl"], ends["average_kl"], rtol=1e-3)


def test_a_repetition_that_fails_in_pretraining_has_a_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = adversaries.initial_weights
    monkeypatch.setattr(
        adversaries, "initial_weights", lambda a, seed: original(a, seed) * float("inf")
    )
    folder = execute(run_of(tmp_path, repetitions=1))
    ends = pd.read_csv(folder.table(REPETITIONS)).iloc[0]
    assert (ends["status"], ends["failed_at"]) == ("not finite", 0)
    scores = ["average_kl", "kl", "nelbo"]
    assert ends[scores].isna().all()
    assert not folder.table(CURVES).exists()


def test_repetitions_are_stacked_on_a_gpu_only(tmp_path: Path) -> None:
    run = run_of(tmp_path, repetitions=4)
    units = run.experiment.units()
    assert run.experiment.groups(units) == tuple((unit,) for unit in units)
    gpu = with_experiment(run, device="cuda").experiment
    assert gpu.lockstep and not run.experiment.lockstep and gpu.groups(units) == (units,)


@pytest.mark.parametrize(
    ("schedule", "contrast", "published"),
    [
        ("undertrained", "prior", (5000, 11, 2000, 100, 4e-5, 2e-4)),
        ("published", "joint", (5000, 50, 40_000, 200, 1e-5, 1e-5)),
    ],
)
def test_schedules_are_those_of_the_thesis(
    tmp_path: Path, schedule: str, contrast: str, published: tuple[float, ...]
) -> None:
    experiment = sprinkler(tmp_path, f"schedule={schedule}", f"contrast={contrast}").experiment
    own = experiment.metadata()
    settings = ("pretraining_steps", "estimator_steps", "iterations", "samples",
                "estimator_rate", "posterior_rate")  # fmt: skip
    assert tuple(own[name] for name in settings) == published
    assert own["decay_from"] == 1 and len(experiment.units()) == 30
    assert own["data"] == [0, 5, 8, 12, 50]


def test_sweeps_of_the_reproduction() -> None:
    sweeps = [s.overrides.split() for s in SUITE.sweeps if s.experiment == "sprinkler"]
    sizes = [len(job_overrides("experiment=sprinkler", *words)) for words in sweeps]
    assert sizes == [2, 12, 2, 2, 6, 6, 1, 6]
    small = [(s.experiment, s.overrides) for s in SUITE.sweeps if "small" in s.sizes]
    assert [name for name, _ in small] == [
        "estimator_parametrisations", "adversarial_vb", "sprinkler",
    ]  # fmt: skip
    assert "experiment.schedule=quick" in small[-1][1]
