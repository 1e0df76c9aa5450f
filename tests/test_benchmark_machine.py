"""Benchmarks record their machine, and refuse to measure while other programs use it."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest
from benchmarks import machine, speed
from support.user_errors import raises_user_error

TOOLS = Path(__file__).parents[1] / "docs" / "tools"


def loads(monkeypatch: pytest.MonkeyPatch, *values: float) -> None:
    """Replace the measured loads by these, 40 s apart; the last one remains."""
    remaining, now = [*values], iter(range(0, 10_000, 40))
    monkeypatch.setattr(
        machine, "foreign_load", lambda: remaining.pop(0) if remaining[1:] else remaining[0]
    )
    monkeypatch.setattr(machine.time, "monotonic", lambda: float(next(now)))


@pytest.mark.parametrize(
    ("measured", "accepted"),
    [((0.0,), 0.0), ((0.5,), 0.5), ((2.0, 0.3), 0.3), ((0.51,), None), ((3.0, 3.0, 0.1), None)],
    ids=str,
)
def test_a_part_waits_a_short_while_for_an_idle_machine(
    monkeypatch: pytest.MonkeyPatch, measured: tuple[float, ...], accepted: float | None
) -> None:
    loads(monkeypatch, *measured)
    if accepted is None:
        with raises_user_error("load"):
            machine.idle_load("steps")
    else:
        assert machine.idle_load("steps") == accepted


def test_rows_name_processor_clock_and_load(monkeypatch: pytest.MonkeyPatch) -> None:
    loads(monkeypatch, 0.2)
    monkeypatch.setattr(machine, "processor", lambda: "Some CPU")
    monkeypatch.setattr(machine, "clock", lambda: 2600.0)
    (row,) = machine.measure_idle("steps", lambda: iter([{"measurement": "a step", "value": 1.0}]))
    facts = {"processor": "Some CPU", "clock": 2600.0, "load": 0.2}
    assert row == {"measurement": "a step", "value": 1.0, **facts}


STATISTICS = """cpu  {user} 10 20 1000 50 3 4 {steal} 7 0
cpu0 1 1 1 1 1 1 1 1 1 0
"""


@pytest.mark.parametrize(
    ("user", "steal", "own", "load"),
    [(100, 30, 0.0, 0.0), (150, 30, 0.0, 0.5), (100, 230, 0.0, 2.0), (150, 30, 0.25, 0.25)],
)
def test_the_load_is_the_busy_time_of_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, user: int, steal: int, own: float, load: float
) -> None:
    """With 100 ticks a second, over one second: own CPU time does not count, stolen time does."""
    file = tmp_path / "stat"
    file.write_text(STATISTICS.format(user=100, steal=30))
    seconds = {"now": 0.0, "own": 0.0}

    def sleep(_: float) -> None:
        file.write_text(STATISTICS.format(user=user, steal=steal))
        seconds.update(now=1.0, own=own)

    monkeypatch.setattr(machine, "STATISTICS", file)
    monkeypatch.setattr(machine.os, "sysconf", {"SC_CLK_TCK": 100}.get)
    monkeypatch.setattr(machine.time, "sleep", sleep)
    monkeypatch.setattr(machine.time, "monotonic", lambda: seconds["now"])
    monkeypatch.setattr(machine.time, "process_time", lambda: seconds["own"])
    assert machine.foreign_load() == pytest.approx(load)
    file.unlink()
    monkeypatch.setattr(machine.time, "sleep", lambda _: None)
    monkeypatch.setattr(machine.os, "getloadavg", lambda: (1.5, 0.0, 0.0))
    assert machine.foreign_load() == 1.5


@pytest.mark.parametrize(
    ("processors", "frequencies", "clock"),
    [
        ("model name: X\ncpu MHz\t\t: 2400.5\ncpu MHz\t\t: 3100.0\n", (), 3100.0),
        ("model name: X\n", ("1800000", "2200000"), 2200.0),
        ("model name: X\n", (), math.nan),
        (None, (), math.nan),
        ("cpu MHz: unknown\n", (), math.nan),
    ],
)
def test_the_clock_is_that_of_the_fastest_cpu(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    processors: str | None,
    frequencies: tuple[str, ...],
    clock: float,
) -> None:
    if processors is not None:
        (tmp_path / "cpuinfo").write_text(processors)
    for k, frequency in enumerate(frequencies):
        file = tmp_path / f"cpu{k}" / "cpufreq" / "scaling_cur_freq"
        file.parent.mkdir(parents=True)
        file.write_text(frequency)
    monkeypatch.setattr(machine, "PROCESSORS", tmp_path / "cpuinfo")
    monkeypatch.setattr(machine, "FREQUENCIES", tmp_path)
    assert machine.clock() == pytest.approx(clock, nan_ok=True)


@pytest.mark.parametrize("load", [0.1, 3.0])
def test_figures_of_a_busy_machine_are_not_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], load: float
) -> None:
    def rows() -> Iterator[machine.Row]:
        yield {"measurement": "a step", "value": 1.0, "unit": "ms", "ratio": 2.0}

    loads(monkeypatch, load)
    monkeypatch.setattr(speed, "parts_of", lambda *_: {"steps": rows})
    monkeypatch.setattr(speed.torch, "set_flush_denormal", lambda _: True)
    monkeypatch.setattr(sys, "argv", ["speed.py", "--outputs", str(tmp_path), "--only", "steps"])
    code = speed.main()
    out, errors = capsys.readouterr()
    if load > machine.MAX_LOAD:
        assert code == 2 and not [*tmp_path.iterdir()] and not out
        assert errors.count("\n") == 1 and "3.0 CPUs" in errors
    else:
        (row,) = pd.read_csv(tmp_path / "speed.csv").to_dict("records")
        assert code == 0 and row["measurement"] == "a step" and row["load"] == load
        assert row["processor"] == machine.processor()


@pytest.mark.parametrize(
    ("columns", "shown", "hidden"),
    [
        ({}, ["not recorded for 2 of 2"], ["GHz"]),
        (
            {"processor": ["X", "X"], "clock": [2600, 3100], "load": [0.0, 0.4]},
            ["2 of 2 measurements", " X,", "2.60 to 3.10 GHz", "0.0 to 0.4 CPUs"], ["not recorded"],
        ),
        (
            {"processor": ["X", None], "clock": [None, None], "load": [0.2, None]},
            ["1 of 2 measurements", "clock unknown", "0.2 CPUs", "not recorded for 1 of 2"],
            ["GHz"],
        ),
        (
            {"processor": ["X", "Y"], "clock": [2600, 3100], "load": [0.0, 0.4]},
            [" X, clock 2.60 GHz", " Y, clock 3.10 GHz"], ["not recorded"],
        ),
    ],
)  # fmt: skip
def test_pages_name_the_machine_or_say_that_it_is_unknown(
    monkeypatch: pytest.MonkeyPatch,
    columns: dict[str, list[object]],
    shown: list[str],
    hidden: list[str],
) -> None:
    monkeypatch.syspath_prepend(str(TOOLS))
    from machines import measured_on

    text = measured_on(pd.DataFrame({"value": [1.0, 2.0], **columns}))
    assert all(words in text for words in shown) and not any(words in text for words in hidden)
