"""Limit on how often a lost task is submitted again without progress."""

from __future__ import annotations

from bnnbench.experiment.engines.base import Task
from bnnbench.types import UserError

MAX_LOSSES_IN_A_ROW = 3
"""Losses without a new evaluation on disk in between."""


class LostTaskCounter:
    """Counts how often each task was lost, and the progress it had made."""

    def __init__(self) -> None:
        self._lost: dict[str, tuple[int, float]] = {}

    def add(self, task: Task, hint: str) -> None:
        """Count the loss of a task.

        Args:
            task: the lost task.
            hint: where to look for the cause.

        Raises:
            UserError: if it was lost too often without progress.
        """
        losses, before = self._lost.get(task.key, (0, -1.0))
        now = sum(m.progress(unit) for m in task.runs for unit in task.units)
        losses = 1 if now > before else losses + 1
        self._lost[task.key] = (losses, now)
        if losses > MAX_LOSSES_IN_A_ROW:
            folder = task.runs[0].store.folder.root
            raise UserError(
                f"the worker of {', '.join(task.units)} in {folder} died {losses} times without "
                f"progress, perhaps because it ran out of memory; {hint}.",
                code="task_lost",
            )
