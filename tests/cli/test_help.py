"""Lists, help and completion, and that they need no slow imports."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from support.command import Command

from bnnbench import __version__
from bnnbench.cli.completion import complete
from bnnbench.cli.help import SHOWN, default_comments
from bnnbench.cli.main import build_parser
from bnnbench.config.configs import GROUPS, options
from bnnbench.cpp.library import library
from bnnbench.discovery import suites


def test_list_names_all_options_on_one_screen(command: Command) -> None:
    code, out, _ = command("list")
    assert code == 0
    assert len(out.splitlines()) <= 45 and all(len(line) <= 100 for line in out.splitlines())
    listed = dict(re.findall(r"^(\w+): ((?:.|\n  )*)$", out, re.M))
    of_suites = {sweep.experiment for suite in suites() for sweep in suite.sweeps}
    expected = {group: {*options(group)} for group in GROUPS}
    expected["experiment"] -= of_suites
    expected["suite"] = {suite.name for suite in suites()}
    for group, names in expected.items():
        assert names <= set(re.split(r"[\s,()]+", listed[group]))
    assert not of_suites & set(re.split(r"[\s,()]+", listed["experiment"]))


def test_a_suite_is_listed_with_its_experiments_and_their_settings(command: Command) -> None:
    for suite in suites():
        code, out, _ = command("list", "suite", suite.name)
        assert code == 0
        for sweep in suite.sweeps:
            assert f"\nexperiment={sweep.experiment}: " in out
            assert f"label: {sweep.experiment}\n" in out or "defaults:" in out


def test_run_help(command: Command) -> None:
    code, out, _ = command("run", "--help")
    assert code == 0
    assert out.startswith("usage: bnnbench run ")
    parts = ("examples:", "\n  method ", "\n  seed=0 ", "bnnbench run --cfg job")
    assert [*parts] == sorted(parts, key=out.index)
    assert "${" not in out and len(out.splitlines()) < 130
    for word in (
        "search.iterations=10",
        "engine=slurm engine.partition=cpu",
        "engine=dask engine.address=tcp://HOST:8786",
    ):
        assert word in out


def test_run_help_explains_settings_with_their_current_values(command: Command) -> None:
    comments = default_comments()
    assert all(comments[key] for key in SHOWN)
    _, out, _ = command("run", "--help", "training.epochs=7")
    settings = dict(re.findall(r"^  ([\w.]+)=(\S+)  ", out, re.M))
    assert {*SHOWN} <= settings.keys()
    assert settings["training.epochs"] == "7" and settings["resume"] == "true"


@pytest.mark.slow
def test_run_help_lists_options_without_base_files(command: Command, tmp_path: Path) -> None:
    (tmp_path / "method").mkdir()
    for name in ("mine", "_part"):
        (tmp_path / "method" / f"{name}.yaml").write_text(f"label: {name}\n")
    _, out, _ = command("run", "--help", "--config-dir", str(tmp_path))
    listed = dict(re.findall(r"^  (\w+) +((?:.|\n   )*)$", out.partition("GROUP=OPTION:")[2], re.M))
    for group in GROUPS:
        own = {"mine"} if group == "method" else set()
        assert {*re.split(r",\s+", listed[group])} == {*options(group)} | own


def test_the_version_and_whether_native_code_is_in_use(command: Command) -> None:
    said = f"bnnbench {__version__}\nnative code: {library().status}\n"
    assert command("--version") == command("run", "--version") == (0, said, "")


@pytest.mark.parametrize(
    "name", ["reproduce", "report", "compare", "list", "check", "new", "trust"]
)
def test_every_command_explains_itself(command: Command, name: str) -> None:
    code, out, _ = command(name, "--help")
    assert code == 0 and f"bnnbench {name}" in out and len(out.splitlines()) > 7
    assert name != "report" or all(suite.name in out for suite in suites())


@pytest.mark.ci
def test_help_and_reports_import_nothing_heavy() -> None:
    code = (
        "import sys; from bnnbench.cli.main import build_parser; build_parser().format_help();"
        "found = {'torch', 'hydra', 'pandas', 'matplotlib', 'skopt'} & set(sys.modules);"
        "import bnnbench.api; import bnnbench.report.report_writer;"
        "found |= {'torch', 'hydra', 'skopt', 'scipy.stats'} & set(sys.modules); print([*found])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"


@pytest.mark.ci
@pytest.mark.parametrize(
    ("line", "expected"),
    [("bnnbench re", {"report", "reproduce"}),
     ("bnnbench report --", {"--error-bars", "--refresh"}),
     ("bnnbench report --error-bars ", {"std", "stderr"}), ("bnnbench report out", {"outputs/"}),
     ("bnnbench report outputs/", {"outputs/uci/"}), ("bnnbench compare --pub", {"--published "}),
     ("bnnbench report --metric rmse,cr", {"rmse,crps "}),
     ("bnnbench list da", {"dataset", "dask"}), ("bnnbench list vad", {"vadam "}),
     ("bnnbench reproduce cin", {"cinelli_book "}), ("bnnbench run --config-d", {"--config-dir "}),
     ("bnnbench run method=va", {"vadam "}),
     ("bnnbench run training.e", {"training.epochs="}),
     ("bnnbench run -m method=bbb depth=", {"1", "2"}),
     ("bnnbench run engine=slurm engine.", {"engine.partition=", "engine.minutes="}),
     ("bnnbench run dataset.path=", {"t.csv"}),
     ("bnnbench run -m method=bbb,va", {"bbb,vadam "}),
     ("bnnbench report --sections ranks,sp", {"ranks,spread "})],
)  # fmt: skip
def test_completion_of_every_command(line: str, expected: set[str], tmp_path: Path) -> None:
    (tmp_path / "outputs" / "uci").mkdir(parents=True)
    (tmp_path / "t.csv").touch()
    offered = {*answers(line, tmp_path)}
    assert expected <= offered and not any("_target_" in word for word in offered)


def answers(line: str, folder: Path) -> list[str]:
    """Return the completions at the end of a line, from a fork, which argcomplete ends."""
    answer = folder / "answer"
    child = os.fork()
    if not child:
        try:
            os.chdir(folder)
            os.environ.update(completion_environment(line, answer))
            complete(build_parser())
        finally:
            os._exit(1)
    assert os.waitpid(child, 0)[1] == 0
    return answer.read_text().split("\v")


def completion_environment(line: str, answer: Path) -> dict[str, str]:
    """Return what the shell sets when it asks for completions."""
    return {
        "_ARGCOMPLETE": "1", "_ARGCOMPLETE_SHELL": "bash", "_ARGCOMPLETE_IFS": "\v",
        "COMP_LINE": line, "COMP_POINT": str(len(line)), "COMP_TYPE": "9",
        "_ARGCOMPLETE_COMP_WORDBREAKS": " \t\n\"'><=;|&(:",
        "_ARGCOMPLETE_STDOUT_FILENAME": str(answer),
    }  # fmt: skip


@pytest.mark.slow
@pytest.mark.integration
def test_completion_as_the_shell_calls_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a project with files of one's own."""
    (tmp_path / "own" / "method").mkdir(parents=True)
    (tmp_path / "own" / "method" / "mine.yaml").write_text("label: mine\n")
    (tmp_path / "bnnbench.toml").write_text('config_dirs = ["own"]')
    monkeypatch.setenv("BNNBENCH_TRUST", str(tmp_path))
    line, answer = "bnnbench check method=min", tmp_path / "answer"
    for name, value in completion_environment(line, answer).items():
        monkeypatch.setenv(name, value)
    subprocess.run([sys.executable, "-m", "bnnbench"], cwd=tmp_path, check=True)
    assert answer.read_text().split("\v") == ["mine "]


def test_files_of_ones_own_are_completed(tmp_path: Path) -> None:
    (tmp_path / "own" / "method").mkdir(parents=True)
    (tmp_path / "own" / "method" / "mine.yaml").write_text("label: mine\nmomentum: 0.5\n")
    for option in ("--config-dir own", "--config-dir=own", "-cd own"):
        assert answers(f"bnnbench run {option} method=min", tmp_path) == ["mine "]
    line = "bnnbench run --config-dir own method=mine method.mo"
    assert answers(line, tmp_path) == ["method.momentum="]
    assert "mine " not in answers("bnnbench run --config-dir nowhere method=m", tmp_path)
    assert "_base" not in answers("bnnbench run dataset=", tmp_path)
