"""Projects of the user and plug-in packages: found, listed, run and reproduced.

The project is that of docs/tutorials/your_own_method.md, file by file.
"""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.command import Command, result_folder
from support.config import TINY, compose_configs

from bnnbench import discovery
from bnnbench.checking.subjects import make_subject
from bnnbench.cli.commands.list import summaries
from bnnbench.cpp.library import library
from bnnbench.report.run_output import find_run_page

PAGE = Path(__file__).parents[2] / "docs" / "tutorials" / "your_own_method.md"
FILE = re.compile(r"^`([\w./]+)`:\n\n```\w+\n(.*?)^```$", re.M | re.S)
NEW, WRITTEN = "averaged", ("mine", "anchored", "logcosh")
METHODS = (NEW, *WRITTEN)
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
    """Clear what discovery caches for a process."""
    kept = (discovery._packages, discovery._imported, discovery.plugin_configs, find_run_page)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    before = {*sys.modules}
    for one in kept:
        one.cache_clear()
    yield
    for one in kept:
        one.cache_clear()
    for name in {*sys.modules} - before:
        if name.partition(".")[0] in (*METHODS, "made", "paper", "clouds"):
            del sys.modules[name]


def write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


@pytest.fixture
def here(command: Command) -> Path:
    """The current folder, a project with the methods of that page."""
    assert command("new", "method", NEW)[0] == 0
    files = dict(FILE.findall(PAGE.read_text()))
    paths = {name: (f"{name}.py", f"configs/method/{name}.yaml") for name in METHODS}
    assert {*files} == {path for both in paths.values() for path in both}
    assert [Path(path).read_text() for path in paths[NEW]] == [files[path] for path in paths[NEW]]
    write(Path.cwd(), files)
    return Path.cwd()


def test_the_method_is_listed_with_its_owner(here: Path, command: Command) -> None:
    _, out, _ = command("list", "method")
    lines = [line for line in out.splitlines() if line.endswith(" [yours]")]
    assert {line.split()[0] for line in lines} == {*METHODS}


def page_commands() -> list[list[str]]:
    """Return the words of each command of the page."""
    blocks = COMMANDS.findall(PAGE.read_text())
    lines = (line for block in blocks for line in block.splitlines())
    return [shlex.split(line.partition("#")[0]) for line in lines if line.startswith("bnnbench ")]


