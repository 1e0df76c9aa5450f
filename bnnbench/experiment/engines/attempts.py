"""How often work that was lost is handed out again: as long as it gets further."""

from __future__ import annotations

from bnnbench.experiment.engines.work import Work
from bnnbench.types import UserError

MOST = 3
"""Losses in a row without another evaluation on disk."""


class Attempts:
    """Counts what was lost, and how far it had come."""

    def __init__(self) -> None:
        """Nothing was lost yet."""
        self._lost: dict[str, tuple[int, float]] = {}

    def check(self, work: Work, reason: str) -> None:
        """Counts one loss.

        Args:
            work: that was lost.
            reason: where it is said why.

        Raises:
            UserError: if it may not be handed out again, so that nothing loops for ever.
        """
        before, far = self._lost.get(work.key, (0, -1.0))
        now = sum(m.experiment.share(unit, m.store) for m in work.row for unit in work.group)
        times = 1 if now > far else before + 1
        self._lost[work.key] = (times, now)
        if times > MOST:
            place = work.row[0].store.folder.root
            raise UserError(
                f"{', '.join(work.group)} of {place} was handed out {times} times, and its process "
                f"ended each time before it got any further; {reason}, perhaps a want of memory."
            )
