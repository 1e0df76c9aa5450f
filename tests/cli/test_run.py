"""`bnnbench run`: single runs and sweeps, from the command line to the folder."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from support.command import Command, result_folder
from support.config import TINY

from bnnbench.cli import sweep_runner
from bnnbench.cli.sweep_runner import SweepRunner

UNSEARCHED = (
    "search=none",
    "method.noise_precision=5",
    "method.prior_precision=1",
    "evaluation.out_of_fold=false",
)


def table_words(table: Path, outputs: Path | str) -> list[str]:
    words = ["dataset=csv", "dataset.target=y", f"dataset.path={table}", f"outputs_dir={outputs}"]
    return [*words, *TINY, "splits=1", "workers=1"]


def unsearched(table: Path, outputs: Path | str) -> list[str]:
    words = [word for word in table_words(table, outputs) if not word.startswith("search.")]
    return [*words, *UNSEARCHED]


def test_a_run_ends_in_its_table_figures_and_folder(
    command: Command, table_csv: Path, tmp_path: Path
) -> None:
    words = table_words(table_csv, tmp_path / "out")
    code, out, errors = command("run", *words, "method=vadam", "figures=both")
    assert code == 0, errors
    folder = result_folder(out)
    row = pd.read_csv(folder.table("splits")).iloc[0]
    assert row["method"] == "vadam" and np.isfinite(row["rmse"])
    for name in ("predictions", "search", "calibration"):
        for suffix in ("png", "pdf"):
            assert folder.figure(name, suffix).stat().st_size > 1000
    summary = pd.read_csv(folder.table("summary")).set_index("metric")
    assert summary.loc["rmse", "mean"] == pytest.approx(row["rmse"])
    assert "RMSE" in out and list(Path().iterdir()) == []


@pytest.mark.usefixtures("without_figures")
@pytest.mark.parametrize("method", ["vadam", "sgld"])
def test_diagnostics_of_a_method_are_printed(
    command: Command, table_csv: Path, method: str
) -> None:
    code, out, errors = command("run", *unsearched(table_csv, "o"), f"method={method}")
    assert code == 0, errors
    assert ("Effective" in out) == (method == "sgld")


@pytest.mark.usefixtures("without_figures")
def test_a_sweep_runs_every_job_and_leaves_the_folder_clean(
    command: Command, table_csv: Path, tmp_path: Path
) -> None:
    words = unsearched(table_csv, tmp_path / "out")
    code, out, errors = command("run", "-m", *words, "method=vadam,map", "seed=0,1")
    assert code == 0, errors
    assert out.count("results: ") == 4
    lines = [line for line in errors.splitlines() if "splits," in line]
    assert "(all: 0/4 runs, " in lines[0] and "(all: 3/4 runs, " in lines[3]
    assert list(Path().iterdir()) == []
    code, out, _ = command("report", str(tmp_path / "out"))
    assert code == 0
    results = pd.read_csv(tmp_path / "out" / "report" / "results.csv")
    assert sorted(results["method"]) == ["map", "map", "vadam", "vadam"]


@pytest.mark.usefixtures("without_figures")
def test_a_single_run_is_not_a_sweep(command: Command, table_csv: Path) -> None:
    code, _, errors = command("run", "method=pbp", *table_words(table_csv, "o"))
    assert code == 0 and "1/1 splits" in errors and "(all:" not in errors


@pytest.mark.usefixtures("without_figures")
def test_one_bad_job_does_not_stop_the_others(command: Command, table_csv: Path) -> None:
    code, out, errors = command("run", "-m", *unsearched(table_csv, "o"), "seed=-1,0")
    assert code == 2 and command.error is not None and command.error.setting == "seed", errors
    assert out.count("results: ") == 1


@pytest.mark.usefixtures("without_figures")
def test_a_finished_run_is_run_again_with_resume_false(command: Command, table_csv: Path) -> None:
    words = ["run", *unsearched(table_csv, "o")]
    code, out, _ = command(*words)
    record = result_folder(out).table("splits")
    before = record.stat().st_mtime_ns
    _, _, errors = command(*words)
    assert "nothing run" in errors and record.stat().st_mtime_ns == before
    code, _, errors = command(*words, "resume=false")
    assert code == 0 and "nothing run" not in errors and "1/1 splits" in errors
    assert record.stat().st_mtime_ns > before


@pytest.mark.usefixtures("without_figures")
def test_a_sweep_skips_duplicates(command: Command, table_csv: Path) -> None:
    words = [*unsearched(table_csv, "o"), "method=map"]
    code, out, error = command("run", "-m", *words, "divergence=kl,js")
    assert code == 0 and out.count("results: ") == 1
    assert error.strip().endswith("skipped 1 combination that duplicates another")
    words += ["divergence=js,kl_prior_posterior"]
    command.assert_refused("run", "-m", *words, setting="divergence", code="not_accepted")


def test_a_setting_without_effect_is_refused(command: Command) -> None:
    for word in ("evaluation.samples=5", "search=bayesian_optimisation", "search.folds=3"):
        words = ("run", "experiment=linear_regression", word)
        command.assert_refused(*words, setting=word.partition("=")[0], code="no_effect")


@pytest.mark.slow
@pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="needs two cores")
def test_parallel_jobs(table_csv: Path, tmp_path: Path) -> None:
    """A note names runs that would share a stack; jobs of other processes report duplicates."""
    words = [*unsearched(table_csv, tmp_path / "out"), "method=bbb,map", "divergence=kl,js"]
    command = [sys.executable, "-m", "bnnbench", "run", "-m", *words, "hydra/launcher=joblib"]
    command.append("hydra.launcher.n_jobs=2")
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("results: ") == 3
    assert done.stderr.count("2 of these runs would be trained in stacks") == 1
    last = done.stderr.strip().splitlines()[-1]
    assert last == "bnnbench: skipped 1 combination that duplicates another"
    assert "Error executing" not in done.stderr
    assert {path.name for path in tmp_path.iterdir()} == {"out", "table.csv"}


@pytest.mark.usefixtures("without_figures")
@pytest.mark.parametrize(
    ("swept", "code", "said"),
    [(["seed=-1,0"], 2, "seed must be a whole number of at least 0, not -1."),
     (["seed=0,1", "training.learning_rate=1e300"], 1, "every run diverged on every split"),
     (["method=map", "divergence=kl,js"], 0, "skipped 1 combination")],
)  # fmt: skip
def test_errors_of_jobs_in_other_processes_are_printed(
    command: Command,
    monkeypatch: pytest.MonkeyPatch,
    table_csv: Path,
    swept: list[str],
    code: int,
    said: str,
) -> None:
    """Each job runs as if it were in another process."""
    here, collect_errors = sweep_runner._current_owner(), SweepRunner.collect_errors

    def collect_elsewhere(self: SweepRunner, work: Callable[[], Any]) -> Any:
        with monkeypatch.context() as there:
            there.setattr(sweep_runner, "_current_owner", lambda: (here[0], here[1] + 1))
            return collect_errors(self, work)

    monkeypatch.setattr(SweepRunner, "collect_errors", collect_elsewhere)
    words = [*unsearched(table_csv, "o"), "hydra/launcher=joblib", "hydra.launcher.n_jobs=1"]
    ended, _, errors = command("run", "-m", *words, *swept)
    assert ended == code, errors
    last = errors.strip().splitlines()[-1]
    assert last.startswith(f"bnnbench: {said}") and "Error executing" not in errors
    assert {path.name for path in Path().iterdir()} == {"o"}


@pytest.mark.usefixtures("without_figures")
def test_features_of_hydras_own_application(command: Command, table_csv: Path) -> None:
    """With an output folder of Hydra, its application runs the jobs, with the same results."""
    words = unsearched(table_csv, "o")
    code, out, errors = command("run", *words, "hydra.output_subdir=kept")
    assert code == 0, errors
    folder, kept = result_folder(out), Path("kept")
    assert (kept / "config.yaml").is_file() and folder.done.is_file()
    code, out, errors = command("run", "-m", *words, "seed=0,1", "hydra.verbose=false")
    assert code == 0 and out.count("results: ") == 2 and "nothing run" in errors
    assert result_folder(out).root.parent == folder.root.parent


def test_parallel_jobs_must_fit_the_cores(
    command: Command, table_csv: Path, tmp_path: Path
) -> None:
    words = table_words(table_csv, tmp_path / "out")
    launcher = ("hydra/launcher=joblib", "hydra.launcher.n_jobs=10000")
    command.assert_refused("run", "-m", *words, *launcher, setting="hydra.launcher.n_jobs")
