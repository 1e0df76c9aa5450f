"""Random changes of a received run, and of the project in the current folder."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from io import StringIO
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from attack.attempt import Outcome, Verdict, attempt
from attack.command_lines import write_table
from attack.mutations import CANARY, PLANTED, change_bytes, change_file, seal
from attack.sampling import FULL, examples
from hypothesis import strategies as st

from bnnbench import discovery

METHODS = ("linear", "vadam", "boosting", "gp", "pbp", "mc_dropout", "laplace", "deep_ensemble")
"""Their saved models have different arrays."""

FILES = ("record.json", "DONE", "config.yaml", "splits.csv", "model/model.json",
         "model/model.safetensors", "environment.json", "search.csv", "predictions.npz",
         "calibration.csv", "summary.csv")  # fmt: skip

COMMANDS = {
    "predict": ["predict", "outputs/received", "t.csv"],
    "show": ["show", "outputs/received"],
    "report": ["report", "outputs/received", "--output-dir", "outputs/out"],
    "refresh": ["report", "outputs/received", "--refresh", "--output-dir", "outputs/out"],
    "compare": ["compare", "outputs/received"],
}
"""Commands that read a run."""

PREDICT_FILES = FILES[2:6]
"""Files that `predict` reads."""


@pytest.fixture(scope="session")
def received(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a finished run of each method, with its model."""
    folder = tmp_path_factory.mktemp("received")
    write_table(folder / "t.csv")
    own = {"linear": [], "boosting": ["method.iterations=3"], "gp": []}
    network = ["training.epochs=1", "training.final_epochs=1", "network.width=3",
               "search.iterations=2", "search.initial_points=2", "search.folds=2",
               "training.samples=1", "evaluation.samples=5"]  # fmt: skip
    for method in METHODS if FULL else METHODS[:1]:
        words = ["dataset=csv", "dataset.path=t.csv", "dataset.target=y", f"method={method}"]
        words += [
            *own.get(method, network),
            f"outputs_dir=outputs/{method}",
            "splits=2",
            "workers=1",
        ]
        assert attempt(["run", *words], folder).verdict == Verdict.RAN, method
        assert attempt(["predict", f"outputs/{method}", "t.csv"], folder).verdict == Verdict.RAN, (
            method
        )
    return folder


def start(received: Path, method: str, folder: Path) -> Path:
    """Copy a run into a new folder and return the run's."""
    folder.mkdir()
    shutil.copytree(received / "outputs" / method, folder / "outputs" / "received")
    shutil.copy(received / "t.csv", folder)
    (folder / "evil.py").write_text(PLANTED)
    (run,) = (mark.parent for mark in (folder / "outputs").rglob("DONE"))
    return run


@pytest.mark.ci
@pytest.mark.parametrize("method", METHODS if FULL else METHODS[:1])
def test_a_received_run(
    record_outcome: Callable[..., str], received: Path, tmp_path: Path, method: str
) -> None:
    """It is refused or gives the same numbers, unless its checksums were corrected."""
    whole = start(received, method, tmp_path / "whole")
    expected = predicted(attempt(COMMANDS["predict"], tmp_path / "whole"))
    scores = pd.read_csv(whole / "splits.csv")["rmse"]

    def one(draw: st.DrawFn, number: int) -> str:
        folder = tmp_path / str(number)
        run = start(received, method, folder)
        files = [name for name in FILES if (run / name).is_file()]
        file = draw(st.sampled_from(files))
        sealed = change_file(draw, run / file) and draw(st.booleans())
        if sealed:
            with suppress(OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
                seal(run)
        commands = ["predict"] if file in PREDICT_FILES else [*COMMANDS]
        command = draw(st.sampled_from(commands))
        outcome = attempt(COMMANDS[command], folder)
        wrong = f"{CANARY} exists" if (folder / CANARY).exists() else ""
        if not sealed and outcome.code == 0:
            wrong = wrong or different(command, outcome, folder, expected, scores)
        failure = record_outcome("received runs", outcome, wrong=wrong)
        return failure and f"{command} with changed {file} in {folder}, sealed {sealed}: {failure}"

    failures = examples(method, one, 2)
    assert not failures, "\n\n".join(failures)


def predicted(outcome: Outcome) -> pd.DataFrame:
    return pd.read_csv(StringIO(outcome.out))


def different(
    command: str, outcome: Outcome, folder: Path, expected: pd.DataFrame, scores: pd.Series
) -> str:
    """Why numbers are not those of the unchanged run, if so."""
    if command == "predict":
        found = predicted(outcome)
        same = list(found) == list(expected) and np.allclose(found, expected, rtol=1e-5)
        return "" if same else "other predictions"
    if command in ("report", "refresh"):
        found = pd.read_csv(folder / "outputs" / "out" / "results.csv")["rmse_mean"]
        return "" if np.allclose(found, scores.mean(), rtol=1e-5) else "other scores"
    return ""


VALUES = ["[]", '["."]', '["evil"]', '["evil", "evil.x"]', '["/"]', '["../.."]', '["~"]',
          '["a\\u0000b"]', '["os"]', '["antigravity"]', '"evil"', "1", "nan", "2020-01-01", "[[]]",
          "{a = 1}", '[""]', '["\\u001b]0;a\\u0007"]', "[", '["t.csv"]', '["evil.py"]']  # fmt: skip

PROJECT_COMMANDS = [["list"], ["show", "outputs/received"], ["report", "outputs/received"],
                    ["predict", "outputs/received", "t.csv"], ["check", "method=evil"],
                    ["run", "method=evil"], ["list", "method"]]  # fmt: skip


def test_a_project_in_the_folder(
    record_outcome: Callable[..., str],
    received: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It runs nothing unless it is trusted; then a wrong file gives one sentence."""
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr(discovery, "_own_folders", {})
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))

    def one(draw: st.DrawFn, number: int) -> str:
        folder = tmp_path / str(number)
        start(received, "linear", folder)
        keys = draw(st.lists(st.sampled_from(["suites", "path", "config_dirs", "x"]), max_size=3))
        content = "\n".join(f"{key} = {draw(st.sampled_from(VALUES))}" for key in keys).encode()
        content = change_bytes(draw, content) if draw(st.booleans()) else content
        (folder / "bnnbench.toml").write_bytes(content)
        trusted = draw(st.booleans())
        (folder / "evil.py").write_text("" if trusted else PLANTED)
        monkeypatch.setenv("BNNBENCH_TRUST", str(folder) if trusted else "")
        words = draw(st.sampled_from(PROJECT_COMMANDS))
        outcome = attempt(words, folder)
        wrong = f"{CANARY} exists" if (folder / CANARY).exists() else ""
        if trusted:  # its code may run
            outcome = replace(outcome, executed=())
        failure = record_outcome("projects", outcome, wrong=wrong)
        return failure and f"{words} with {content!r} in {folder}, trusted {trusted}: {failure}"

    failures = examples("project", one, 3)
    assert not failures, "\n\n".join(failures)
