"""All runs of a sweep before it starts, so that its progress can be shown as one."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import suppress

from hydra import compose
from hydra.errors import HydraException
from omegaconf.errors import OmegaConfBaseException

from bnnbench.cli.build import build
from bnnbench.cli.compose import CONFIG_NAME, jobs_of, plain
from bnnbench.experiment.run import Run
from bnnbench.experiment.stacking import stack_of
from bnnbench.experiment.sweep_progress import SweepProgress
from bnnbench.types import UserError


def runs_of(words: Sequence[str]) -> SweepProgress | None:
    """The runs that `bnnbench run -m WORDS` starts; None where it is but one.

    Hydra must be initialised.
    """
    runs = _built(words)
    return SweepProgress(runs) if len(runs) > 1 else None


def side_by_side(words: Sequence[str]) -> None:
    """Says so where runs that would share a stack do not, since they run in processes apart."""
    runs = _built(words)
    shared = sum(len(stack_of(run, runs)) > 1 for run in runs)
    if shared:
        print(
            f"bnnbench: {shared} of these runs would train in common stacks one after the other; "
            "side by side each trains alone, and may differ by rounding.",
            file=sys.stderr,
        )


def _built(words: Sequence[str]) -> list[Run]:
    runs = []
    for job in jobs_of(list(words)):
        # What is wrong with a job it says itself, when its turn comes.
        with suppress(UserError, HydraException, OmegaConfBaseException):
            runs.append(build(plain(compose(CONFIG_NAME, job))))
    return runs
