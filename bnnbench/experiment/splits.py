"""Runs some splits to the end, from wherever the last attempt left them."""

from __future__ import annotations

import json
import math
import os
import signal
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from functools import cache
from pathlib import Path

import numpy as np
import torch
from filelock import FileLock

from bnnbench.experiment import trial_log
from bnnbench.experiment.plan import Plan
from bnnbench.experiment.protocol import (
    Outcome,
    cross_validate,
    final_fit,
    make_folds,
    out_of_fold,
    trial_from,
)
from bnnbench.experiment.run_folder import RunFolder
from bnnbench.experiment.stacking import stacked
from bnnbench.files import write_atomically, write_text
from bnnbench.random_streams import derive_seed
from bnnbench.search.base import Trial, best
from bnnbench.types import Split


def run_group(row: Sequence[Plan], numbers: Sequence[int], parent: int | None = None) -> None:
    """Searches, fits and scores a group of splits in lockstep, saving as it goes.

    Args:
        row: the runs to advance together; several only where nothing is searched.
        numbers: splits to advance together, one of `groups` of each run.
        parent: process to follow into death, so that a killed run leaves no orphan writing.
    """
    if parent is not None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides what Ctrl-C means
        _die_with(parent)
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)  # momenta of dead units decay into denormals, which are slow
    with ExitStack() as locks:
        # An orphan of a killed run may still be on its last evaluation of the first split. In one
        # order everywhere, so that two sweeps cannot wait for each other.
        for folder in sorted((plan.folder for plan in row), key=lambda folder: folder.root):
            folder.create()
            locks.enter_context(FileLock(folder.split_lock(numbers[0])))
        _run_group(row, numbers)


@cache
def _die_with(parent: int) -> None:
    """Ends this process soon after its parent is gone; whatever it was writing is atomic."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.2)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _run_group(row: Sequence[Plan], numbers: Sequence[int]) -> None:
    plan, folder = row[0], row[0].folder
    splits = [split for split in plan.table.splits if split.index in numbers]
    histories = _search(plan, folder, splits) if plan.iterations else [[] for _ in splits]
    chosen = [best(history).values if history else {} for history in histories]
    outcomes = final_fit(stacked(row, len(splits)), splits * len(row), chosen)
    if plan.evaluation.out_of_fold:
        for split, held_out in zip(splits, out_of_fold(plan, splits, chosen), strict=True):
            _save_arrays(folder.split_out_of_fold(split.index), held_out)
    for k, run in enumerate(row):
        own = outcomes[k * len(splits) : (k + 1) * len(splits)]
        for split, history, values, outcome in zip(splits, histories, chosen, own, strict=True):
            if not run.folder.scores(split.index).exists():
                _save(run, run.folder, split, history, values, outcome)


def _search(plan: Plan, folder: RunFolder, splits: Sequence[Split]) -> list[list[Trial]]:
    files = [folder.journal(split.index) for split in splits]
    histories = [trial_log.read(file) for file in files]
    # Splits in lockstep go on together, so that the stack is the one of an uninterrupted run.
    start = min(min(len(history) for history in histories), plan.iterations)
    histories = [history[:start] for history in histories]
    for file, history in zip(files, histories, strict=True):
        trial_log.rewrite(file, history)
    if start == plan.iterations:
        return histories
    folds = make_folds(plan, splits)
    for iteration in range(start, plan.iterations):
        began = time.perf_counter()
        values = _suggest(plan, splits, histories, iteration)
        suggested = time.perf_counter()
        scores = cross_validate(plan, splits, folds, values, iteration)
        seconds = (time.perf_counter() - began) / len(splits)
        for file, history, value, fold in zip(files, histories, values, scores, strict=True):
            trial = trial_from(value, fold, seconds, (suggested - began) / len(splits))
            trial_log.append(file, trial)
            history.append(trial)
    return histories


def _suggest(
    plan: Plan, splits: Sequence[Split], histories: Sequence[list[Trial]], iteration: int
) -> list[dict[str, float]]:
    from joblib import Parallel, delayed

    jobs = [
        delayed(plan.search.suggest)(
            plan.space, history, derive_seed(plan.seed, split.index, "suggest", iteration)
        )
        for split, history in zip(splits, histories, strict=True)
    ]
    # Many splits in lockstep on a GPU leave the CPU's cores to their Gaussian processes.
    workers = min(plan.workers, len(jobs)) if plan.lockstep else 1
    return Parallel(n_jobs=workers)(jobs)


def _save(
    plan: Plan,
    folder: RunFolder,
    split: Split,
    history: Sequence[Trial],
    values: dict[str, float],
    outcome: Outcome,
) -> None:
    """Writes predictions first and scores last: scores on disk mean the split is finished.

    The seconds are those of the protocol: search, final fit and test predictions.
    """
    search_seconds = math.fsum(trial.seconds for trial in history)
    seconds = search_seconds + outcome.fit_seconds + outcome.predict_seconds
    row = {
        "experiment": plan.experiment,
        "dataset": plan.table.name,
        "method": plan.method.label,
        "divergence": plan.divergence,
        "likelihood": plan.likelihood,
        "loss": plan.loss,
        "depth": plan.network.depth,
        "split": split.index,
        "seed": plan.seed,
        "training_rows": len(split.train),
        "parameters": outcome.parameters,
        **outcome.scores,
        "search_seconds": search_seconds,
        "fit_seconds": outcome.fit_seconds,
        "predict_seconds": outcome.predict_seconds,
        "total_seconds": seconds,
        "diverged": int(outcome.diverged),
        "at_bound": " ".join(d.name for d in plan.space if d.at_bound(values[d.name])),
        **{f"hp.{name}": v for name, v in {**plan.method.fixed(), **values}.items()},
        **{f"diag.{name}": v for name, v in outcome.diagnostics.items()},
    }
    for path, arrays in (
        (folder.split_predictions(split.index), outcome.predictions),
        (folder.split_training(split.index), outcome.training),
        (folder.split_objective(split.index), outcome.objective),
    ):
        if arrays:
            _save_arrays(path, arrays)
    write_text(folder.scores(split.index), json.dumps(row, indent=1))


def _save_arrays(path: Path, arrays: Mapping[str, np.ndarray]) -> None:
    write_atomically(path, lambda file: np.savez_compressed(file, **arrays))  # type: ignore[arg-type]
