"""What a unit costs that does nothing: here, and handed out to a Dask cluster and collected.

`.venv/bin/python tests/benchmarks/handing_out.py RUNS UNITS` starts a scheduler and two workers.
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

from bnnbench.experiment.base import Experiment
from bnnbench.experiment.engines.base import EngineSettings
from bnnbench.experiment.engines.dask import Dask
from bnnbench.experiment.engines.local import Local
from bnnbench.experiment.execution import execute, shared_engine
from bnnbench.experiment.run import Run
from bnnbench.experiment.sweep_progress import SweepProgress
from bnnbench.experiment.unit_store import UnitStore
from bnnbench.identity import no_identity

PORT = 18799


@dataclass(frozen=True, kw_only=True)
class Nothing(Experiment):
    """Units that save a row each.

    Attributes:
        number: of the run.
        repetitions: how many units.
    """

    number: int
    repetitions: int = no_identity(30)
    kind: ClassVar[str] = "nothing"

    @property
    def title(self) -> str:
        return f"nothing {self.number}"

    def place(self) -> tuple[str, ...]:
        return ("nothing",)

    def names(self) -> dict[str, Any]:
        return {"number": self.number}

    def units(self) -> tuple[str, ...]:
        return tuple(f"unit-{k}" for k in range(self.repetitions))

    def run(self, unit: str, store: UnitStore) -> None:
        store.save(unit, {"rows": [{"unit": unit}]}, {})


def seconds(runs: list[Run]) -> float:
    """Of all runs, one after the other."""
    began, sweep = time.perf_counter(), SweepProgress(runs)
    with shared_engine(runs, sweep) as engine:
        for run in runs:
            execute(run, lambda folder: None, sweep, engine=engine)
    return time.perf_counter() - began


@contextmanager
def cluster(folder: str) -> Iterator[str]:
    """The address of a scheduler with two workers."""
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
    """Prints the milliseconds of a unit here and through the cluster."""
    from benchmarks.handing_out import Nothing  # under the name by which the workers find it

    def runs(folder: Path, engine: EngineSettings) -> list[Run]:
        made = [Nothing(label="b", number=k, repetitions=units) for k in range(count)]
        return [Run(one, folder, {}, engine=engine) for one in made]

    with tempfile.TemporaryDirectory() as folder, cluster(folder) as address:
        for engine in (Local(), Dask(name="dask", address=address)):
            seconds(
                runs(Path(folder, f"first-{engine.name}"), engine)[:1]
            )  # workers begin, and import
            taken = seconds(runs(Path(folder, engine.name), engine))
            each = 1000 * taken / count / units
            print(f"{engine.name}: {taken:.1f} s, {each:.1f} ms a unit", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
