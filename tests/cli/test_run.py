"""`bnnbench run`: single runs and sweeps, from the words to the folder."""

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
from support.command import folder_of
from support.config import TINY

from bnnbench.cli import jobs

Command = Callable[..., tuple[int, str, str]]

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
    folder = folder_of(out)
    row = pd.read_csv(folder.table("splits")).iloc[0]
    assert row["method"] == "vadam" and np.isfinite(row["rmse"])
    for name in ("predictions", "search", "calibration"):
        for suffix in ("png", "pdf"):
            assert folder.figure(name, suffix).stat().st_size > 1000
    summary = pd.read_csv(folder.table("summary")).set_index("metric")
    assert summary.loc["rmse", "mean"] == pytest.approx(row["rmse"])
    assert "RMSE" in out and list(Path().iterdir()) == []


@pytest.mark.usefixtures("undrawn")
@pytest.mark.parametrize("method", ["vadam", "sgld"])
def test_what_a_method_says_of_its_fit_is_printed(
    command: Command, table_csv: Path, method: str
) -> None:
    code, out, errors = command("run", *unsearched(table_csv, "o"), f"method={method}")
    assert code == 0, errors
    assert ("Effective" in out) == (method == "sgld")


@pytest.mark.usefixtures("undrawn")
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


@pytest.mark.usefixtures("undrawn")
def test_a_single_run_is_no_sweep(command: Command, table_csv: Path) -> None:
    code, _, errors = command("run", "method=pbp", *table_words(table_csv, "o"))
    assert code == 0 and "1/1 splits" in errors and "(all:" not in errors


@pytest.mark.usefixtures("undrawn")
def test_one_bad_job_does_not_stop_the_others(command: Command, table_csv: Path) -> None:
    code, out, errors = command("run", "-m", *unsearched(table_csv, "o"), "seed=-1,0")
    assert code == 2 and "seed" in errors
    assert out.count("results: ") == 1


@pytest.mark.usefixtures("undrawn")
def test_what_is_forced_is_run_again(command: Command, table_csv: Path) -> None:
    words = ["run", *unsearched(table_csv, "o")]
    code, out, _ = command(*words)
    record = folder_of(out).table("splits")
    before = record.stat().st_mtime_ns
    _, _, errors = command(*words)
    assert "nothing run" in errors and record.stat().st_mtime_ns == before
    for place in (0, 1, 5):
        code, _, errors = command(*words[:place], "--force", *words[place:])
        assert code == 0 and "nothing run" not in errors and "1/1 splits" in errors
        assert record.stat().st_mtime_ns > before
        before = record.stat().st_mtime_ns


@pytest.mark.usefixtures("undrawn")
def test_a_sweep_passes_over_what_would_change_nothing(command: Command, table_csv: Path) -> None:
    words = [*unsearched(table_csv, "o"), "method=map"]
    code, out, error = command("run", "-m", *words, "divergence=kl,js")
    assert code == 0 and out.count("results: ") == 1
    assert error.strip().endswith("passed over 1 combination that differ from others in name only")
    code, out, error = command("run", "-m", *words, "divergence=js,rkl")
    assert code == 2 and "results" not in out and "divergence is js" in error


def test_a_setting_that_the_experiment_does_not_read_is_refused(command: Command) -> None:
    line = ("run", "experiment=linear_regression")
    for word in ("evaluation.samples=5", "search=bo", "search.folds=3"):
        code, out, error = command(*line, word)
        assert code == 2 and out == ""
        key = word.lstrip("+").partition("=")[0]
        last = error.splitlines()[-1]  # before it, on a busy machine, that the line is being read
        assert last == f"bnnbench: experiment=linear_regression has no use for {key}."


@pytest.mark.slow
@pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="needs two cores")
def test_jobs_side_by_side(table_csv: Path, tmp_path: Path) -> None:
    """Runs that would share a stack train apart there, which is said, as is what a job leaves."""
    words = [*unsearched(table_csv, tmp_path / "out"), "method=bbb,map", "divergence=kl,js"]
    command = [sys.executable, "-m", "bnnbench", "run", "-m", *words, "hydra/launcher=joblib"]
    command.append("hydra.launcher.n_jobs=2")
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("results: ") == 3
    assert done.stderr.count("2 of these runs would train in common stacks") == 1
    last = done.stderr.strip().splitlines()[-1]
    assert last == "bnnbench: passed over 1 combination that differ from others in name only"
    assert "Error executing" not in done.stderr
    assert {path.name for path in tmp_path.iterdir()} == {"out", "table.csv"}


@pytest.mark.usefixtures("undrawn")
@pytest.mark.parametrize(
    ("swept", "code", "said"),
    [(["seed=-1,0"], 2, "seed must be a whole number of at least 0, not -1."),
     (["seed=0,1", "training.learning_rate=1e300"], 1, "every run diverged on every split"),
     (["method=map", "divergence=kl,js"], 0, "passed over 1 combination that differ")],
)  # fmt: skip
def test_what_becomes_of_jobs_of_other_processes_is_said(
    command: Command,
    monkeypatch: pytest.MonkeyPatch,
    table_csv: Path,
    swept: list[str],
    code: int,
    said: str,
) -> None:
    """Hydra lets them report nothing but a failure; here they think that they are others."""
    here, heeded = jobs._here(), jobs.Jobs.heeded

    def heeded_elsewhere(self: jobs.Jobs, work: Callable[[], Any]) -> Any:
        with monkeypatch.context() as there:
            there.setattr(jobs, "_here", lambda: (here[0], here[1] + 1))
            return heeded(self, work)

    monkeypatch.setattr(jobs.Jobs, "heeded", heeded_elsewhere)
    words = [*unsearched(table_csv, "o"), "hydra/launcher=joblib", "hydra.launcher.n_jobs=1"]
    ended, _, errors = command("run", "-m", *words, *swept)
    assert ended == code, errors
    last = errors.strip().splitlines()[-1]
    assert last.startswith(f"bnnbench: {said}") and "Error executing" not in errors
    assert {path.name for path in Path().iterdir()} == {"o"}


@pytest.mark.usefixtures("undrawn")
def test_what_is_asked_of_hydra_itself_it_does(command: Command, table_csv: Path) -> None:
    """Jobs are ours as long as nothing is, such as another folder; what a run is stays the same."""
    words = unsearched(table_csv, "o")
    code, out, errors = command("run", *words, "hydra.output_subdir=kept")
    assert code == 0, errors
    folder, kept = folder_of(out), Path("kept")
    assert (kept / "config.yaml").is_file() and folder.done.is_file()
    code, out, errors = command("run", "-m", *words, "seed=0,1", "hydra.verbose=false")
    assert code == 0 and out.count("results: ") == 2 and "nothing run" in errors
    assert folder_of(out).root.parent == folder.root.parent


def test_parallel_jobs_must_fit_the_cores(
    command: Command, table_csv: Path, tmp_path: Path
) -> None:
    words = table_words(table_csv, tmp_path / "out")
    launcher = ("hydra/launcher=joblib", "hydra.launcher.n_jobs=10000")
    code, _, errors = command("run", "-m", *words, *launcher)
    assert code == 2 and "n_jobs" in errors
