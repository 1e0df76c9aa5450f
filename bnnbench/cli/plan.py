"""Prints the plans of `--dry-run`: what a run does, its estimated cost, and its folder."""

from __future__ import annotations

from collections.abc import Sequence

from bnnbench.experiment.kinds.base import HasPlan
from bnnbench.experiment.run.progress import seconds_left, time_left
from bnnbench.experiment.run.run import Run
from bnnbench.notes import print_folded, quantity

PROCESS_BYTES = 0.3e9
"""Memory of a process that has imported torch."""


def show_plan(run: Run) -> float:
    """Print the plan of a run and return its estimated seconds."""
    experiment, units = run.experiment, run.experiment.units()
    done, seconds = len(units) - len(run.unfinished_units()), seconds_left(run)
    plan, each = {}, PROCESS_BYTES
    if isinstance(experiment, HasPlan):
        plan, each = experiment.plan(), PROCESS_BYTES + experiment.memory()
    memory = run.workers * each
    lines = {
        **plan,
        "done": f"{done} of {quantity(len(units), experiment.unit_noun)}",
        "takes": f"about {time_left(seconds)} with {run.workers} worker"
        f"{'s' if run.workers > 1 else ''}, {memory / 1e9:.1f} GB of memory",
        "folder": str(run.folder.root),
    }
    print(experiment.title)
    width = max(map(len, lines))
    for name, text in lines.items():
        print_folded(f"  {name:{width}}  {text}", width + 4)
    return seconds


def show_sweeps(sweeps: Sequence[tuple[str, Sequence[Run]]]) -> None:
    """Print a line for each sweep and one for all.

    Args:
        sweeps: name and runs of each.
    """
    width = max(len(name) for name, _ in sweeps)
    for name, runs in sweeps:
        finished = sum(run.complete() for run in runs)
        left = time_left(sum(map(seconds_left, runs)))
        print_folded(
            f"{name:{width}}  {len(runs):4} runs, {finished} finished, about {left} left", 2
        )
    # Runs that several sweeps share count once.
    every = {run.folder.root: run for _, runs in sweeps for run in runs}
    show_total([seconds_left(run) for run in every.values()])


def show_total(seconds: Sequence[float]) -> None:
    """Print the estimated time of all runs of a sweep."""
    print(f"total: {len(seconds)} runs, about {time_left(sum(seconds))}")
