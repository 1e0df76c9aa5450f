"""What the README and the pages of `docs` tell readers to type works, its experiment included."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pandas as pd
import pytest
from hydra import compose, initialize_config_dir
from support.command import folder_of

import bnnbench.suites
from bnnbench import discovery
from bnnbench.cli.compose import CONFIG_NAME, plain
from bnnbench.cli.configs import GROUPS, config_folder
from bnnbench.cli.line import jobs_of
from bnnbench.cli.listing import METRICS, SUITES, asked
from bnnbench.cli.main import build_parser
from bnnbench.cli.reproduce import sweeps_of
from bnnbench.cli.words import quote_words
from bnnbench.report.pages import pages

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "docs" / "results" / "README.md"
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted((ROOT / "docs").glob("*.md")),
    RESULTS,
]
SHELL = re.compile(r"^```sh\n(.*?)^```$", re.M | re.S)
INLINE = re.compile(r"`(bnnbench (?:run|reproduce|report) [^`]+)`")
FILE = re.compile(r"`((?:bnnbench|configs)/[\w/.]+)`:\n\n```\w+\n(.*?)^```$", re.M | re.S)


def commands() -> Iterator[tuple[str, ...]]:
    """The words that follow `bnnbench` on each line of the pages' shell blocks, each once."""
    blocks = (block for page in PAGES for block in SHELL.findall(page.read_text()))
    shown = [line for block in blocks for line in block.replace("\\\n", " ").splitlines()]
    shown += INLINE.findall(RESULTS.read_text().replace("\n", " "))
    lines = (shlex.split(line, comments=True) for line in shown)
    yield from dict.fromkeys(tuple(line[1:]) for line in lines if line[:1] == ["bnnbench"])


RUNS = [words[1:] for words in commands() if words[0] == "run"]
OTHERS = [words for words in commands() if words[0] != "run"]


@pytest.mark.parametrize("words", RUNS, ids=" ".join)
def test_every_run_composes(words: tuple[str, ...]) -> None:
    with initialize_config_dir(str(config_folder()), version_base="1.3"):
        jobs = jobs_of(quote_words([word for word in words if "=" in word]))
        for job in {tuple(jobs[0]), tuple(jobs[-1])}:  # of a sweep the ends: some have hundreds
            assert plain(compose(CONFIG_NAME, list(job)))["experiment"]


@pytest.mark.parametrize("words", OTHERS, ids=" ".join)
def test_every_other_command_is_understood(words: tuple[str, ...]) -> None:
    given = build_parser().parse_args(words)
    assert callable(given.run)
    if words[0] == "reproduce":
        assert sweeps_of(given.name)
    if words[0] == "list":
        assert all(group in {*GROUPS, SUITES, METRICS} for group, _ in asked(given.words))


def test_the_pages_have_commands_and_the_readme_is_short() -> None:
    assert len(RUNS) > 20 and {words[0] for words in OTHERS} >= {"list", "report", "reproduce"}
    assert len((ROOT / "README.md").read_text().splitlines()) <= 200


@pytest.fixture
def with_readmes_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The files of the pages' experiment where the package finds suites; their configurations."""
    shown = "".join((ROOT / page).read_text() for page in ("README.md", "docs/experiments.md"))
    for name, text in FILE.findall(shown):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    here = list(bnnbench.suites.__path__)
    monkeypatch.setattr(bnnbench.suites, "__path__", [*here, str(tmp_path / "bnnbench/suites")])
    before = {*sys.modules}
    for cached in (discovery._packages, pages):
        cached.cache_clear()
    yield tmp_path / "configs"
    for cached in (discovery._packages, pages):
        cached.cache_clear()
    for name in {*sys.modules} - before:
        if name.startswith("bnnbench.suites.pi"):
            del sys.modules[name]


def test_the_readmes_experiment_runs_resumes_and_sweeps(
    with_readmes_files: Path, command: Callable[..., tuple[int, str, str]]
) -> None:
    assert "pi" in {suite.name for suite in discovery.suites()}
    words = ["run", "--config-dir", str(with_readmes_files), "experiment=pi", "workers=1"]
    code, out, errors = command(*words, "experiment.repetitions=3")
    assert code == 0, errors
    some = pd.read_csv(folder_of(out).table("estimates"))
    code, out, errors = command(*words)
    assert code == 0, errors
    assert "repetitions" in out and "3.1" in out and "20" in out
    every = pd.read_csv(folder_of(out).table("estimates"))
    assert len(every) == 20 and every.iloc[:3].equals(some)
    assert abs(every["pi"].mean() - 3.14159) < 0.05
    code, out, errors = command("run", "-m", *words[1:], "experiment.points=10,1000")
    assert code == 0, errors
    assert len({line for line in out.splitlines() if line.startswith("results: ")}) == 2
