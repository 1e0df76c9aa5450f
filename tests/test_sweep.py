"""Progress over a whole sweep, and `bnnbench reproduce`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bnnbench.cli.reproduce import SUITES, overrides_of
from bnnbench.cli.sweep import configs_of
from bnnbench.experiment import sweep_progress as suite
from bnnbench.experiment.sweep_progress import Suite, cost, time_left
from bnnbench.files import write_text
from bnnbench.types import UserError

Command = Callable[..., tuple[int, str, str]]


def test_the_jobs_are_those_that_hydra_would_start() -> None:
    jobs = configs_of(["experiment=book_uci", "dataset=boston,yacht", "seed=3"])
    names = [(job["dataset"]["name"], job["method"]["label"]) for job in jobs]
    methods = ["pbp", "vadam", "bbb_x1", "bbb_x2", "mc_dropout_x1", "mc_dropout_x10"]
    assert len(names) == 12 and {name for name, _ in names} == {"boston", "yacht"}
    assert {label for _, label in names} == set(methods) and {job["seed"] for job in jobs} == {3}
    (single,) = configs_of(["method=pbp", "depth=2"])
    assert single["method"]["label"] == "pbp" and single["network"]["depth"] == 2
    with pytest.raises(UserError, match=r"dataset=atlantis does not exist; dataset is one of"):
        configs_of(["dataset=atlantis"])


@pytest.mark.parametrize("name", SUITES)
def test_a_suite_holds_every_experiment_and_its_data(name: str) -> None:
    words = overrides_of(name, ["seed=1"])
    assert all(some[0] == f"experiment={key}" and "seed=1" in some for key, some in words.items())
    assert ("gvi_uci" in words) == (name != "small")
    datasets = [w for w in words.get("book_uci", []) if w.startswith("dataset=")]
    assert [len(w.split(",")) for w in datasets] == {"small": [4], "gvi": [], "all": [8]}[name]


def test_a_suite_that_does_not_exist(command: Command) -> None:
    code, _, error = command("reproduce", "large")
    assert code == 2 and error == "bnnbench: SUITE must be one of small, gvi, all, not 'large'.\n"
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
        monkeypatch.setitem(SUITES, "small", {name: "method=bbb"})
        code, _, error = command("reproduce", "small", setting)
        assert code == 2 and error.startswith(f"bnnbench: experiment={name}: {complaint}"), error


def test_cost_counts_the_work(tiny_plan: Callable[..., Any]) -> None:
    def work(*overrides: str) -> float:
        return cost(tiny_plan(*overrides)) - suite.REPORT_SECONDS

    base = work()
    assert work("splits=4") == pytest.approx(2 * base)
    more = work("search.iterations=30", "training.epochs=20", "training.final_epochs=20")
    assert 50 * base < more < 100 * base
    assert work("training.samples=4") > base


def test_time_left_shrinks_as_runs_finish(
    tiny_plan: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [1000.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    monkeypatch.setattr("bnnbench.experiment.sweep_progress.REPORT_SECONDS", 10_000)
    plans = [tiny_plan(f"seed={seed}") for seed in range(4)]
    view = Suite(plans, began=1000)
    first = view.seconds_left()
    assert first == pytest.approx(sum(map(cost, plans)))
    now[0] += 6000
    # A quarter took 100 minutes: three quarters take three times that, nearly.
    write_text(plans[0].folder.done, "now")
    assert view.runs == (1, 4) and view.seconds_left() == pytest.approx(18000, rel=0.1)
    assert view.sentence().startswith("1/4 runs, 1 h 40 min so far, about ")
    for plan in plans[1:]:
        write_text(plan.folder.done, "now")
    assert view.seconds_left() == 0 and view.sentence().endswith("about 0 s left")


@pytest.mark.parametrize(
    ("seconds", "text"), [(3, "3 s"), (125, "2 min 05 s"), (4200, "1 h 10 min")]
)
def test_time_left(seconds: float, text: str) -> None:
    assert time_left(seconds) == text


def test_a_sweep_shows_how_far_all_of_it_is(command: Command, table_csv: Path) -> None:
    tiny = ("network.width=4", "training.epochs=2", "splits=1", "workers=2", "outputs_dir=o")
    data = ("dataset=csv", f"dataset.path={table_csv}", "dataset.target=y", "method.compile=never")
    code, _, error = command("run", "-m", "method=pbp", "seed=0,1", *data, *tiny)
    assert code == 0, error
    lines = [line for line in error.splitlines() if "splits," in line]
    assert "(all: 0/2 runs, " in lines[0] and "(all: 1/2 runs, " in lines[1]
    assert suite.current() is None
    code, _, error = command("run", "method=pbp", "seed=2", *data, *tiny)
    assert code == 0 and "(all:" not in error


def test_reproduce_runs_reports_and_resumes(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    experiments = {"linear_regression": "", "toy_1d": "dataset=sine_20 method=pbp,pbp_200"}
    monkeypatch.setitem(SUITES, "small", experiments)
    short = ("training.epochs=2", "training.final_epochs=2", "outputs_dir=o")
    code, out, error = command("reproduce", "small", *short)
    assert code == 0, error
    assert Path("o/toy_1d/report/curves.png").is_file()
    (posterior,) = Path("o/linear_regression").rglob("posterior.csv")
    assert "(all: 1/3 runs, " in error and out.count("\nresults: ") == 3
    before = posterior.stat().st_mtime_ns
    code, _, error = command("reproduce", "small", *short)
    assert code == 0 and "splits," not in error and posterior.stat().st_mtime_ns == before
    # What one run refuses is said in the end; the others are done all the same.
    refused = ("evaluation.samples=7", "depth=1")
    code, out, error = command("reproduce", "small", *short, *refused)
    assert code == 2 and "network.depth must be 0 for experiment=linear_regression" in error
    assert out.count("\nresults: ") == 2
