"""A project of one's own and packages that bring something: found, offered, run and reproduced.

The project is that of docs/your_own_method.md, file by file.
"""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support.command import folder_of, one_sentence
from support.config import TINY

from bnnbench import discovery
from bnnbench.cli.line import configs_of
from bnnbench.cli.listing import summaries
from bnnbench.report.pages import pages

Command = Callable[..., tuple[int, str, str]]

PAGE = Path(__file__).parents[2] / "docs" / "your_own_method.md"
FILE = re.compile(r"^`([\w./]+)`:\n\n```\w+\n(.*?)^```$", re.M | re.S)
COMMANDS = re.compile(r"^```bash\n(.*?)^```$", re.M | re.S)

MADE = """\
from dataclasses import dataclass
import numpy as np
from bnnbench.data.splits import seeded_splits
from bnnbench.divergences.kl import KL
from bnnbench.types import Table

@dataclass(frozen=True)
class Waves:
    name: str
    summary: str = ""

    def load(self):
        x = np.random.RandomState(0).normal(size=(60, 2))
        return Table(self.name, x, np.sin(x[:, 0]), seeded_splits(60, 3, 0.2, 0), ("a", "b"), "y")

class Hers(KL):
    pass
"""

DATA_SET = """\
# Waves without noise
defaults: [_base, _self_]
_target_: {}.Waves
name: waves
"""

DIVERGENCE = """\
# KL by another name
defaults: [_base, _self_]
_target_: {}.Hers
label: hers
"""

SUITE = """\
from bnnbench.discovery import Suite, Sweep

SUITE = Suite("paper", "of a project; seconds", (Sweep("waves", report=False),))
"""

EXPERIMENT = """\
# @package _global_
# The waves by the linear model
defaults:
  - uci@experiment
  - override /dataset: waves
  - override /method: linear
  - _self_
experiment:
  label: waves
"""


