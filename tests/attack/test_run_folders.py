"""Every file of a finished and of an unfinished run is damaged, before run, report and compare."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

import pandas as pd
import pytest
from attack.attempt import OutcomeCheck, Verdict, attempt
from attack.command_lines import command
from attack.crashes import kill_after_trial
from attack.sampling import sample
from support.damage import clear, flip_bit, truncate

Damage = Callable[[Path], None]


def become_folder(file: Path) -> None:
    file.unlink()
    file.mkdir()


def become_full_folder(file: Path) -> None:
    become_folder(file)
    (file / "mine").touch()


DAMAGES: Mapping[str, Damage] = {
    "truncated": truncate,
    "emptied": clear,
    "a flipped bit": flip_bit,
    "a folder": become_folder,
    "a full folder": become_full_folder,
    "removed": Path.unlink,
}

VARIANT = "depth1-kl-gaussian-nll-seed{seed}"

ROOT_FILES = (
    *("DONE", "record.json", "config.yaml", "environment.json", "splits.csv", "search.csv"),
    *("summary.csv", "calibration.csv", "predictions.npz", "out_of_fold.npz"),
)

WORK_FILES = tuple(
    f"work/split-{unit}.{suffix}"
    for unit in ("00", "01")
    for suffix in ("json", "predictions.npz", "out_of_fold.npz", "trials.jsonl")
)

FINISHED = [
    f"{command} {damage} {file}"
    for command in ("run", "more", "report", "compare", "refresh")
    for file in (*ROOT_FILES, *(WORK_FILES if command in ("run", "more") else ()))
    for damage in DAMAGES
]
"""`more` asks the damaged run for one split more."""

UNFINISHED = [
    f"{command} {damage} {file}"
    for command in ("run", "report", "compare")
    for file in (
        *("record.json", "config.yaml", "environment.json", "work/split-01.trials.jsonl"),
        *(file for file in WORK_FILES if "split-00" in file),
    )
    for damage in DAMAGES
]

SCORES = ["split", "rmse", "log_likelihood", "crps"]


@pytest.fixture(scope="session")
def runs_folder(tmp_path_factory: pytest.TempPathFactory, table: Path) -> Path:
    """Outputs of two finished runs, seeds 1 and 2, and of one killed in its second split."""
    folder = tmp_path_factory.mktemp("runs")
    for seed in (1, 2):
        outcome = attempt(two_splits(table, f"seed={seed}"), folder)
        assert outcome.code == 0, str(outcome)
    attempt(two_splits(table, "seed=3"), folder)
    undamaged = run_folder(folder, 3)
    shutil.copytree(undamaged, folder / "whole3")
    shutil.rmtree(undamaged)
    kill_after_trial(two_splits(table, "seed=3"), folder, MIDDLE)
    return folder


MIDDLE = "split-01.trials.jsonl"
"""The log of the second split, whose first evaluation is the last thing that is kept."""


def two_splits(table: Path, *words: str) -> list[str]:
    return command(table, (), "dataset.n_splits=3", "splits=2", *words)


def run_folder(folder: Path, seed: int) -> Path:
    (found,) = folder.glob(f"outputs/uci/t/vadam/{VARIANT.format(seed=seed)}*")
    return found


def scores(run: Path) -> pd.DataFrame:
    return pd.read_csv(run / "splits.csv")[SCORES]


def same_scores(run: Path, undamaged: Path) -> str:
    """Why the numbers are not those of the undamaged run, if so."""
    theirs, ours = scores(undamaged), scores(run).head(2)
    return "" if theirs.equals(ours) else f"other scores than before: {ours} for {theirs}"


def same_report(folder: Path, runs_folder: Path, finished: tuple[int, ...]) -> str:
    """Why a report's numbers are not those of the undamaged runs, if so."""
    table = pd.read_csv(folder / "outputs" / "report" / "results.csv")
    means = {seed: scores(run_folder(runs_folder, seed))["rmse"].mean() for seed in finished}
    right = [any(abs(mean - rmse) < 1e-6 for mean in means.values()) for rmse in table["rmse_mean"]]
    return "" if all(right) and right else f"other scores in the report: {list(table['rmse'])}"


COMMANDS = {
    "report": ["report"],
    "refresh": ["report", "--refresh"],
    "compare": ["compare"],
}


def damaged(runs_folder: Path, empty: Path, seeds: tuple[int, ...], seed: int, name: str) -> Path:
    """A copy of some of the runs in which a file of one is damaged; that run's folder."""
    for each in seeds:
        run = run_folder(runs_folder, each)
        shutil.copytree(run, empty / run.relative_to(runs_folder))
    run = run_folder(empty, seed)
    _, damage, file = name.split(" ")[0], *_parts(name)
    DAMAGES[damage](run / file)
    return run


def _parts(name: str) -> tuple[str, str]:
    words = name.split(" ")
    return " ".join(words[1:-1]), words[-1]


@pytest.mark.slow
@pytest.mark.parametrize("name", sample(FINISHED, 2))
def test_a_finished_run(
    check_outcome: OutcomeCheck, table: Path, runs_folder: Path, empty: Path, name: str
) -> None:
    run = damaged(runs_folder, empty, (1, 2), 1, name)
    what = name.split(" ")[0]
    if what in COMMANDS:
        outcome = attempt(COMMANDS[what], empty)
        right = outcome.code == 0 and what != "compare"
        wrong = same_report(empty, runs_folder, (1, 2)) if right else ""
    else:
        more = ["splits=2", "splits=3"][what == "more"]
        outcome = attempt(two_splits(table, "seed=1", more), empty)
        wrong = same_scores(run, run_folder(runs_folder, 1)) if outcome.code == 0 else ""
    check_outcome("damaged finished runs", outcome, wrong=wrong)


@pytest.mark.slow
@pytest.mark.parametrize("name", sample(UNFINISHED, 1))
def test_an_unfinished_run(
    check_outcome: OutcomeCheck, table: Path, runs_folder: Path, empty: Path, name: str
) -> None:
    run = damaged(runs_folder, empty, (2, 3), 3, name)
    what = name.split(" ")[0]
    if what == "run":
        outcome = attempt(two_splits(table, "seed=3"), empty)
        wrong = same_scores(run, runs_folder / "whole3") if outcome.code == 0 else ""
    else:
        outcome = attempt(COMMANDS[what], empty)
        wrong = (
            same_report(empty, runs_folder, (2,)) if (outcome.code, what) == (0, "report") else ""
        )
    check_outcome("damaged unfinished runs", outcome, wrong=wrong)


def test_the_killed_run_is_unfinished(runs_folder: Path) -> None:
    """So that the attacks on it are what they claim to be."""
    run = run_folder(runs_folder, 3)
    assert not (run / "DONE").exists()
    assert (run / "work" / "split-00.json").exists()
    assert (run / "work" / "split-01.trials.jsonl").read_text().count("\n") == 1
    assert os.listdir(run / "work")


@pytest.mark.slow
def test_verdicts_of_the_undamaged(runs_folder: Path, empty: Path) -> None:
    for seed in (1, 2):
        run = run_folder(runs_folder, seed)
        shutil.copytree(run, empty / run.relative_to(runs_folder))
    assert attempt(["report"], empty).verdict == Verdict.RAN
    assert not same_report(empty, runs_folder, (1, 2))
