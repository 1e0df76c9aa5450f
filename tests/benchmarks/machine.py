"""The machine that a benchmark measures: its processor, its clock, and its load by other programs.

Figures are stored only if other programs leave the machine idle.
"""

from __future__ import annotations

import math
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from bnnbench.experiment.store.provenance import processor
from bnnbench.types import UserError

MAX_LOAD = 0.5
"""CPUs that other programs may keep busy."""

LOAD_SECONDS = 2.0
"""Over which the load is averaged."""

WAIT_SECONDS = 60.0
"""How long a part waits for an idle machine: programs end, and the load average of a system without
`/proc/stat` forgets the part before."""

STATISTICS, PROCESSORS = Path("/proc/stat"), Path("/proc/cpuinfo")
FREQUENCIES = Path("/sys/devices/system/cpu")
"""Files of Linux."""


Row = Mapping[str, Any]
"""A row of a table of figures."""


def measure_idle(part: str, measure: Callable[[], Iterator[Row]]) -> list[Row]:
    """Measure a part on an idle machine, and print its rows.

    Args:
        part: its name.
        measure: yields its rows.

    Returns:
        The rows, with the columns `processor`, `clock` in MHz (of the fastest CPU at the end of the
        part, since CPUs slow down while they wait; NaN if unknown) and `load` before the part.

    Raises:
        UserError: if other programs keep the machine busy.
    """
    load, rows = idle_load(part), list[Row]()
    for row in measure():
        print(*row.values(), sep="  ", file=sys.stderr, flush=True)
        rows.append(row)
    machine = {"processor": processor(), "clock": clock(), "load": load}
    return [{**row, **machine} for row in rows]


def idle_load(part: str) -> float:
    """Wait until the load is at most `MAX_LOAD`, and return it.

    Args:
        part: the name of the next measurement.

    Raises:
        UserError: if it is higher for `WAIT_SECONDS`.
    """
    end = time.monotonic() + WAIT_SECONDS
    while (load := foreign_load()) > MAX_LOAD:
        if time.monotonic() >= end:
            raise UserError(
                f"other programs keep {load:.1f} CPUs busy, so `{part}` was not measured; end "
                f"programs until at most {MAX_LOAD} CPUs are busy, and run the benchmark again.",
                "load",
            )
    return load


def foreign_load() -> float:
    """Return the mean number of CPUs that other programs keep busy, over `LOAD_SECONDS`.

    It includes the time that the host of a virtual machine takes away. Unlike the load average, it
    does not depend on what this program did before; only systems without `/proc/stat` return that.
    """
    before, own = busy_seconds(), time.process_time()
    started = time.monotonic()
    time.sleep(LOAD_SECONDS)
    after = busy_seconds()
    if math.isnan(after):
        return os.getloadavg()[0]
    busy = after - before - (time.process_time() - own)
    return max(0.0, busy / (time.monotonic() - started))


def busy_seconds() -> float:
    """Return the seconds since the start of the system in which CPUs were busy, added up.

    NaN without `/proc/stat`.
    """
    try:
        fields = STATISTICS.read_text().split("\n", 1)[0].split()[1:]
        user, nice, system, _, _, interrupts, soft, steal = map(int, fields[:8])
    except (OSError, ValueError):
        return math.nan
    return (user + nice + system + interrupts + soft + steal) / os.sysconf("SC_CLK_TCK")


def clock() -> float:
    """Return the present clock of the fastest CPU in MHz; NaN if the system does not say it."""
    try:
        lines = [line.partition(":") for line in PROCESSORS.read_text().splitlines()]
        found = [float(value) for name, _, value in lines if name.strip() == "cpu MHz"]
        files = [] if found else FREQUENCIES.glob("cpu*/cpufreq/scaling_cur_freq")
        found += [int(file.read_text()) / 1000 for file in files]  # in kHz
    except (OSError, ValueError):
        return math.nan
    return max(found, default=math.nan)