@pytest.fixture(autouse=True)
def _found_anew(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What is found is kept for a process; a test is one of its own."""
    kept = (discovery._packages, discovery._imported, discovery.brought_configs, pages)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    before = {*sys.modules}
    for one in kept:
        one.cache_clear()
    yield
    for one in kept:
        one.cache_clear()
    for name in {*sys.modules} - before:
        if name.partition(".")[0] in ("mine", "made", "paper", "clouds"):
            del sys.modules[name]


def write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


@pytest.fixture
def here(command: Command) -> Path:
    """The current folder, a project with the method of the page."""
    files = dict(FILE.findall(PAGE.read_text()))
    assert {*files} == {"bnnbench.toml", "mine.py", "configs/method/mine.yaml"}
    write(Path.cwd(), files)
    return Path.cwd()


def test_the_pages_method_is_listed_as_hers_and_kept_apart(here: Path, command: Command) -> None:
    _, out, _ = command("list", "method")
    (line,) = (line for line in out.splitlines() if line.split()[0] == "mine")
    assert line.endswith("Mine: one network in a cloud of one width [yours]")
    assert out.count("[yours]") == 1


def test_the_pages_commands_compose(here: Path) -> None:
    blocks = COMMANDS.findall(PAGE.read_text())
    lines = [shlex.split(line, comments=True) for block in blocks for line in block.splitlines()]
    words = [line[2:] for line in lines if line[1] in ("run", "check")]
    assert len(words) == 5 and all(line[0] == "bnnbench" for line in lines)
    for line in words:
        jobs = configs_of([word for word in line if "=" in word])
        assert jobs[0]["method"]["_target_"] == "mine.Cloud"


def test_the_pages_method_keeps_the_contract(here: Path, command: Command) -> None:
    code, out, errors = command("check", "method=mine")
    assert code == 0, out + errors
    assert out.splitlines()[0] == f"method=mine, Cloud of {here / 'mine.py'}"
    assert out.splitlines()[-1] == "all 16 hold"


def test_what_the_page_says_of_a_mistake_is_what_is_printed(here: Path, command: Command) -> None:
    text = (here / "mine.py").read_text()
    drawn = "(torch.randn(samples, 1, mlp.n_weights),)"
    wrong = text.replace("(streams.normal(samples, mlp.n_weights),)", drawn)
    assert wrong != text
    (here / "mine.py").write_text(wrong)
    code, out, _ = command("check", "method=mine")
    shown = re.search(r"^```text\n(.*?)^```$", PAGE.read_text(), re.M | re.S)
    assert code == 1 and shown is not None and shown[1] in out
    assert "untried  " in out and out.endswith("1 of 16 hold\n")


@pytest.mark.usefixtures("undrawn")
def test_the_pages_method_runs_and_says_when_its_code_has_changed(
    here: Path, command: Command, table_csv: Path
) -> None:
    table = ["dataset=csv", f"dataset.path={table_csv}", "dataset.target=y", "workers=2"]
    words = ["run", "method=mine", *table, *TINY]
    code, out, errors = command(*words)
    assert code == 0, errors
    assert "mine.py" not in errors and folder_of(out).root.parent.name == "mine"
    text = (here / "mine.py").read_text().replace("/ batch.counts", "/ (2 * batch.counts)")
    (here / "mine.py").write_text(text)
    from bnnbench.experiment import code as codes

    codes._digest.cache_clear()  # as in another process
    _, again, errors = command(*words)
    assert "mine.py changed since it was run" in errors
    assert folder_of(again).root == folder_of(out).root


def test_a_project_may_have_data_divergences_and_a_suite(here: Path, command: Command) -> None:
    files = {
        "bnnbench.toml": 'config_dirs = ["yamls"]\npath = ["code"]\nsuites = ["paper"]\n',
        "code/made.py": MADE,
        "code/paper.py": SUITE,
        "yamls/dataset/waves.yaml": DATA_SET.format("made"),
        "yamls/divergence/hers.yaml": DIVERGENCE.format("made"),
    }
    write(here, files)
    assert summaries("suite")["paper"] == "of a project; seconds"
    priors = ["prior=laplace", "divergence.estimator=monte_carlo"]
    assert command("check", "divergence=kl", *priors)[1].endswith("all 7 hold\n")
    code, out, errors = command("check", "dataset=waves", "divergence=hers")
    assert code == 0, out + errors
    assert [line for line in out.splitlines() if line.startswith("all")] == ["all 7 hold"] * 2
    assert "mine" not in summaries("method")


WRONG: dict[str, tuple[dict[str, str], list[str], list[str]]] = {
    "no TOML": ({"bnnbench.toml": "="}, ["list"], ["bnnbench.toml is no TOML"]),
    "no such folder": (
        {"bnnbench.toml": 'config_dirs = ["conf"]'}, ["run"], ["names conf", "is no folder"],
    ),
    "no such class": (
        {"configs/method/mine.yaml": "_target_: nowhere.Mine\nlabel: mine\n"},
        ["check", "method=mine"], ["method._target_", "'nowhere.Mine'", "bnnbench.toml"],
    ),
    "a class with holes": (
        {"mine.py": "from bnnbench.methods.shared.contract import Method\n"
                    "class Cloud(Method): pass\n"},
        ["check", "method=mine"], ["Cloud does not have fit, predict yet"],
    ),
    "a name of ours": (
        {"configs/method/vadam.yaml": "label: vadam\n"},
        ["run", "method=vadam"], ["has the name of", "give it another"],
    ),
    "a label of ours": (
        {"configs/method/mine.yaml": "_target_: mine.Cloud\nlabel: vadam\n"},
        ["run", "method=mine"], ["method.label=vadam is a name of bnnbench's own", "mine.Cloud"],
    ),
    "no text": ({"configs/method/mine.yaml": "# \udcff"}, ["list"], ["mine.yaml is not UTF-8"]),
    "no suite": ({"bnnbench.toml": 'suites = ["mine"]'}, ["list"], ["mine is no suite"]),
    "a suite that is not there": (
        {"bnnbench.toml": 'suites = ["paper"]'}, ["reproduce"], ["the suite paper cannot be"],
    ),
    "no bounds": (
        {"configs/method/mine.yaml": "_target_: mine.Cloud\nlabel: mine\n"},
        ["check", "method=mine"], ["searches spread", "protocol.bounds"],
    ),
    "a likelihood that is not handed on": (
        {"configs/method/mine.yaml": "_target_: mine.Cloud\nlabel: mine\n"
                                     "protocol: {bounds: {spread: [0.1, 1]}}\n"},
        ["check", "method=mine", "loss=gamma"], ["is not given the likelihood", "${likelihood}"],
    ),
    "nothing named": ({}, ["check", "loss=nll"], ["name what to check", "dataset=NAME"]),
    "no such option": ({}, ["check", "method=yours"], ["method=yours does not exist", "mine"]),
    "no folder given": (
        {}, ["check", "method=mine", "--config-dir", "nowhere"], ["--config-dir", "nowhere"],
    ),
    "no method": (
        {"configs/method/mine.yaml": "_target_: mine.dataclass\nlabel: mine\n"},
        ["check", "method=mine"], ["method._target_ names no class"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_one_sentence(here: Path, command: Command, name: str) -> None:
    files, words, said = WRONG[name]
    for file, text in files.items():
        (here / file).write_bytes(text.encode(errors="surrogateescape"))
    one_sentence(*command(*words), said)
    assert not (here / "outputs").exists()


def installed(tmp_path: Path, **files: str) -> Path:
    """A distribution as pip would leave it, in a folder that is on the path."""
    site = tmp_path / "site"
    points = (
        "[bnnbench.configs]\nclouds = clouds.configs\n[bnnbench.suites]\nclouds = clouds.paper\n"
    )
    write(
        site,
        {
            "clouds-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: clouds\nVersion: 1.0\n",
            "clouds-1.0.dist-info/entry_points.txt": points,
            "clouds/__init__.py": "",
            "clouds/paper.py": SUITE,
            "clouds/made.py": MADE,
            "clouds/configs/dataset/waves.yaml": DATA_SET.format("clouds.made"),
            "clouds/configs/experiment/waves.yaml": EXPERIMENT,
            **files,
        },
    )
    sys.path.append(str(site))
    return site


@pytest.mark.usefixtures("undrawn")
def test_an_installed_package_brings_data_an_experiment_and_a_suite(
    command: Command, tmp_path: Path
) -> None:
    installed(tmp_path)
    assert summaries("dataset")["waves"] == "Waves without noise [clouds.configs]"
    code, out, errors = command("reproduce", "paper", "splits=2", "workers=1")
    assert code == 0, errors
    assert (folder_of(out).root.parents[1] / "linear").is_dir()
    assert "waves" in folder_of(out).root.parts


def test_a_folder_that_a_package_does_not_have_is_said_once(
    command: Command, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    site = installed(tmp_path)
    points = site / "clouds-1.0.dist-info" / "entry_points.txt"
    points.write_text("[bnnbench.configs]\nclouds = clouds.yamls\n")
    code, out, errors = command("list", "method", "dataset")
    assert code == 0 and "vadam" in out
    assert errors.count("there is no folder of configurations clouds.yamls") == 1
