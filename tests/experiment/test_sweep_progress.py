"""Progress of a sweep and its estimated time."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from bnnbench.experiment.progress import SweepProgress, time_left
from bnnbench.experiment.run import Run
from bnnbench.files import write_text

Planner = Callable[..., Run]


def finish(run: Run) -> None:
    units = list(run.experiment.units())
    mark = {"finished": "2026-01-01T00:00:00+00:00", "units": units, "files": {}}
    write_text(run.folder.done, json.dumps(mark))


def test_time_left_shrinks_as_runs_finish(tiny: Planner, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1000.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    monkeypatch.setattr("bnnbench.experiment.progress.REPORT_SECONDS", 10_000)
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
