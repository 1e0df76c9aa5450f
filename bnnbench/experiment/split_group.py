"""Search, fit and score a group of splits in lockstep, and save each of them."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from bnnbench.data.fingerprint import subset_fingerprints
from bnnbench.experiment import trial_log
from bnnbench.experiment.environment import hardware
from bnnbench.experiment.fitting import FitSettings
from bnnbench.experiment.folds import Folds, make_folds
from bnnbench.experiment.protocol import SplitResult, final_fit, out_of_fold
from bnnbench.experiment.split_files import (
    DIAGNOSIS,
    MIXTURE,
    OBJECTIVE,
    OUT_OF_FOLD,
    PREDICTIONS,
    SEARCH,
    SPLITS,
    TRAINING,
)
from bnnbench.experiment.split_search import SplitSearch, run_search
from bnnbench.experiment.unit_store import Arrays, UnitStore
from bnnbench.methods.shared.contract import Method
from bnnbench.search.base import Trial, best
from bnnbench.settings import Evaluation
from bnnbench.types import Split, Table

Row = dict[str, Any]


@dataclass(frozen=True)
class SplitRun:
    """One of the runs whose splits are computed together.

    Attributes:
        columns: first columns of its rows.
        method: its method; members differ only in what `Method.merge_for_stacking` supports.
        store: the store of its splits.
    """

    columns: Mapping[str, Any]
    method: Method
    store: UnitStore


def run_splits(
    runs: Sequence[SplitRun],
    fitting: FitSettings,
    search: SplitSearch | None,
    evaluation: Evaluation,
    folds: int,
    table: Table,
    splits: Mapping[str, Split],
) -> None:
    """Run a group of splits; finished ones are computed again, but not saved again.

    Args:
        runs: several only if nothing is searched and no folds are fitted.
        fitting: settings of the first run's fits.
        search: None if nothing is searched.
        evaluation: settings of the scoring.
        folds: number of folds of the cross-validation.
        table: the data set.
        splits: by name of their unit.
    """
    started = time.process_time()
    units, group = list(splits), list(splits.values())
    histories: list[list[Trial]] = [[] for _ in group]
    made: Folds | None = None
    if search or evaluation.out_of_fold:
        made = make_folds(fitting, table, group, folds)
    if search and made:
        files = [runs[0].store.file(unit, trial_log.SUFFIX) for unit in units]
        histories = run_search(search, group, made, files)
    values = [best(history).values if history else {} for history in histories]
    stacked = replace(fitting, method=_merged_method([run.method for run in runs], len(group)))
    outcomes = final_fit(stacked, table, group * len(runs), values, evaluation)
    held_out: list[Arrays] = [{} for _ in group]
    if evaluation.out_of_fold and made:
        held_out = list(out_of_fold(fitting, table, group, made, values))
    space = search.space if search else ()
    tested = subset_fingerprints(table, [split.test for split in group])
    trained = subset_fingerprints(table, [split.train for split in group])
    shared = {
        "cpu_seconds": (time.process_time() - started) / len(outcomes),
        **hardware(fitting.device),
        "bits": bits_depend_on(fitting),
    }
    for k, run in enumerate(runs):
        for s, (unit, split) in enumerate(splits.items()):
            if run.store.finished(unit):
                continue
            outcome = outcomes[k * len(group) + s]
            bounds = " ".join(d.name for d in space if d.at_bound(values[s][d.name]))
            hyper = {**run.method.fixed_hyper(), **values[s], **outcome.fixed}
            prints = {"fingerprint": tested[s], "training_fingerprint": trained[s]}
            row = _row(run.columns, split, prints, histories[s], hyper, bounds, outcome, shared)
            tables = {SPLITS: [row], SEARCH: _search_rows(split, histories[s])}
            run.store.save(unit, tables, _arrays(outcome, held_out[s]))


def bits_depend_on(fitting: FitSettings) -> str:
    """Return `program` if every processor gives the same bits, else `processor`."""
    on_cpu = fitting.device == "cpu" and fitting.training.dtype == "float32"
    return "program" if on_cpu and fitting.method.portable else "processor"


def _merged_method(methods: Sequence[Method], each: int) -> Method:
    first, *others = methods
    if not others:
        return first
    method = first.merge_for_stacking(others, each)
    assert method is not None  # checked by `can_stack_with`
    return method


def _arrays(outcome: SplitResult, held_out: Arrays) -> dict[str, Arrays]:
    files = {
        PREDICTIONS: outcome.predictions,
        OUT_OF_FOLD: held_out,
        TRAINING: outcome.training,
        OBJECTIVE: outcome.objective,
        MIXTURE: outcome.mixture,
        DIAGNOSIS: outcome.diagnosis,
    }
    return {name: arrays for name, arrays in files.items() if arrays}


def _row(
    columns: Mapping[str, Any],
    split: Split,
    fingerprints: Mapping[str, str],
    history: Sequence[Trial],
    hyper: Mapping[str, float],
    at_bound: str,
    outcome: SplitResult,
    shared: Mapping[str, Any],
) -> Row:
    """Return the row of a split in `splits.csv`.

    Its seconds are those of search, final fit and test predictions; `cpu_seconds` also include the
    out-of-fold predictions. The fingerprints of its parts pair splits of different runs.
    """
    search_seconds = math.fsum(trial.seconds for trial in history)
    return {
        **{name: value for name, value in columns.items() if name != "seed"},
        "split": split.index,
        "seed": columns["seed"],
        "training_rows": len(split.train),
        "test_rows": len(split.test),
        **fingerprints,
        "parameters": outcome.parameters,
        **outcome.scores,
        "search_seconds": search_seconds,
        "fit_seconds": outcome.fit_seconds,
        "predict_seconds": outcome.predict_seconds,
        "total_seconds": search_seconds + outcome.fit_seconds + outcome.predict_seconds,
        **shared,
        "diverged": int(outcome.diverged),
        "at_bound": at_bound,
        **{f"hp.{name}": value for name, value in hyper.items()},
        **{f"diag.{name}": value for name, value in outcome.diagnostics.items()},
    }


def _search_rows(split: Split, history: Sequence[Trial]) -> list[Row]:
    return [
        {
            "split": split.index,
            "iteration": iteration,
            **{f"hp.{name}": value for name, value in trial.values.items()},
            "objective": trial.objective,
            **{f"fold_{fold}": score for fold, score in enumerate(trial.folds)},
            "diverged": int(trial.diverged),
            "seconds": trial.seconds,
            "suggest_seconds": trial.suggest_seconds,
        }
        for iteration, trial in enumerate(history)
    ]
