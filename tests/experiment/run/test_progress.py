"""Progress output of runs and sweeps, and the estimates of the time left."""

from __future__ import annotations

import io
import json
import threading

import pytest
from rich.console import Console
from rich.progress import Progress
from support.tiny_runs import Planner

from bnnbench.experiment.run import progress
from bnnbench.experiment.run.progress import Pace, SweepProgress, time_left, time_left_suffix
from bnnbench.experiment.run.run import Run
from bnnbench.files import write_text


def ended() -> threading.Event:
    """The stop event of a run that has ended."""
    event = threading.Event()
    event.set()
    return event


@pytest.mark.parametrize(
    ("fraction", "seconds", "text"),
    [(0.2, 1.0, ""), (0.21, 100.0, ""), (0.24, 100.0, ""), (0.3, 10.0, ", 1 min 10 s left"),
     (0.6, 40.0, ", 40 s left"), (1.0, 1.0, ", 0 s left")],
)  # fmt: skip
def test_the_time_left_is_shown_when_it_can_be_estimated(
    monkeypatch: pytest.MonkeyPatch, fraction: float, seconds: float, text: str
) -> None:
    """A fifth was finished before; there is no estimate before each worker has finished a step."""
    monkeypatch.setattr("time.monotonic", lambda: 1000 + seconds)
    left = Pace(initial=0.2, started=1000).seconds_left(fraction, one_round=0.08)
    assert time_left_suffix(left) == text


