"""The ascent of a bound from several starts: its iterates and their table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np
import pandas as pd

SAME_OPTIMUM_TOLERANCE = 1e-6
"""Difference of the objective in nats within which two starts have reached the same optimum."""

State = TypeVar("State")


class Degenerate(Exception):
    """Raised by a step that has no valid next state, with a status and a message.

    The message contains `{iteration}` where the number of the iteration belongs.
    """


@dataclass(frozen=True)
class Ascent(Generic[State]):
    """The iterates from one start; index 0 is the start.

    Attributes:
        states: `T + 1` states.
        objective: log-likelihood or bound of each state, `[T + 1]`, nats.
        status: `converged`, `unfinished` at the maximum number of iterations, or the status of a
            `Degenerate` step.
        message: the status in words.
    """

    states: Sequence[State]
    objective: np.ndarray
    status: str
    message: str

    @property
    def is_usable(self) -> bool:
        """Whether the ascent did not end with a degenerate step."""
        return self.status in ("converged", "unfinished")

    @property
    def largest_decrease(self) -> float:
        """The largest decrease of the objective in an iteration, nats; 0 if it never decreased."""
        return float(max(0.0, (-np.diff(self.objective)).max(initial=0.0)))


def ascend(
    step: Callable[[State], State],
    start: State,
    objective: Callable[[State], float],
    iterations: int,
    tolerance: float,
) -> Ascent[State]:
    """Repeat a step until the relative change of the objective is at most the tolerance.

    A step returns the next state or raises `Degenerate`; it increases the objective, in nats.
    """
    states, values, status = [start], [objective(start)], "unfinished"
    message = f"not converged after {iterations} iterations"
    while len(states) <= iterations and status == "unfinished":
        try:
            states.append(step(states[-1]))
        except Degenerate as reason:
            status, message = reason.args
            message = message.format(iteration=len(states))
            break
        values.append(objective(states[-1]))
        if abs(values[-1] - values[-2]) <= tolerance * abs(values[-1]):
            status, message = "converged", f"converged after {len(states) - 1} iterations"
    return Ascent(states, np.array(values), status, message)


def best_start(ascents: Sequence[Ascent[State]]) -> int:
    """Return the index of the usable start with the highest last objective."""
    ends = [(ascent.is_usable, ascent.objective[-1]) for ascent in ascents]
    return ends.index(max(ends))


def fraction_at(ascents: Sequence[Ascent[State]], best: float) -> float:
    """Return the fraction of starts whose last objective is `best`."""
    ends = np.array([ascent.objective[-1] for ascent in ascents])
    return float((np.abs(ends - best) < SAME_OPTIMUM_TOLERANCE).mean())


def trace_table(part: str, column: str, ascents: Sequence[Ascent[State]]) -> pd.DataFrame:
    """Return a row per start and iteration, with the objective in the column of this name."""
    tables = []
    for start, ascent in enumerate(ascents):
        keys = {"part": part, "start": start, "iteration": np.arange(len(ascent.objective))}
        tables.append(pd.DataFrame({**keys, column: ascent.objective}))
    return pd.concat(tables)
