"""`bnnbench reproduce`: running, reporting and resuming suites."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.command import Command

from bnnbench.cli.commands import reproduce
from bnnbench.config.assemble import build_runs
from bnnbench.config.compose import sweep_jobs
from bnnbench.config.configs import options
from bnnbench.discovery import SIZES, Suite, Sweep, built_in_suites, suites
from bnnbench.experiment.run.progress import seconds_left

SHORT = ("training.epochs=2", "training.final_epochs=2", "outputs_dir=o")


def one_suite(monkeypatch: pytest.MonkeyPatch, *sweeps: Sweep, single_report: bool = False) -> None:
    suite = Suite("mine", "one line", sweeps, single_report)
    monkeypatch.setattr(reproduce, "suites", lambda: (suite,))


def test_the_sweeps_of_all_and_of_small() -> None:
    every = [sweep for suite in suites() for sweep in suite.sweeps]
    assert reproduce.find_sweeps("all") == [sweep for sweep in every if "full" in sweep.sizes]
    assert reproduce.find_sweeps("small") == [sweep for sweep in every if "small" in sweep.sizes]
    for suite in suites():
        assert reproduce.find_sweeps(suite.name) == [s for s in suite.sweeps if "full" in s.sizes]
        assert {sweep.experiment for sweep in suite.sweeps} <= options("experiment").keys()
    names = {sweep.experiment for sweep in reproduce.find_sweeps("all")}
    assert "gvi_uci" in names and "gvi_uci" not in {
        sweep.experiment for sweep in reproduce.find_sweeps("small")
    }


def test_mistakes(command: Command) -> None:
    command.assert_refused("reproduce", "large", setting="NAME", code="unknown_suite")
    assert sum(suite.name in str(command.error) for suite in suites()) > 5
    command.assert_refused("reproduce", "seed=1", setting="NAME", code="setting")
    words = ("reproduce", "small", "sed=1")
    command.assert_refused(*words, setting="sed", code="unknown_setting")


def test_an_error_names_its_experiment(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    one_suite(monkeypatch, Sweep("toy_1d", "method=bbb"))
    command.assert_refused(
        "reproduce", "mine", "splits=2", setting="splits", code="count_out_of_range"
    )
    assert str(command.error).startswith("experiment=toy_1d: ")
    one_suite(monkeypatch, Sweep("gvi_alpha", "method=bbb"))
    command("reproduce", "mine", "divergence=kl")
    assert str(command.error).startswith("experiment=gvi_alpha: ")


@pytest.mark.slow
def test_a_dry_run_prints_counts_and_times_and_writes_nothing(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    toy = Sweep("toy_1d", "dataset=sine_20 method=map,vadam")
    one_suite(monkeypatch, Sweep("linear_regression"), toy)
    for words in (("--dry-run", "mine", *SHORT), ("mine", *SHORT, "--dry-run")):
        code, out, _ = command("reproduce", *words)
        line, sweep, total = out.splitlines()
        assert code == 0 and line.split()[:3] == ["linear_regression", "1", "runs,"]
        assert "2 runs, 0 finished, about " in sweep and "3 runs" in total
    assert not Path("o").exists()


@pytest.mark.slow
@pytest.mark.parametrize("suite", built_in_suites(), ids=lambda suite: suite.name)
def test_listed_times_are_those_of_a_dry_run(suite: Suite, tmp_path: Path) -> None:
    for size, minutes in zip(SIZES, suite.minutes, strict=True):
        words = [
            [f"experiment={sweep.experiment}", *sweep.overrides.split(), "workers=2"]
            for sweep in suite.sweeps
            if size in sweep.sizes
        ]
        jobs = [sweep_jobs([*own, f"outputs_dir={tmp_path}"]) for own in words]
        runs = {r.folder.root: r for j in jobs for r in build_runs(j, unused_allowed=True)}
        estimate = sum(map(seconds_left, runs.values())) / 60
        assert minutes == pytest.approx(estimate, rel=0.25, abs=0.5), size


@pytest.mark.ci
@pytest.mark.usefixtures("without_figures")
def test_reproduce_runs_reports_and_resumes(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    line = Sweep("linear_regression", report=False)
    one_suite(monkeypatch, line, Sweep("toy_1d", "dataset=sine_20 method=map,vadam"))
    code, out, error = command("reproduce", "small", *SHORT)
    assert code == 0, error
    assert "(curves.png)" in Path("o/toy_1d/report/results.md").read_text()
    assert not Path("o/linear_regression/report").exists()
    (posterior,) = Path("o/linear_regression").rglob("posterior.csv")
    assert "(all: 0/3 runs, " in error and out.count("\nresults: ") == 3
    before = posterior.stat().st_mtime_ns
    code, _, error = command("reproduce", "small", *SHORT)
    assert code == 0 and "splits," not in error and posterior.stat().st_mtime_ns == before


@pytest.mark.slow
@pytest.mark.usefixtures("without_figures")
def test_a_suite_with_a_single_report(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    mine = (
        Sweep("conjugate_pairs", "experiment.sizes=[1]"),
        Sweep("em_factory", "experiment.starts=2"),
    )
    one_suite(monkeypatch, *mine, single_report=True)
    command("run", "experiment=linear_regression", *SHORT)
    code, out, error = command("reproduce", "mine", "outputs_dir=o")
    assert code == 0, error
    assert out.splitlines()[-1] == "report: o/mine/report/report.html"
    assert {path.name for path in Path("o").iterdir() if not path.name.startswith(".")} == {
        "conjugate_pairs", "em_factory", "linear_regression", "mine",
    }  # fmt: skip
    page = Path("o/mine/report/results.md").read_text()
    assert "Conjugate pairs" in page and "factory" in page


@pytest.mark.slow
@pytest.mark.usefixtures("without_figures")
def test_a_sweep_whose_runs_all_diverge_is_named(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    lost = Sweep("toy_1d", "dataset=sine_20 method=map training.learning_rate=1e300", report=False)
    one_suite(monkeypatch, lost, Sweep("linear_regression", report=False))
    code, out, error = command("reproduce", "mine", *SHORT)
    assert code == 1 and out.count("results: ") == 2
    assert "every run of experiment=toy_1d diverged" in error.splitlines()[-1]


@pytest.mark.slow
@pytest.mark.usefixtures("without_figures")
def test_an_error_of_one_run_does_not_stop_the_others(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The fit of the line diverges; the toy runs."""
    one_suite(
        monkeypatch,
        Sweep("linear_regression", "training.learning_rate=1e300", report=False),
        Sweep("toy_1d", "dataset=sine_20 method=map", report=False),
    )
    code, out, error = command("reproduce", "mine", *SHORT)
    assert code == 2 and "training.learning_rate" in error.splitlines()[-1]
    assert out.count("results: ") == 1