@pytest.mark.parametrize(
    ("looks", "one_round", "left"),
    [
        ([(0.01, 30.0), (0.02, 31.0), (0.05, 34.0)], 0.01, 95.0),
        ([(0.01, 30.0), (0.02, 31.0)], 0.01, None),
        ([(0.0, 25.0), (0.01, 30.0)], 0.01, None),
        ([(0.25, 30.0)], 0.25, 90.0),
        ([(0.25, 30.0), (0.5, 40.0)], 0.25, 20.0),
        ([(0.25, 30.0), (1.0, 60.0)], 0.25, 0.0),
    ],
)
def test_the_first_steps_do_not_slow_the_pace(
    monkeypatch: pytest.MonkeyPatch,
    looks: list[tuple[float, float]],
    one_round: float,
    left: float | None,
) -> None:
    """The first evaluation of each worker also loads and compiles."""
    now = [0.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    pace, found = Pace(initial=0.0, started=0.0), None
    for progress_now, now[0] in looks:
        found = pace.seconds_left(progress_now, one_round)
    assert found == (None if left is None else pytest.approx(left))


def test_final_fits_count_by_their_time(tiny: Planner) -> None:
    run = tiny("splits=1", "training.final_epochs=20000")
    path = run.store.file("split-00", "trials.jsonl")
    path.parent.mkdir(parents=True)
    assert run.progress() == 0
    path.write_text("a\nb\nc\n")
    assert run.steps() == (3, 4) and 0 < run.progress() < 0.2, "the final fit is most of the work"
    run.store.file("split-00", "json").write_text("{}")
    assert run.progress() == 1


def test_without_a_terminal_there_is_a_line_at_the_end(tiny: Planner) -> None:
    run, text = tiny("splits=1"), io.StringIO()
    sweep = SweepProgress([run, tiny("seed=1")])
    progress._lines(run, sweep, Console(file=text, width=200), ended())
    (line,) = text.getvalue().splitlines()
    assert line.startswith("vadam on table: 0/1 splits, 0 s so far (all: 0/2 runs, ")


def test_a_line_per_minute_if_there_is_progress(
    tiny: Planner, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, text, now = tiny("splits=1"), io.StringIO(), [0.0]
    log = run.store.file("split-00", "trials.jsonl")
    log.parent.mkdir(parents=True)
    monkeypatch.setattr("time.monotonic", lambda: now[0])

    class Clock(threading.Event):
        """40 seconds per look; an evaluation is finished at the third, the run at the sixth."""

        looks = 0

        def wait(self, timeout: float | None = None) -> bool:
            self.looks, now[0] = self.looks + 1, now[0] + 40
            if self.looks == 3:
                log.write_text("a\n")
            return self.looks == 6

    progress._lines(run, None, Console(file=text, width=200), Clock())
    first, last = text.getvalue().splitlines()
    assert "2 min 00 s so far" in first and "left" in first and "4 min 00 s so far" in last


def test_a_terminal_shows_transient_bars(tiny: Planner) -> None:
    run, text = tiny("splits=1"), io.StringIO()
    sweep = SweepProgress([run, tiny("seed=1")])
    console = Console(file=text, width=150, force_terminal=True)
    progress._bar(run, sweep, console, ended())
    progress._bar(run, None, console, ended())
    shown = text.getvalue()
    assert "vadam on table" in shown and "all runs" in shown and "evaluations, 0/1 splits" in shown


def test_a_narrow_terminal_shortens_no_name() -> None:
    title, detail = "deep_ensemble_2017_softplus on concrete", "evaluations, 12/20 splits, 5 s left"
    console = Console(file=io.StringIO(), width=60)
    bars = Progress(*progress._columns(title, 60), console=console)
    bars.add_task(title, total=640, completed=610, detail=detail)
    console.print(bars)
    assert isinstance(console.file, io.StringIO)
    assert {*title.split(), "610/640", *detail.split()} <= {*console.file.getvalue().split()}


# --- sweeps


def finish(run: Run) -> None:
    units = list(run.experiment.units())
    mark = {"finished": "2026-01-01T00:00:00+00:00", "units": units, "files": {}}
    write_text(run.folder.done, json.dumps(mark))


def test_time_left_shrinks_as_runs_finish(tiny: Planner, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1000.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    monkeypatch.setattr("bnnbench.experiment.run.progress.REPORT_SECONDS", 10_000)
    runs = [tiny(f"seed={seed}") for seed in range(4)]
    view = SweepProgress(runs, started=1000)
    first = view.seconds_left()
    assert first == pytest.approx(sum(10_000 + run.experiment.cost(1) for run in runs))
    now[0] += 6000
    # A quarter took 100 minutes: three quarters take about three times as long.
    finish(runs[0])
    assert view.counts == (1, 4) and view.seconds_left() == pytest.approx(18000, rel=0.1)
    assert view.summary().startswith("1/4 runs, 1 h 40 min so far, about ")
    for run in runs[1:]:
        finish(run)
    assert view.seconds_left() == 0 and view.summary().endswith("about 0 s left")


def test_all_runs_take_at_least_as_long_as_one(tiny: Planner) -> None:
    view = SweepProgress([tiny(), tiny("seed=1")])
    assert view.summary(387.0).endswith("about 6 min 27 s left")
    assert view.summary(0.0) == view.summary()


def test_scans_take_a_tenth_of_the_time(tiny: Planner, monkeypatch: pytest.MonkeyPatch) -> None:
    """Although each run of a sweep asks for the summary when it ends."""
    now, looks = [0.0], []

    def slow(run: Run) -> float:
        now[0] += 0.5
        looks.append(run)
        return 0.0

    monkeypatch.setattr("time.monotonic", lambda: now[0])
    monkeypatch.setattr(Run, "progress", slow)
    view = SweepProgress([tiny(), tiny("seed=1")], started=0)
    for _ in range(90):
        view.summary()
        now[0] += 1
    assert 90 / 11 * 2 <= len(looks) < 90 / 10 * 2 + 4


def test_a_finished_run_counts_before_the_next_scan(
    tiny: Planner, monkeypatch: pytest.MonkeyPatch
) -> None:
    now, ended = [0.0], list[Run]()

    def slow(run: Run) -> float:
        now[0] += 100.0
        return 0.0

    monkeypatch.setattr("time.monotonic", lambda: now[0])
    monkeypatch.setattr(Run, "progress", slow)
    monkeypatch.setattr(Run, "complete", lambda run: any(run is one for one in ended))
    runs = [tiny(), tiny("seed=1")]
    view = SweepProgress(runs, started=0)
    all_of_it = view.seconds_left()
    ended.append(runs[0])
    assert view.counts == (1, 2) and view.seconds_left() < 0.6 * all_of_it


@pytest.mark.parametrize(
    ("seconds", "text"), [(3, "3 s"), (125, "2 min 05 s"), (4200, "1 h 10 min")]
)
def test_time_left(seconds: float, text: str) -> None:
    assert time_left(seconds) == text
