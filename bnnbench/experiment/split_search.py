"""The hyper-parameter search of a group of splits, resumable after every evaluation."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bnnbench.experiment import trial_log
from bnnbench.experiment.fitting import Fitting
from bnnbench.experiment.folds import Folds
from bnnbench.experiment.protocol import cross_validate, trial_from
from bnnbench.experiment.trial_log import TrialLog
from bnnbench.random_streams import derive_seed
from bnnbench.search.base import Search, Trial
from bnnbench.settings import Dimension
from bnnbench.types import Split


@dataclass(frozen=True)
class SplitSearch:
    """What is searched, and how.

    Attributes:
        search: how values are suggested.
        space: the searched hyper-parameters.
        fitting: what the candidates are fitted with.
        workers: cores for suggestions, where many splits advance in lockstep.
    """

    search: Search
    space: tuple[Dimension, ...]
    fitting: Fitting
    workers: int = 1


def search_values(
    task: SplitSearch, splits: Sequence[Split], folds: Folds, files: Sequence[Path]
) -> list[list[Trial]]:
    """The trials of each split, from wherever the last attempt left them.

    Args:
        task: what is searched.
        splits: that advance in lockstep.
        folds: of `make_folds`.
        files: the trial log of each split.
    """
    iterations = task.search.iterations
    histories = [trial_log.read(file) for file in files]
    # Splits in lockstep go on together, so that the stack is the one of an uninterrupted run.
    start = min(min(len(history) for history in histories), iterations)
    logs = [TrialLog(file, history[:start]) for file, history in zip(files, histories, strict=True)]
    for iteration in range(start, iterations):
        began = time.perf_counter()
        values = _suggest(task, splits, [log.trials for log in logs], iteration)
        suggested = time.perf_counter()
        scores = cross_validate(
            task.fitting, splits, folds, values, iteration, task.search.objective
        )
        seconds = (time.perf_counter() - began) / len(splits)
        for log, value, fold in zip(logs, values, scores, strict=True):
            log.add(trial_from(value, fold, seconds, (suggested - began) / len(splits)))
    return [log.trials for log in logs]


def _suggest(
    task: SplitSearch, splits: Sequence[Split], histories: Sequence[list[Trial]], iteration: int
) -> list[dict[str, float]]:
    from joblib import Parallel, delayed

    seed = task.fitting.seed
    jobs = [
        delayed(task.search.suggest)(
            task.space, history, derive_seed(seed, split.index, "suggest", iteration)
        )
        for split, history in zip(splits, histories, strict=True)
    ]
    # Many splits in lockstep on a GPU leave the CPU's cores to their Gaussian processes.
    return Parallel(n_jobs=min(task.workers, len(jobs)))(jobs)
