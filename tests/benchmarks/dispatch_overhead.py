"""Overhead per unit: milliseconds of an empty unit, locally and on a Dask cluster.

`python tests/benchmarks/dispatch_overhead.py RUNS UNITS` starts a scheduler and two workers.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

sys.path.insert(0, str(Path(__file__).parents[1]))

from bnnbench.experiment.engines.base import EngineSettings
from bnnbench.experiment.engines.dask import Dask
from bnnbench.experiment.engines.local import Local
from bnnbench.experiment.kinds.base import Experiment
from bnnbench.experiment.run.execution import execute, shared_engine
from bnnbench.experiment.run.progress import SweepProgress
from bnnbench.experiment.run.run import Run
from bnnbench.experiment.store.unit_store import UnitStore
from bnnbench.identity import no_identity

PORT = 18799


@dataclass(frozen=True, kw_only=True)
class EmptyExperiment(Experiment):
    """An experiment whose units only save one row each.

    Attributes:
        number: number of the run.
        repetitions: number of units.
    """

    number: int
    repetitions: int = no_identity(30)
    kind: ClassVar[str] = "empty"

    @property
    def title(self) -> str:
        return f"empty {self.number}"

    def path_parts(self) -> tuple[str, ...]:
        return ("empty",)

    def metadata(self) -> dict[str, Any]:
        return {"number": self.number}

    def units(self) -> tuple[str, ...]:
        return tuple(f"unit-{k}" for k in range(self.repetitions))

    def run(self, unit: str, store: UnitStore) -> None:
        store.save(unit, {"rows": [{"unit": unit}]}, {})


def seconds(runs: list[Run]) -> float:
    """Measure the execution of runs, one after the other."""
    started, sweep = time.perf_counter(), SweepProgress(runs)
    with shared_engine(runs) as engine:
        for run in runs:
            execute(run, sweep=sweep, engine=engine)
    return time.perf_counter() - started


@contextmanager
def cluster(folder: str) -> Iterator[str]:
    """Start a scheduler with two workers, and yield its address."""
    address, python = f"tcp://127.0.0.1:{PORT}", [sys.executable, "-m", "dask"]
    scheduler = ["scheduler", "--host", "127.0.0.1", "--port", f"{PORT}", "--no-dashboard"]
    worker = ["worker", address, "--nthreads", "1", "--no-dashboard", "--no-nanny"]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
    processes = [
        subprocess.Popen([*python, *words], cwd=folder, stderr=subprocess.DEVNULL, env=environment)
        for words in (scheduler, worker, worker)
    ]
    try:
        yield address
    finally:
        for process in processes:
            process.kill()


def main(count: int, units: int) -> None:
    """Print the milliseconds per unit of each engine."""
    from benchmarks.dispatch_overhead import EmptyExperiment  # workers cannot import __main__

    def runs(folder: Path, engine: EngineSettings) -> list[Run]:
        experiments = [
            EmptyExperiment(label="b", number=k, repetitions=units) for k in range(count)
        ]
        return [Run(experiment, folder, {}, engine=engine) for experiment in experiments]

    with tempfile.TemporaryDirectory() as folder, cluster(folder) as address:
        for engine in (Local(), Dask(name="dask", address=address)):
            warm_up = runs(Path(folder, f"first-{engine.name}"), engine)[:1]
            seconds(warm_up)  # workers start and import
            total = seconds(runs(Path(folder, engine.name), engine))
            per_unit = 1000 * total / count / units
            print(f"{engine.name}: {total:.1f} s, {per_unit:.1f} ms per unit", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
