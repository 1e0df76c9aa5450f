"""Commands in the README and the documentation are valid, and the example experiment runs."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest
from support.command import Command, result_folder
from support.config import job_overrides

import bnnbench.suites
from bnnbench import discovery
from bnnbench.cli.commands.list import METRICS, SUITES, parse_words
from bnnbench.cli.commands.reproduce import find_sweeps
from bnnbench.cli.main import build_parser
from bnnbench.config.configs import GROUPS, options
from bnnbench.config.overrides import quote_overrides
from bnnbench.report.run_output import find_run_page

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
MAX_README_LINES = 150
MAX_README_COLUMNS = 88  # of code; GitHub and the site cut longer lines
SHELL = re.compile(r"^```sh\n(.*?)^```$", re.M | re.S)
INLINE = re.compile(r"`(bnnbench (?:run|reproduce|report|list) [^`…]+)`")
FILE = re.compile(r"`((?:bnnbench|configs)/[\w/.]+)`:\n\n```\w+\n(.*?)^```$", re.M | re.S)


def commands() -> Iterator[tuple[str, ...]]:
    """Yield the arguments of each distinct `bnnbench` command in shell blocks and result pages."""
    blocks = (block for page in PAGES for block in SHELL.findall(page.read_text()))
    shown = [line for block in blocks for line in block.replace("\\\n", " ").splitlines()]
    results = (page for page in PAGES if page.parent.name in ("results", "book"))
    shown += [text for page in results for text in INLINE.findall(page.read_text())]
    lines = (shlex.split(line, comments=True) for line in shown)
    yield from dict.fromkeys(tuple(line[1:]) for line in lines if line[:1] == ["bnnbench"])


RUNS = [words[1:] for words in commands() if words[0] == "run"]
OTHERS = [words for words in commands() if words[0] != "run"]


def settings_of(words: tuple[str, ...]) -> dict[str, str]:
    return dict(word.split("=", 1) for word in words if "=" in word)


def merged_runs() -> list[list[str]]:
    """Merge runs with the same components that have settings, since composing takes long."""
    merged: dict[tuple[str, ...], dict[str, str]] = {}
    for settings in map(settings_of, RUNS):
        for group in settings.keys() & {*GROUPS}:
            settings[group] = settings[group].rpartition(",")[2]
        own = {"experiment", *(key.partition(".")[0] for key in settings if "." in key)}
        chosen = sorted(f"{key}={settings.get(key, '')}" for key in own & {*GROUPS})
        merged.setdefault(tuple(chosen), {}).update(settings)
    return [[f"{key}={value}" for key, value in settings.items()] for settings in merged.values()]


@pytest.mark.ci
@pytest.mark.parametrize("words", merged_runs(), ids=" ".join)
def test_every_run_composes(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    # protocol=auto counts the rows of this file.
    rows = "\n".join(f"{area},{area * area}" for area in range(50))
    Path("houses.csv").write_text(f"area,price\n{rows}\n")
    assert job_overrides(*quote_overrides(words))


def test_every_chosen_option_exists() -> None:
    for words in RUNS:
        for group, value in settings_of(words).items():
            if group in GROUPS and not value.startswith("glob("):
                assert {*value.split(",")} <= options(group).keys(), words


@pytest.mark.parametrize("words", OTHERS, ids=" ".join)
def test_every_other_command_parses(words: tuple[str, ...]) -> None:
    given = build_parser().parse_args(words)
    assert callable(given.run)
    if words[0] == "reproduce":
        assert find_sweeps(given.name)
    if words[0] == "list":
        assert all(group in {*GROUPS, SUITES, METRICS} for group, _ in parse_words(given.words))


def test_there_are_commands_and_the_readme_is_short() -> None:
    assert len(RUNS) > 20 and {words[0] for words in OTHERS} >= {"list", "report", "reproduce"}
    assert len((ROOT / "README.md").read_text().splitlines()) <= MAX_README_LINES


def test_code_in_the_readme_is_not_cut_at_the_right() -> None:
    blocks = re.findall(r"^```.*?^```$", (ROOT / "README.md").read_text(), re.M | re.S)
    assert [x for block in blocks for x in block.splitlines() if len(x) > MAX_README_COLUMNS] == []


@pytest.fixture
def example_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Write the example's files where suites are discovered, and yield its config folder."""
    for name, text in FILE.findall((ROOT / "docs/how_to/extend.md").read_text()):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    here = list(bnnbench.suites.__path__)
    monkeypatch.setattr(bnnbench.suites, "__path__", [*here, str(tmp_path / "bnnbench/suites")])
    before = {*sys.modules}
    for cached in (discovery._packages, find_run_page):
        cached.cache_clear()
    yield tmp_path / "configs"
    for cached in (discovery._packages, find_run_page):
        cached.cache_clear()
    for name in {*sys.modules} - before:
        if name.startswith("bnnbench.suites.pi"):
            del sys.modules[name]


@pytest.mark.ci
@pytest.mark.usefixtures("without_figures")
def test_the_example_experiment_runs_resumes_and_sweeps(
    example_files: Path, command: Command
) -> None:
    assert "pi" in {suite.name for suite in discovery.suites()}
    words = ["run", "--config-dir", str(example_files), "experiment=pi", "workers=1"]
    code, out, errors = command(*words, "experiment.repetitions=3")
    assert code == 0, errors
    some = pd.read_csv(result_folder(out).table("estimates"))
    code, out, errors = command(*words)
    assert code == 0, errors
    assert "repetitions" in out and "3.1" in out and "20" in out
    every = pd.read_csv(result_folder(out).table("estimates"))
    assert len(every) == 20 and every.iloc[:3].equals(some)
    assert abs(every["pi"].mean() - 3.14159) < 0.05
    code, out, errors = command("run", "-m", *words[1:], "experiment.points=10,1000")
    assert code == 0, errors
    assert len({line for line in out.splitlines() if line.startswith("results: ")}) == 2
