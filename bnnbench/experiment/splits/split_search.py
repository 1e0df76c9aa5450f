"""The hyper-parameter search of a group of splits, resumable after every evaluation."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from bnnbench.experiment.splits.fitting import FitSettings
from bnnbench.experiment.splits.folds import Folds
from bnnbench.experiment.splits.protocol import cross_validate
from bnnbench.files import checksum, read_bytes, write_text
from bnnbench.random_streams import derive_seed
from bnnbench.search.base import Search, Trial
from bnnbench.settings import Dimension
from bnnbench.system import set_variables
from bnnbench.types import Split

TRIALS = "trials.jsonl"
"""Suffix of the trial log of a unit."""


class TrialLog:
    """The finished evaluations of a unit, in memory and on disk: one line each, with a checksum.

    The whole file is rewritten after every evaluation. It therefore always contains the search of a
    single process, even if two processes work on the same unit without seeing each other's locks.

    Attributes:
        path: of the file.
        trials: in order.
    """

    def __init__(self, path: Path, trials: Iterable[Trial] = ()) -> None:
        """Write exactly these trials to the file."""
        self.path, self.trials = path, list(trials)
        self._text = "".join(_line(trial) for trial in self.trials)
        self._write()

    def add(self, trial: Trial) -> None:
        """Append a trial and write it to disk."""
        self.trials.append(trial)
        self._text += _line(trial)
        self._write()

    def _write(self) -> None:
        # Not flushed: that can take as long as an evaluation, and damaged lines are recognised.
        write_text(self.path, self._text, flush=False)

    @staticmethod
    def read(path: Path) -> list[Trial]:
        """Read the finished evaluations, up to the first damaged line."""
        trials: list[Trial] = []
        for line in read_bytes(path).split(b"\n")[:-1] if path.is_file() else ():
            text, _, sum_ = line.rpartition(b"\t")
            if not text or sum_ != checksum(text).encode():
                break
            record = json.loads(text)
            trials.append(Trial(**{**record, "folds": tuple(record["folds"])}))
        return trials

    @staticmethod
    def count(path: Path) -> int:
        """Count the finished evaluations without parsing them."""
        return read_bytes(path).count(b"\n") if path.is_file() else 0


def _line(trial: Trial) -> str:
    # repr-exact floats and NaN survive the round trip, so a resumed search is bit-identical.
    text = json.dumps(asdict(trial))
    return f"{text}\t{checksum(text.encode())}\n"


@dataclass(frozen=True)
class SplitSearch:
    """A hyper-parameter search.

    Attributes:
        search: how values are suggested.
        space: the searched hyper-parameters.
        fitting: settings of the fits; the search fits their method's `search_method`.
        workers: cores for suggestions, if many splits are searched together.
    """

    search: Search
    space: tuple[Dimension, ...]
    fitting: FitSettings
    workers: int = 1


def run_search(
    task: SplitSearch, splits: Sequence[Split], folds: Folds, files: Sequence[Path]
) -> list[list[Trial]]:
    """Run or resume the search and return the trials of each split.

    Args:
        task: the search.
        splits: searched in lockstep.
        folds: the validation parts.
        files: the trial log of each split.
    """
    iterations = task.search.iterations
    histories = [TrialLog.read(file) for file in files]
    # All splits resume at the same iteration, in the same stack as in an uninterrupted run.
    start = min(min(len(history) for history in histories), iterations)
    logs = [TrialLog(file, history[:start]) for file, history in zip(files, histories, strict=True)]
    for iteration in range(start, iterations):
        started = time.perf_counter()
        values = _suggest(task, splits, [log.trials for log in logs], iteration)
        suggested = time.perf_counter()
        scores = cross_validate(
            task.fitting, splits, folds, values, iteration, task.search.objective
        )
        seconds = (time.perf_counter() - started) / len(splits)
        for log, value, fold in zip(logs, values, scores, strict=True):
            objective = float(np.mean(fold))  # NaN if any fold diverged
            suggesting = (suggested - started) / len(splits)
            log.add(Trial(value, objective, tuple(fold), seconds, suggesting))
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
    # With splits in lockstep on a GPU, the cores of the CPU are free for Gaussian processes.
    # New processes must import nothing from the current folder, which may be received.
    with set_variables(PYTHONSAFEPATH="1"):
        return list(Parallel(n_jobs=min(task.workers, len(jobs)))(jobs))
