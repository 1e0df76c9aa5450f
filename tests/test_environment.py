"""Environment variables: which values are used, and which are ignored with a note."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bnnbench.notes import note_once
from bnnbench.system import positive_number, read_variable, whole_number

NAME = "BNNBENCH_OF_A_TEST"

CASES: dict[Callable[[str], Any], tuple[dict[str, Any], list[str]]] = {
    whole_number: (
        {"3": 3, " 4 ": 4}, ["0", "-1", "1.5", "1e9", "abc", "8GB", "nan", "inf"],
    ),
    positive_number: ({"0.5": 0.5, "inf": float("inf")}, ["0", "-1", "nan", "8GB", "two"]),
    shlex.split: ({"g++ -O1": ["g++", "-O1"]}, ["'", '"g++', "g++ \\"]),
}  # fmt: skip
"""By parser: strings with their values, and strings that cannot be used."""


@pytest.mark.parametrize("parse", CASES)
def test_values(
    parse: Callable[[str], Any], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    usable, others = CASES[parse]
    for text, expected in {**usable, "": "default", " ": "default"}.items():
        monkeypatch.setenv(NAME, text)
        assert read_variable(NAME, parse, "default") == expected
    monkeypatch.delenv(NAME)
    assert read_variable(NAME, parse, "default") == "default"
    assert capsys.readouterr().err == ""
    note_once.cache_clear()
    for text in others:
        monkeypatch.setenv(NAME, text)
        assert read_variable(NAME, parse, "default") == "default", text
        assert read_variable(NAME, parse, "default") == "default"
        (line,) = capsys.readouterr().err.splitlines()
        assert f"{NAME}={text}" in line


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("joblib", marks=pytest.mark.ci),
        pytest.param("multiprocessing", marks=pytest.mark.slow),
    ],
)
def test_processes_of_the_search_import_nothing_from_the_current_folder(
    tmp_path: Path, name: str
) -> None:
    """Without native code, TAGI searches in lockstep, in processes of joblib."""
    (tmp_path / name).mkdir()
    (tmp_path / name / "__init__.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n")
    words = ("run", "method=tagi", "dataset=yacht", "protocol=trial", "splits=2", "workers=2")
    command = Path(sys.executable).with_name("bnnbench")
    done = subprocess.run(
        [command, *words],
        cwd=tmp_path,
        env={**os.environ, "BNNBENCH_NATIVE": "0"},
        capture_output=True,
        text=True,
    )
    assert "results: " in done.stdout, done.stderr
    assert not (tmp_path / "ran").exists()