@pytest.mark.slow
@pytest.mark.usefixtures("without_figures")
def test_the_commands_of_the_page_run_in_an_empty_folder(
    command: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("BNNBENCH_TRUST")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    done = []
    for _, name, *words in page_commands():
        if "experiment=toy_1d" in words:
            words.append("--dry-run")
        elif name == "run" and "protocol=trial" not in words:
            words = [word.partition(",")[0] for word in words]  # one data set
        code, _, errors = command(name, *words)
        assert code == 0, errors
        done.append(name)
    assert done[:2] == ["new", "trust"] and {"check", "run", "compare", "report"} <= {*done}


@pytest.mark.slow
def test_the_methods_pass_their_checks(here: Path, command: Command) -> None:
    code, out, errors = command("check", f"method={','.join(METHODS)}")
    assert code == 0, out + errors
    assert f"method=mine, Cloud of {here / 'mine.py'}" in out.splitlines()
    assert out.splitlines().count("all 17 hold") == len(METHODS)


@pytest.mark.skipif(library().code is None, reason=library().reason)
def test_check_and_dry_run_say_which_class_ends_native_code(
    here: Path, command: Command, table_csv: Path
) -> None:
    (config,) = compose_configs(["method=anchored"])
    assert any("Anchored.update replaces MAP" in n for n in make_subject("method", config).notes)
    words = ["-m", "method=mine,anchored", "seed=0,1", "dataset=csv", f"dataset.path={table_csv}"]
    _, _, errors = command("run", *words, "dataset.target=y", *TINY, "--dry-run")
    assert errors.count("Anchored.update replaces MAP") == errors.count(" replaces ") == 1


def test_the_page_shows_the_output_for_a_mistake(here: Path, command: Command) -> None:
    text = (here / "mine.py").read_text()
    drawn = "(torch.randn(samples, 1, mlp.n_weights),)"
    wrong = text.replace("(streams.normal(samples, mlp.n_weights),)", drawn)
    assert wrong != text
    (here / "mine.py").write_text(wrong)
    code, out, _ = command("check", "method=mine")
    shown = re.search(r"^```text\n(  FAILS .*?)^```$", PAGE.read_text(), re.M | re.S)
    assert code == 1 and shown is not None
    assert " ".join(shown[1].split()) in " ".join(out.split())
    assert "skipped  " in out and out.endswith("2 of 17 hold\n")


@pytest.mark.ci
@pytest.mark.usefixtures("without_figures")
def test_the_method_runs_and_changed_code_is_noticed(
    here: Path, command: Command, table_csv: Path
) -> None:
    table = ["dataset=csv", f"dataset.path={table_csv}", "dataset.target=y", "workers=2"]
    words = ["run", "method=mine", *table, *TINY]
    code, out, errors = command(*words)
    assert code == 0, errors
    assert "your own code" not in errors and result_folder(out).root.parent.name == "mine"
    text = (here / "mine.py").read_text().replace("/ batch.counts", "/ (2 * batch.counts)")
    (here / "mine.py").write_text(text)
    from bnnbench.experiment.store.own_modules import _modules

    _modules.clear()  # as in another process
    _, again, errors = command(*words)
    assert "this run was computed with another version of your own code" in errors
    assert result_folder(again).root == result_folder(out).root


@pytest.mark.slow
def test_a_project_may_add_data_divergences_and_a_suite(here: Path, command: Command) -> None:
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


MISTAKES: dict[str, tuple[dict[str, str], list[str], str | None, str | None]] = {
    "invalid TOML": ({"bnnbench.toml": "="}, ["list"], None, "not_toml"),
    "an abstract class": (
        {"mine.py": "from bnnbench.methods.shared.contract import Method\n"
                    "class Cloud(Method): pass\n"},
        ["check", "method=mine"], "method._target_", "abstract",
    ),
    "a file name of ours": (
        {"configs/method/vadam.yaml": "label: vadam\n"},
        ["run", "method=vadam"], "method", "name_taken",
    ),
    "a label of ours": (
        {"configs/method/mine.yaml": "_target_: mine.Cloud\nlabel: vadam\n"},
        ["run", "method=mine"], "method.label", "name_taken",
    ),
    **{
        f"our name of a {group}: {own.split()[-1]}": (
            {"mine.py": f"from bnnbench.{module} import {cls}\nclass Cloud({cls}): pass\n",
             f"configs/{group}/mine.yaml": f"_target_: mine.Cloud\n{own}"},
            ["run", "method=map", f"{group}=mine", "--dry-run"], f"{group}.label", "name_taken",
        )
        for group, module, cls, own in (
            ("likelihood", "likelihoods", "Gaussian", "label: heteroscedastic\n"),
            ("likelihood", "likelihoods", "Gaussian", "loss: ${loss}\n"),
            ("loss", "losses", "NLL", "label: nll\n"),
            ("search", "search.base", "NoSearch", "label: bayesian_optimisation\n"),
            ("prior", "divergences.priors", "GaussianPrior", "label: gaussian\n"),
            ("divergence", "divergences.kl", "KL", "label: kl\n"),
            ("experiment", "experiment.splits.split_experiment", "SplitExperiment", "label: uci\n"),
        )
    },
    "a missing suite":
        ({"bnnbench.toml": 'suites = ["paper"]'}, ["reproduce"], "suites", "import_failed"),
    "missing bounds": (
        {"configs/method/mine.yaml": "_target_: mine.Cloud\nlabel: mine\n"},
        ["check", "method=mine"], "method.protocol.bounds.spread", "missing",
    ),
    "a file that sets nothing of the method": (
        {"configs/method/mine.yaml": "# @package _global_\nseed: 1\n"},
        ["check", "method=mine"], "method._target_", "missing",
    ),
    "a likelihood that is not passed on": (
        {"configs/method/mine.yaml": "_target_: mine.Cloud\nlabel: mine\n"
                                     "protocol: {bounds: {spread: [0.1, 1]}}\n"},
        ["check", "method=mine", "loss=gamma"], "likelihood", "not_passed_on",
    ),
    "nothing to check": ({}, ["check", "loss=nll"], "KEY=VALUE", None),
    "a hyper-parameter that is not a field": (
        {"mine.py": "from bnnbench.methods.map import MAP\n"
                    "class Cloud(MAP): own_hyper_names = ('width',)\n",
         "configs/method/mine.yaml": "_target_: mine.Cloud\nlabel: mine\n"},
        ["check", "method=mine"], "method.width", "no_field",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes(here: Path, command: Command, name: str) -> None:
    files, words, setting, code = MISTAKES[name]
    for file, text in files.items():
        (here / file).parent.mkdir(parents=True, exist_ok=True)
        (here / file).write_bytes(text.encode(errors="surrogateescape"))
    command.assert_refused(*words, setting=setting, code=code)
    assert not (here / "outputs").exists()


def installed(tmp_path: Path, **files: str) -> Path:
    """Write an installed distribution to a folder on the path."""
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


@pytest.mark.slow
@pytest.mark.usefixtures("without_figures")
def test_an_installed_package_may_add_data_an_experiment_and_a_suite(
    command: Command, tmp_path: Path
) -> None:
    installed(tmp_path)
    assert summaries("dataset")["waves"] == "Waves without noise [clouds.configs]"
    code, out, errors = command("reproduce", "paper", "splits=2", "workers=1")
    assert code == 0, errors
    assert (result_folder(out).root.parents[1] / "linear").is_dir()
    assert "waves" in result_folder(out).root.parts


def test_a_missing_folder_of_a_package_is_named_once(command: Command, tmp_path: Path) -> None:
    site = installed(tmp_path)
    points = site / "clouds-1.0.dist-info" / "entry_points.txt"
    points.write_text("[bnnbench.configs]\nclouds = clouds.yamls\n")
    code, out, errors = command("list", "method", "dataset")
    assert code == 0 and "vadam" in out
    assert errors.count("clouds.yamls") == 1
