"""All runs of a sweep before it starts, so that its progress can be shown as one."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from hydra import compose
from hydra.errors import HydraException
from omegaconf.errors import OmegaConfBaseException

from bnnbench.cli.build import build
from bnnbench.cli.compose import CONFIG_NAME, configs_of, jobs_of, plain
from bnnbench.cli.endings import note
from bnnbench.experiment.run import Run
from bnnbench.experiment.stacking import stack_of
from bnnbench.types import UserError


def runs_of(words: Sequence[str]) -> list[Run]:
    """The runs that `bnnbench run -m WORDS` starts, but for those that are refused.

    Hydra must be initialised.
    """
    runs = []
    for job in jobs_of(list(words)):
        # What is wrong with a job it says itself, when its turn comes.
        with suppress(UserError, HydraException, OmegaConfBaseException):
            runs.append(build(plain(compose(CONFIG_NAME, job))))
    return runs


def composed_runs(words: Sequence[str], own: str | None = None) -> list[Run]:
    """The same before Hydra has started.

    Args:
        words: what follows `bnnbench run -m`.
        own: the folder of `--config-dir`.
    """
    runs = []
    with suppress(UserError):
        for config in configs_of(words, own=own):
            with suppress(UserError):
                runs.append(build(config))
    return runs


def tell_stacks_apart(runs: Sequence[Run]) -> None:
    """Says so where runs that would share a stack do not, since they run side by side."""
    shared = sum(len(stack_of(run, runs)) > 1 for run in runs)
    if shared:
        note(
            f"{shared} of these runs would train in common stacks one after the other; "
            "side by side each trains alone, and may differ by rounding."
        )
