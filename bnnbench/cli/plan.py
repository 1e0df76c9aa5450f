"""What `bnnbench run --dry-run` prints of a run: the plan, what it takes, and where it would go."""

from __future__ import annotations

from collections.abc import Sequence

from bnnbench.experiment.run import Run
from bnnbench.experiment.sweep_progress import time_left

PROGRAM = 0.3e9
"""Bytes of a process with torch in it and no data."""


def show_plan(run: Run) -> float:
    """Prints it and writes nothing; the seconds that the run would take."""
    experiment, units = run.experiment, run.experiment.units()
    done = sum(run.store.finished(unit) for unit in units)
    seconds = experiment.cost(run.workers) * (1 - done / max(1, len(units)))
    memory = run.workers * (PROGRAM + experiment.memory())
    lines = {
        **experiment.plan(),
        "done": f"{done} of {len(units)} {experiment.unit_noun}s",
        "takes": f"about {time_left(seconds)} with {run.workers} worker"
        f"{'s' if run.workers > 1 else ''}, {memory / 1e9:.1f} GB of memory",
        "folder": str(run.folder.root),
    }
    print(experiment.title)
    width = max(map(len, lines))
    for name, text in lines.items():
        print(f"  {name:{width}}  {text}")
    return seconds


def show_total(seconds: Sequence[float]) -> None:
    """Prints how long the runs of a sweep would take together."""
    print(f"in all {len(seconds)} runs, about {time_left(sum(seconds))}")
