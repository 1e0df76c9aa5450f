"""`bnnbench compare --mine`: one screen with the significant differences and the data used."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from rich.console import Console
from support.command import Command
from support.reference import reference_run

from bnnbench.cli import console
from bnnbench.results.reference.write import add

pytestmark = pytest.mark.ci

MAX_LINES = 25
"""Printed for each metric."""

DATASETS = ("boston", "energy", "yacht")


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return fourteen reference methods on three data sets, runs of mine and of another method."""
    root = tmp_path_factory.mktemp("mine")
    for dataset in DATASETS:
        for number in range(14):
            reference_run(root / "theirs", dataset=dataset, method=f"method{number:02d}")
        reference_run(root / "runs/first", dataset=dataset, method="mine")
    reference_run(root / "runs/second", dataset="boston", method="other")
    add(root / "reference", root / "theirs")
    return root


@pytest.fixture(autouse=True)
def _narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(console, "stdout", lambda: Console(width=80, file=sys.stdout))


def options(root: Path) -> tuple[str, str]:
    return "--with", f"reference@{root / 'reference'}"


def test_a_screen_for_each_metric(command: Command, root: Path) -> None:
    code, out, _ = command("compare", str(root / "runs"), "--mine", "mine", *options(root))
    lines = out.rstrip().splitlines()
    assert code == 0 and len(lines) <= 2 * MAX_LINES and max(map(len, lines)) <= 80
    assert "Tested on boston, energy, yacht (20 splits, 14 methods each)" in " ".join(out.split())
    assert "other" not in " ".join(out.split()).split("Tested on")[0]
    code, everything, _ = command(
        "compare", str(root / "runs"), "--mine", "mine", "--all", *options(root)
    )
    assert code == 0 and len(everything) > 3 * len(out) and "Power, RMSE" in everything


@pytest.mark.parametrize(
    ("words", "names"),
    [
        (("runs", "--mine", "mine,other"), {"mine", "other"}),
        (("--mine", "runs/first"), {"mine"}),
        (("--mine", "runs/first,runs/second"), {"mine", "other"}),
        (("runs/second", "--mine", "other,runs/first"), {"mine", "other"}),
        (("runs/first", "runs/second", "--mine", "other"), {"other"}),
        (("runs/first", "runs/second"), {"mine", "other"}),
        (("runs", "--mine", "mine", "--methods", "mine,method03"), {"mine"}),
    ],
)
def test_mine_are_names_or_folders(
    command: Command,
    root: Path,
    monkeypatch: pytest.MonkeyPatch,
    words: tuple[str, ...],
    names: set[str],
) -> None:
    monkeypatch.chdir(root)
    code, out, _ = command("compare", *words, "--metric", "rmse", *options(root))
    heads = {line.split()[0] for line in out.splitlines() if "reference method" in line and
             "track" in line}  # fmt: skip
    assert code == 0 and heads == names


def test_without_reference_results_the_other_runs_are_rivals(
    command: Command, root: Path, tmp_path: Path
) -> None:
    for method in ("mine", "first", "second"):
        reference_run(tmp_path, dataset="concrete", method=method)
    code, out, _ = command("compare", str(tmp_path), "--mine", "mine", *options(root))
    assert code == 0 and "mine and 2 other methods" in out
    assert "Tested on concrete (20 splits, 2 methods)" in out


@pytest.mark.parametrize(
    ("words", "setting", "code"),
    [
        (("--mine", "mime"), "--mine", "unknown_name"),
        (("--mine", "nowhere/at/all"), "--mine", "unknown_name"),
        (("--mine", "mine", "--methods", "method99"), "--methods", "unknown_name"),
        (("--mine", "mine", "--methods", "mine"), "--with", "nothing_comparable"),
        (("--mine", "mine", "--published"), "--published", None),
        (("--all",), "--all", None),
    ],
)
def test_mistakes(
    command: Command, root: Path, words: tuple[str, ...], setting: str, code: str | None
) -> None:
    more = () if words == ("--all",) or "--published" in words else options(root)
    command.assert_refused("compare", str(root / "runs"), *words, *more, setting=setting, code=code)
