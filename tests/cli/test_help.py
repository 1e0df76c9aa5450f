"""What teaches: lists, help, completion; and that none of it waits for heavy imports."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable

import pytest

from bnnbench.cli.configs import GROUPS, options
from bnnbench.discovery import suites

Command = Callable[..., tuple[int, str, str]]


def test_list_names_everything(command: Command) -> None:
    code, out, _ = command("list")
    assert code == 0
    names = [name for group in GROUPS for name in options(group)]
    for name in (*names, *(suite.name for suite in suites())):
        assert f"  {name} " in out or f"  {name}\n" in out


def test_run_help_teaches(command: Command) -> None:
    code, out, _ = command("run", "--help")
    assert code == 0
    for word in (
        "method: bbb",
        "depth: 0, 1, 2, 3",
        "search.iterations=10",
        "resumes",
        "-sc install",
    ):
        assert word in out


@pytest.mark.parametrize("name", ["reproduce", "report", "compare", "list", "data"])
def test_every_command_explains_itself(command: Command, name: str) -> None:
    code, out, _ = command(name, "--help")
    assert code == 0 and f"bnnbench {name}" in out and len(out.splitlines()) > 8


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys; from bnnbench.cli.main import build_parser; build_parser().format_help();"
        "print([m for m in ('torch','hydra','pandas','matplotlib','skopt') if m in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"


@pytest.mark.integration
@pytest.mark.parametrize(
    ("line", "expected"),
    [("bnnbench run method=", "method=vadam"), ("bnnbench run dataset=bo", "dataset=boston"),
     ("bnnbench run training.e", "training.epochs=")],
)  # fmt: skip
def test_completion(line: str, expected: str) -> None:
    environment = {**os.environ, "COMP_LINE": line, "COMP_POINT": str(len(line))}
    command = [sys.executable, "-m", "bnnbench", "-sc", "query=bash"]
    out = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
    assert expected in out.stdout.split()
