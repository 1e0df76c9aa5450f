"""`bnnbench run`: single runs and sweeps, from the command line to the folder."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from omegaconf import OmegaConf
from support.command import Command, result_folder
from support.config import TINY
from support.quick import slow_except

from bnnbench.cli.commands.run import _status_text, join_errors
from bnnbench.config.compose import Job, JobList
from bnnbench.types import UserError

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
    code, out, errors = command("run", *words, "method=vadam", "figures=png")
    assert code == 0, errors
    folder = result_folder(out)
    row = pd.read_csv(folder.table("splits")).iloc[0]
    assert row["method"] == "vadam" and np.isfinite(row["rmse"])
    for name in ("predictions", "search", "calibration"):
        assert folder.figure(name, "png").stat().st_size > 1000
    summary = pd.read_csv(folder.table("summary")).set_index("metric")
    assert summary.loc["rmse", "mean"] == pytest.approx(row["rmse"])
    assert "RMSE" in out and list(Path().iterdir()) == []


@pytest.mark.usefixtures("without_figures")
@pytest.mark.parametrize("method", slow_except(["vadam", "sgld"], "sgld"))
def test_diagnostics_of_a_method_are_printed(
    command: Command, table_csv: Path, method: str
) -> None:
    code, out, errors = command("run", *unsearched(table_csv, "o"), f"method={method}")
    assert code == 0, errors
    assert ("Effective" in out) == (method == "sgld")


@pytest.mark.ci
@pytest.mark.usefixtures("without_figures")
def test_a_sweep_runs_every_job_and_leaves_the_folder_clean(
    command: Command, table_csv: Path, tmp_path: Path
) -> None:
    words = unsearched(table_csv, tmp_path / "out")
    code, out, errors = command("run", "-m", *words, "method=vadam,map", "seed=0,1")
    assert code == 0, errors
    assert out.count("results: ") == out.count(" Method ") == 1, "one table at the end"
    rows = [line.split()[:3] for line in out.splitlines() if " ± " in line or "seed" in line]
    assert {row[0].strip(",") for row in rows} == {"vadam", "map"} and len(rows) == 4
    lines = [line for line in errors.splitlines() if "splits," in line]
    assert "(all: 0/4 runs, " in lines[0] and "(all: 3/4 runs, " in lines[3]
    assert list(Path().iterdir()) == []
    code, out, _ = command("report", str(tmp_path / "out"))
    assert code == 0
    results = pd.read_csv(tmp_path / "out" / "report" / "results.csv")
    assert sorted(results["method"]) == ["map", "map", "vadam", "vadam"]


@pytest.mark.slow
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


def test_the_configuration_is_printed(command: Command) -> None:
    code, out, errors = command("run", "--cfg", "job", "method=bbb", "seed=3")
    assert code == 0 and errors == "" and list(Path().iterdir()) == []
    printed = OmegaConf.create(out)
    assert printed.seed == 3 and printed.method.label == "bbb" and "hydra" not in printed
    assert "${" in out and "${" not in command("run", "--cfg", "job", "--resolve")[1]
    assert command("run", "--cfg", "job", "-p", "network.width")[1] == "50\n"
    assert "\nsweep:" not in command("run", "--cfg", "job", "experiment=book_uci")[1]


@pytest.mark.slow
@pytest.mark.integration
def test_a_plugin_of_hydra_in_the_current_folder_is_not_imported(tmp_path: Path) -> None:
    (tmp_path / "hydra_plugins").mkdir()
    (tmp_path / "hydra_plugins" / "mine.py").write_text("print('imported')")
    words = [sys.executable, "-m", "bnnbench", "run", "--cfg", "job", "-p", "seed"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("0\n", "")


CONFIG = {"dataset": {"name": "diabetes"}, "experiment": {"label": "sprinkler"}}


@pytest.mark.parametrize(
    ("task", "said"),
    [
        (["method=vadam"], "reading diabetes"),
        (["experiment=sprinkler", "seed=1"], "preparing sprinkler"),
    ],
)
def test_the_status_names_what_is_read(task: list[str], said: str) -> None:
    job = Job(task, OmegaConf.create(CONFIG))
    assert _status_text(JobList(False, [job])) == said
    assert _status_text(JobList(True, [job, job])) == "checking 2 runs"


def test_the_status_of_an_invalid_configuration() -> None:
    job = Job([], OmegaConf.create({**CONFIG, "dataset": None}))
    assert _status_text(JobList(False, [job])) == "reading the configuration"


def test_joined_errors_keep_the_setting_and_code_that_they_share() -> None:
    joined = join_errors([UserError("a.", "seed", "x"), UserError("b.", "seed", "y")])
    assert (str(joined), joined.setting, joined.code) == ("a. b.", "seed", None)
    same = join_errors([UserError(f"{i}.", "seed", "x") for i in (1, 2, 3, 4, 5, 5)])
    assert str(same).startswith("1. 2. 3. 2 ") and same.code == "x"
