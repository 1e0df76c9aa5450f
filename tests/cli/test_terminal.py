"""What commands print on terminals of several widths: no line is too long, and no word is broken.

A word of the narrow output that the wide output lacks was broken, or shortened.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml
from support.command import Command
from support.quick import slow_except
from support.reference import reference_run
from support.terminal import assert_readable, use_terminal

from bnnbench.cli.commands.list import fold_yaml
from bnnbench.cli.main import build_parser
from bnnbench.config.configs import config_folder

NARROW = 60

Printed = Callable[..., str]
"""Runs a command on a terminal of a width, or in a pipe if it is None; returns its output."""


@pytest.fixture
def printed(command: Command, monkeypatch: pytest.MonkeyPatch) -> Printed:
    def printed(columns: int | None, *words: str) -> str:
        with monkeypatch.context() as patch:
            if columns:
                use_terminal(patch, columns)
            _, out, errors = command(*words)
        return out + errors

    return printed


def parsers(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    """Yield a parser and those of its commands."""
    yield parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for command in action.choices.values():
                yield from parsers(command)


def test_the_help_of_every_command(monkeypatch: pytest.MonkeyPatch) -> None:
    found = list(parsers(build_parser()))
    assert len(found) > 12
    texts = {}
    for columns in (80, 300):
        monkeypatch.setenv("COLUMNS", str(columns))
        texts[columns] = [parser.format_help() for parser in found]
    for shown, whole in zip(texts[80], texts[300], strict=True):
        assert_readable(shown, 80, whole)


def test_the_help_of_run(printed: Printed) -> None:
    assert_readable(printed(NARROW, "run", "--help"), NARROW, printed(100, "run", "--help"))


@pytest.mark.parametrize(
    "words",
    slow_except(
        ["", "method", "metric", "suite", "suite li_renyi", "vadam", "csv", "hmc", "trial"],
        "", "method", "suite li_renyi", "vadam",
    ),
)  # fmt: skip
def test_lists(printed: Printed, words: str) -> None:
    whole = printed(None, "list", *words.split())
    shown = printed(NARROW, "list", *words.split())
    assert_readable(shown, NARROW, whole)
    assert shown.replace("#", "").split() == whole.replace("#", "").split()


def test_folded_settings_are_the_same_settings() -> None:
    n_folded = 0
    for file in config_folder().glob("*/*.yaml"):
        text = file.read_text("utf-8")
        folded = fold_yaml(text, NARROW)
        if folded != text:
            n_folded += 1
            assert_readable(folded, NARROW, text)
            assert yaml.load(folded, yaml.CSafeLoader) == yaml.load(text, yaml.CSafeLoader)
        assert fold_yaml(text, 20)
    assert n_folded > 20


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """Two methods with long names and one of ours, on a data set."""
    for method in ("deep_ensemble_2017", "deep_ensemble_2017_softplus", "vadam"):
        run = reference_run(Path("outputs"), method=method)
    return run.root


COMMANDS = (
    "compare", "compare --all --mine vadam", "compare --with reference --metric rmse",
    "show RUN", "reference", "trust nowhere", "compare nowhere", "run method=vadamm",
    "run dataset=diabetes method=linear --dry-run", "reference add outputs",
    "check dataset=diabetes",
)  # fmt: skip


@pytest.mark.parametrize(
    "line",
    slow_except(
        COMMANDS, "compare", "reference", "compare nowhere", "run method=vadamm",
        "run dataset=diabetes method=linear --dry-run",
    ),
)  # fmt: skip
def test_outputs_and_errors(printed: Printed, runs: Path, line: str, tmp_path: Path) -> None:
    words = line.replace("RUN", str(runs)).split()
    whole = printed(None, *words)
    assert whole
    assert_readable(printed(NARROW, *words), NARROW, whole)


@pytest.mark.parametrize("columns", [60, None])
def test_reference_results_name_every_method(printed: Printed, columns: int | None) -> None:
    out = printed(columns, "reference")
    for name in ("mc_dropout", "mc_dropout_x10", "tagi_v_2024", "tagi_v_gains_2024", "tagi_2024"):
        rows = [line for line in out.splitlines() if line.split()[:1] == [name]]
        cells = [cell for row in rows for cell in row.split()[1:]]
        assert len(cells) == 9, "a cell for each data set"
    assert "…" not in out
