"""`bnnbench compare --with reference` and `bnnbench report --with reference`."""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
from rich.console import Console
from support.command import Command
from support.reference import reference_run

from bnnbench.cli import console
from bnnbench.results.reference.write import add

METHODS = ("vadam", "pbp", "swag", "svgd")

MAX_CPU_SECONDS = 10
"""From the shell to the verdict."""


def make_reference(root: Path, methods: tuple[str, ...] = METHODS) -> str:
    """Add methods on two data sets, write runs of `mine`, and return the option `--with`."""
    for dataset in ("boston", "yacht"):
        for method in methods:
            reference_run(root / "theirs", dataset=dataset, method=method)
        reference_run(root / "mine", dataset=dataset, method="mine")
    assert len(add(root / "reference", root / "theirs").added) == 2 * len(methods)
    return f"reference@{root / 'reference'}"


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("reference")
    make_reference(path)
    return path


def test_verdicts_tables_and_power_at_80_columns(
    command: Command, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(console, "stdout", lambda: Console(width=80, file=sys.stdout))
    with_reference = ("--with", f"reference@{root / 'reference'}")
    code, out, _ = command("compare", str(root / "mine"), "--all", *with_reference)
    text = " ".join(out.split())
    assert code == 0 and "mine and 4 reference methods: track book" in text
    assert text.index("- boston, RMSE: ") < text.index("boston, RMSE [1000 USD]")
    assert text.index("boston, RMSE [1000 USD]") < text.index("Over data sets, RMSE")
    assert text.index("Over data sets, RMSE") < text.index("Power, RMSE")
    assert "Mean rank of mine among 5 methods on 2 data sets" in text
    assert "The signed-rank test over data sets needs 6" in text
    lines = [line.rstrip() for line in out.splitlines()]
    headings = [line for line in lines if line.startswith("  Method")]
    ends = [heading.split()[-1] for heading in headings]
    assert ends == 4 * ["Needs"] + 2 * ["Worse"], "no column is cut off"
    assert sum(line.startswith("  vadam  ") for line in lines) == 2 * 2 + 2
    assert "nan" not in out and max(map(len, lines)) <= 80


def test_methods_and_metric_are_selected(command: Command, root: Path) -> None:
    with_reference = ("--with", f"reference:book@{root / 'reference'}")
    options = ("--methods", "pbp", "--metric", "log_likelihood")
    code, out, _ = command("compare", str(root / "mine"), *with_reference, *options, "--all")
    assert code == 0 and "pbp" in out and "vadam" not in out
    assert "boston, log-likelihood" in out and "boston, RMSE" not in out
    assert "mine is not ranked: too few data sets or methods." in out


def test_runs_that_cannot_be_compared_are_named(command: Command, root: Path) -> None:
    reference_run(root / "free", method="free", settings={"search__iterations": 5})
    reference_run(root / "free", method="mine")
    with_reference = ("--with", f"reference@{root / 'reference'}")
    code, out, err = command("compare", str(root / "free"), *with_reference)
    assert code == 0 and "mine and 4 reference methods" in out and "free on boston" in err


@pytest.mark.ci
@pytest.mark.parametrize(
    ("option", "setting", "code"),
    [
        ("other", "--with", "syntax"),
        ("reference:none@{}", "track", "unknown_track"),
        ("reference@nowhere", "folder", "no_reference"),
    ],
)
def test_mistakes(command: Command, root: Path, option: str, setting: str, code: str) -> None:
    words = (str(root / "mine"), "--with", option.format(root / "reference"))
    command.assert_refused("compare", *words, setting=setting, code=code)
    command.assert_refused("report", *words, setting=setting, code=code)


@pytest.mark.slow
@pytest.mark.usefixtures("without_figures")
def test_the_report_adds_ranks_and_a_pareto_plot(
    command: Command, root: Path, tmp_path: Path
) -> None:
    with_reference = ("--with", f"reference@{root / 'reference'}", "--output-dir", str(tmp_path))
    code, _, _ = command("report", str(root / "mine"), *with_reference, "--metric", "rmse")
    page = (tmp_path / "results.md").read_text()
    assert code == 0 and "Ranks among reference methods, track book" in page
    assert "mine (mine)" in page
    assert "](reference_ranks.png)" in page and "](reference_time_rmse.png)" in page
    pairs = pd.read_csv(tmp_path / "reference_comparison.csv")
    assert len(pairs) == 2 * len(METHODS) and set(pairs["track"]) == {"book"}


@pytest.mark.ci
def test_thirty_methods_are_compared_in_seconds(tmp_path: Path) -> None:
    methods = tuple(f"method{number:02d}" for number in range(30))
    option = make_reference(tmp_path, methods)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    words = ("compare", str(tmp_path / "mine"), "--with", option)
    done = subprocess.run(
        [sys.executable, "-m", "bnnbench", *words], capture_output=True, text=True
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert done.returncode == 0 and "mine and 30 reference methods" in done.stdout, done.stderr
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    assert spent < MAX_CPU_SECONDS
