"""How far a whole sweep is, over all its runs, read from what is already on disk."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from bnnbench.experiment.run import Run

REPORT_SECONDS = 2.0  # a run's figures and tables
TRUSTED = 60.0
RARELY = 10.0  # times as long as a look into all open runs takes passes before the next one


def time_left(seconds: float) -> str:
    """`3 s`, `2 min 05 s`, `1 h 10 min`."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"


@dataclass
class SweepProgress:
    """The runs of a sweep, and when this process began with them.

    Attributes:
        runs: every run, finished or not.
        began: `time.monotonic()` at the start.
    """

    runs: Sequence[Run]
    began: float = field(default_factory=time.monotonic)
    _finished: set[int] = field(default_factory=set)
    _shares: dict[int, float] = field(default_factory=dict)
    _again: float = -math.inf

    def __post_init__(self) -> None:
        self._costs = [REPORT_SECONDS + run.experiment.cost(run.workers) for run in self.runs]
        self._before = self._done()

    @property
    def counts(self) -> tuple[int, int]:
        """Finished runs, and all."""
        return len(self._look()), len(self.runs)

    def seconds_left(self) -> float:
        """The cost of what is left, at the pace since the start.

        `TRUSTED` seconds at the estimated pace are taken as seen, so that the first run, which
        may be a quick one, does not speak for all.
        """
        done, elapsed = self._done(), time.monotonic() - self.began
        pace = (TRUSTED + done - self._before) / (TRUSTED + elapsed)
        return (sum(self._costs) - done) / pace

    def sentence(self, of_run: float | None = None) -> str:
        """`3/48 runs, 12 min 05 s so far, about 1 h 10 min left`.

        Args:
            of_run: what one run alone is seen to take still, whose estimate may have been too low:
                all of them take as long at least.
        """
        finished, total = self.counts
        so_far, left = time.monotonic() - self.began, max(self.seconds_left(), of_run or 0.0)
        return f"{finished}/{total} runs, {time_left(so_far)} so far, about {time_left(left)} left"

    def _look(self) -> set[int]:
        """Which runs are finished; those found so once are not looked at again."""
        for k, run in enumerate(self.runs):
            if k not in self._finished and run.complete():
                self._finished.add(k)
        return self._finished

    def _done(self) -> float:
        """The cost of what is done; how far each of hundreds is, is not read at the end of each."""
        finished, now = self._look(), time.monotonic()
        if now >= self._again:
            open_ones = ((k, run) for k, run in enumerate(self.runs) if k not in finished)
            self._shares = {k: run.share() for k, run in open_ones}
            self._again = now + RARELY * (time.monotonic() - now)
        shares = (1.0 if k in finished else self._shares[k] for k in range(len(self.runs)))
        return sum(cost * share for cost, share in zip(self._costs, shares, strict=True))
