"""`bnnbench reproduce`: suites found by being there, run, reported, resumed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from support.quick import no_figures, no_report_figures

from bnnbench.cli import reproduce
from bnnbench.cli.configs import config_folder, options
from bnnbench.cli.line import jobs_of
from bnnbench.discovery import Suite, Sweep, suites

Command = Callable[..., tuple[int, str, str]]

SHORT = ("training.epochs=2", "training.final_epochs=2", "outputs_dir=o")


def one_suite(monkeypatch: pytest.MonkeyPatch, *sweeps: Sweep, together: bool = False) -> None:
    suite = Suite("mine", "one line", sweeps, together)
    monkeypatch.setattr(reproduce, "suites", lambda: (suite,))


def test_every_suite_is_whole_in_all_and_its_quick_part_in_small() -> None:
    every = [sweep for suite in suites() for sweep in suite.sweeps]
    assert reproduce.sweeps_of("all") == [sweep for sweep in every if "full" in sweep.sizes]
    assert reproduce.sweeps_of("small") == [sweep for sweep in every if "small" in sweep.sizes]
    for suite in suites():
        assert reproduce.sweeps_of(suite.name) == [s for s in suite.sweeps if "full" in s.sizes]
        assert {sweep.experiment for sweep in suite.sweeps} <= options("experiment").keys()
    names = {sweep.experiment for sweep in reproduce.sweeps_of("all")}
    assert "gvi_uci" in names and "gvi_uci" not in {
        sweep.experiment for sweep in reproduce.sweeps_of("small")
    }


@pytest.mark.parametrize(
    ("experiment", "jobs"),
    [("book_uci", 8 * 6), ("gvi_alpha", 11 * 3 * 4), ("gvi_uci", 16 * 3 * 4),
     ("gvi_competitors", 4 * 3 * 4 * 5), ("gp_toy", 16 * 3 * 5)],
)  # fmt: skip
def test_the_sweeps_are_the_sources(experiment: str, jobs: int) -> None:
    from hydra import initialize_config_dir

    with initialize_config_dir(str(config_folder()), version_base="1.3"):
        assert len(jobs_of([f"experiment={experiment}"])) == jobs


def test_a_suite_that_does_not_exist(command: Command) -> None:
    names = ", ".join(["small", "all", *(suite.name for suite in suites())])
    code, _, error = command("reproduce", "large")
    assert code == 2 and error == f"bnnbench: NAME must be one of {names}, not 'large'.\n"
    code, _, error = command("reproduce", "small", "sed=1")
    assert code == 2 and "sed is not a setting; did you mean seed?" in error


def test_what_one_experiment_has_no_use_for_names_it(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong = {
        "toy_1d": ("splits=2", "splits must be"),
        "gvi_alpha": ("divergence=kl", "divergence."),
    }
    for name, (setting, complaint) in wrong.items():
        one_suite(monkeypatch, Sweep(name, "method=bbb"))
        code, _, error = command("reproduce", "mine", setting)
        last = error.splitlines()[-1]
        assert code == 2 and last.startswith(f"bnnbench: experiment={name}: {complaint}"), error


def test_a_dry_run_counts_runs_and_their_time_and_writes_nothing(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    toy = Sweep("toy_1d", "dataset=sine_20 method=map,vadam")
    one_suite(monkeypatch, Sweep("linear_regression"), toy)
    for words in (("--dry-run", "mine", *SHORT), ("mine", *SHORT, "--dry-run")):
        code, out, _ = command("reproduce", *words)
        line, sweep, total = out.splitlines()
        assert code == 0 and line.split()[:3] == ["linear_regression", "1", "runs,"]
        assert "2 runs, 0 finished, about " in sweep and total.startswith("in all 3 runs, about ")
    assert not Path("o").exists()


def test_reproduce_runs_reports_and_resumes(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    line = Sweep("linear_regression", report=False)
    one_suite(monkeypatch, line, Sweep("toy_1d", "dataset=sine_20 method=map,vadam"))
    with no_figures():
        code, out, error = command("reproduce", "small", *SHORT)
        assert code == 0, error
        assert Path("o/toy_1d/report/curves.png").is_file()
        assert not Path("o/linear_regression/report").exists()
        (posterior,) = Path("o/linear_regression").rglob("posterior.csv")
        assert "(all: 0/3 runs, " in error and out.count("\nresults: ") == 3
        before = posterior.stat().st_mtime_ns
        with no_report_figures():
            code, _, error = command("reproduce", "small", *SHORT)
    assert code == 0 and "splits," not in error and posterior.stat().st_mtime_ns == before


@pytest.mark.usefixtures("undrawn")
def test_what_is_forced_is_run_again_wherever_the_option_stands(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    one_suite(monkeypatch, Sweep("linear_regression", report=False))
    assert command("reproduce", "small", *SHORT)[0] == 0
    (posterior,) = Path("o/linear_regression").rglob("posterior.csv")
    before = posterior.stat().st_mtime_ns
    for words in (("--force", "small", *SHORT), ("small", *SHORT, "--force")):
        assert command("reproduce", *words)[0] == 0
        assert posterior.stat().st_mtime_ns > before
        before = posterior.stat().st_mtime_ns


@pytest.mark.usefixtures("undrawn")
def test_one_report_may_gather_a_whole_suite(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = (
        Sweep("conjugate_pairs", "experiment.sizes=[1]"),
        Sweep("em_factory", "experiment.starts=2"),
    )
    one_suite(monkeypatch, *mine, together=True)
    command("run", "experiment=linear_regression", *SHORT)
    code, out, error = command("reproduce", "mine", "outputs_dir=o")
    assert code == 0, error
    assert out.splitlines()[-1] == "report: o/mine/report/report.html"
    assert {path.name for path in Path("o").iterdir() if not path.name.startswith(".")} == {
        "conjugate_pairs", "em_factory", "linear_regression", "mine",
    }  # fmt: skip
    page = Path("o/mine/report/results.md").read_text()
    assert "Conjugate pairs" in page and "factory" in page


@pytest.mark.usefixtures("undrawn")
def test_a_sweep_of_nothing_but_divergence_is_said(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    lost = Sweep("toy_1d", "dataset=sine_20 method=map training.learning_rate=1e300", report=False)
    one_suite(monkeypatch, lost, Sweep("linear_regression", report=False))
    code, out, error = command("reproduce", "mine", *SHORT)
    assert code == 1 and out.count("results: ") == 2
    last = error.splitlines()[-1]
    assert last.startswith("bnnbench: every run of experiment=toy_1d diverged on every split")


@pytest.mark.usefixtures("undrawn")
def test_what_one_run_refuses_does_not_stop_the_others(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A line whose fit diverges says so in the end; the toy is run all the same."""
    one_suite(
        monkeypatch,
        Sweep("linear_regression", "training.learning_rate=1e300", report=False),
        Sweep("toy_1d", "dataset=sine_20 method=map", report=False),
    )
    code, out, error = command("reproduce", "mine", *SHORT)
    assert code == 2 and "bbb diverged on line; try a smaller training.learning_rate" in error
    assert out.count("results: ") == 1
