"""What `--dry-run` prints of runs: the plan, what it takes, and where it would go."""

from __future__ import annotations

from collections.abc import Sequence

from bnnbench.experiment.run import Run
from bnnbench.experiment.sweep_progress import time_left

PROGRAM = 0.3e9
"""Bytes of a process with torch in it and no data."""


def show_plan(run: Run) -> float:
    """Prints it and writes nothing; the seconds that the run would take."""
    experiment, units = run.experiment, run.experiment.units()
    done, seconds = len(units) - len(run.open_units()), seconds_left(run)
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


def seconds_left(run: Run) -> float:
    """Roughly those that a run takes still, on an otherwise idle machine."""
    units = run.experiment.units()
    return run.experiment.cost(run.workers) * len(run.open_units()) / max(1, len(units))


def show_sweeps(sweeps: Sequence[tuple[str, Sequence[Run]]]) -> None:
    """Prints a line on each of several sweeps and one on all; writes nothing.

    Args:
        sweeps: the name of each with its runs.
    """
    width = max(len(name) for name, _ in sweeps)
    for name, runs in sweeps:
        finished = sum(run.complete() for run in runs)
        left = time_left(sum(map(seconds_left, runs)))
        print(f"{name:{width}}  {len(runs):4} runs, {finished} finished, about {left} left")
    # A run that several sweeps share is run once.
    every = {run.folder.root: run for _, runs in sweeps for run in runs}
    show_total([seconds_left(run) for run in every.values()])


def show_total(seconds: Sequence[float]) -> None:
    """Prints how long the runs of a sweep would take together."""
    print(f"in all {len(seconds)} runs, about {time_left(sum(seconds))}")
