"""Searches, fits and scores a group of splits in lockstep, and saves each of them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from bnnbench.data.fingerprint import fingerprints_of_parts
from bnnbench.experiment import trial_log
from bnnbench.experiment.environment import place
from bnnbench.experiment.fitting import Fitting
from bnnbench.experiment.folds import Folds, make_folds
from bnnbench.experiment.protocol import Outcome, final_fit, out_of_fold
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
from bnnbench.experiment.split_search import SplitSearch, search_values
from bnnbench.experiment.unit_store import Arrays, UnitStore
from bnnbench.methods.shared.contract import Method
from bnnbench.search.base import Trial, best
from bnnbench.settings import Evaluation
from bnnbench.types import Split, Table

Row = dict[str, Any]


@dataclass(frozen=True)
class SplitRun:
    """One of the runs whose splits advance together.

    Attributes:
        names: the first columns of its rows.
        method: its own; the others may differ from it in what `Method.together` can stack.
        store: where its splits go.
    """

    names: Mapping[str, Any]
    method: Method
    store: UnitStore


def run_splits(
    runs: Sequence[SplitRun],
    fitting: Fitting,
    search: SplitSearch | None,
    evaluation: Evaluation,
    folds: int,
    table: Table,
    splits: Mapping[str, Split],
) -> None:
    """Runs a group of splits; what is finished of it is computed again, but not saved again.

    Args:
        runs: several only where nothing is searched and no folds are fitted.
        fitting: what the first run's fits need.
        search: None where nothing is searched.
        evaluation: settings of the scoring.
        folds: of the cross-validation.
        table: the data set.
        splits: by the name of their unit.
    """
    units, group = list(splits), list(splits.values())
    histories: list[list[Trial]] = [[] for _ in group]
    made: Folds | None = None
    if search or evaluation.out_of_fold:
        made = make_folds(fitting, table, group, folds)
    if search and made:
        files = [runs[0].store.file(unit, trial_log.SUFFIX) for unit in units]
        histories = search_values(search, group, made, files)
    values = [best(history).values if history else {} for history in histories]
    stacked = replace(fitting, method=_together([run.method for run in runs], len(group)))
    outcomes = final_fit(stacked, table, group * len(runs), values, evaluation)
    held_out: list[Arrays] = [{} for _ in group]
    if evaluation.out_of_fold and made:
        held_out = list(out_of_fold(fitting, table, group, made, values))
    space = search.space if search else ()
    tested = fingerprints_of_parts(table, [split.test for split in group])
    here = place(fitting.device)
    for k, run in enumerate(runs):
        for s, (unit, split) in enumerate(splits.items()):
            if run.store.finished(unit):
                continue
            outcome = outcomes[k * len(group) + s]
            bounds = " ".join(d.name for d in space if d.at_bound(values[s][d.name]))
            hyper = {**run.method.fixed(), **values[s], **outcome.converted}
            row = _row(run.names, split, tested[s], histories[s], hyper, bounds, outcome, here)
            tables = {SPLITS: [row], SEARCH: _search_rows(split, histories[s])}
            run.store.save(unit, tables, _arrays(outcome, held_out[s]))


def _together(methods: Sequence[Method], each: int) -> Method:
    first, *others = methods
    if not others:
        return first
    method = first.together(others, each)
    assert method is not None  # `stacks_with` asked before
    return method


def _arrays(outcome: Outcome, held_out: Arrays) -> dict[str, Arrays]:
    every = {
        PREDICTIONS: outcome.predictions,
        OUT_OF_FOLD: held_out,
        TRAINING: outcome.training,
        OBJECTIVE: outcome.objective,
        MIXTURE: outcome.mixture,
        DIAGNOSIS: outcome.diagnosis,
    }
    return {name: arrays for name, arrays in every.items() if arrays}


def _row(
    names: Mapping[str, Any],
    split: Split,
    fingerprint: str,
    history: Sequence[Trial],
    hyper: Mapping[str, float],
    at_bound: str,
    outcome: Outcome,
    here: Mapping[str, str],
) -> Row:
    """The split's row; its seconds are those of search, final fit and test predictions.

    The fingerprint is that of its test part, by which splits of several runs are paired.
    """
    search_seconds = math.fsum(trial.seconds for trial in history)
    return {
        **{name: value for name, value in names.items() if name != "seed"},
        "split": split.index,
        "seed": names["seed"],
        "training_rows": len(split.train),
        "test_rows": len(split.test),
        "fingerprint": fingerprint,
        "parameters": outcome.parameters,
        **outcome.scores,
        "search_seconds": search_seconds,
        "fit_seconds": outcome.fit_seconds,
        "predict_seconds": outcome.predict_seconds,
        "total_seconds": search_seconds + outcome.fit_seconds + outcome.predict_seconds,
        **here,
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
