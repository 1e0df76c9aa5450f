"""The split experiment: search, final fit and scores for every train/test split of a data set."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from bnnbench.data.splits import subset_fingerprints
from bnnbench.experiment.base import Experiment, Member, Stackable
from bnnbench.experiment.fitting import FitSettings
from bnnbench.experiment.folds import make_folds
from bnnbench.experiment.protocol import SplitResult, final_fit, out_of_fold
from bnnbench.experiment.provenance import hardware
from bnnbench.experiment.reference_fit import reference_seconds
from bnnbench.experiment.run_folder import Arrays
from bnnbench.experiment.split_files import SEARCH, SPLITS
from bnnbench.experiment.split_plan import SplitPlan
from bnnbench.experiment.split_search import TRIALS, SplitSearch, run_search
from bnnbench.methods.shared.contract import Method
from bnnbench.search.base import Trial, best
from bnnbench.types import Split

FINGERPRINTS = ("fingerprint", "training_fingerprint")
"""Columns with the hashes of the test part and the training part."""


@dataclass(frozen=True, kw_only=True)
class SplitExperiment(SplitPlan, Stackable):
    """One method on one data set (Cinelli et al. 2021, section 4.7.3)."""

    identity_name = "bnnbench.experiment.split_experiment.SplitExperiment"

    def prepare(self) -> None:
        if self.iterations:
            self.search.load()

    def can_stack_with(self, other: Experiment) -> bool:
        """Whether nothing is searched and the runs differ only in what the method can stack."""
        assert isinstance(other, SplitExperiment)
        if self.fits_folds or self.method.merge_for_stacking([other.method], 1) is None:
            return False
        return self._identity_but_method == other._identity_but_method

    @cached_property  # reads the whole table, and all runs of a sweep are compared pairwise
    def _identity_but_method(self) -> dict[str, Any]:
        return {name: part for name, part in self.identity().items() if name != "method"}

    def max_stack_size(self, n_runs: int) -> int:
        """Return all of them in lockstep, else as many as fill a stack on a CPU."""
        if self.lockstep:
            return n_runs
        return self._stack_size // len(self.groups(self.units())[0])

    @classmethod
    def run_group(cls, members: Sequence[Member], units: Sequence[str], workers: int = 1) -> None:
        """Search, fit and score a group of splits in lockstep, and save each of them.

        Finished splits are computed again, but not saved again. There are several members only if
        nothing is searched and no folds are fitted.
        """
        plans = [member.experiment for member in members]
        first, stores = plans[0], [member.store for member in members]
        assert isinstance(first, SplitExperiment)
        group = [first.requested[unit] for unit in units]
        search = SplitSearch(
            first.search, first.space, first.fitting, workers if first.lockstep else 1
        )
        logs = [stores[0].file(unit, TRIALS) for unit in units]
        resumed, started = any(log.exists() for log in logs), time.process_time()
        folds = None
        if first.fits_folds:
            folds = make_folds(first.fitting, first.table, group, first.search.folds)
        histories: list[list[Trial]] = [[] for _ in group]
        if first.iterations and folds:
            histories = run_search(search, group, folds, logs)
        values = [best(history).values if history else {} for history in histories]
        stacked = replace(first.fitting, method=_stacked_method(plans, len(group)))
        results = final_fit(stacked, first.table, group * len(plans), values, first.evaluation)
        held_out: Sequence[Mapping[str, Arrays]] = [{} for _ in group]
        if first.evaluation.out_of_fold and folds:
            saved = first.evaluation.save_fold_predictions
            held_out = out_of_fold(first.fitting, first.table, group, folds, values, saved)
        seconds = time.process_time() - started
        parts = [part for split in group for part in (split.test, split.train)]
        prints = subset_fingerprints(first.table, parts)
        shared = {
            "cpu_seconds": math.nan if resumed else seconds / len(results),
            "reference_seconds": reference_seconds(),
            **hardware(first.device),
            "bits": bits_depend_on(first.fitting),
        }
        for k, (plan, store) in enumerate(zip(plans, stores, strict=True)):
            assert isinstance(plan, SplitExperiment)
            for s, unit in enumerate(units):
                if not store.finished(unit):
                    result, history = results[k * len(group) + s], histories[s]
                    both = dict(zip(FINGERPRINTS, prints[2 * s : 2 * s + 2], strict=True))
                    row = _row(plan, group[s], both, history, values[s], result, shared)
                    tables = {SPLITS: [row], SEARCH: _search_rows(group[s], history)}
                    arrays = {**result.arrays, **held_out[s]}
                    store.save(unit, tables, {name: a for name, a in arrays.items() if a})


def bits_depend_on(fitting: FitSettings) -> str:
    """Return `program` if every processor gives the same bits, else `processor`."""
    on_cpu = fitting.device == "cpu" and fitting.training.dtype == "float32"
    return "program" if on_cpu and fitting.method.portable else "processor"


def _stacked_method(plans: Sequence[Experiment], replicas_each: int) -> Method:
    """Return the method that trains the replicas of all these experiments in one stack."""
    first, *others = [plan.method for plan in plans if isinstance(plan, SplitExperiment)]
    method = first.merge_for_stacking(others, replicas_each) if others else first
    assert method is not None  # checked by `can_stack_with`
    return method


def _row(
    plan: SplitPlan,
    split: Split,
    fingerprints: Mapping[str, str],
    history: Sequence[Trial],
    values: Mapping[str, float],
    result: SplitResult,
    shared: Mapping[str, Any],
) -> dict[str, Any]:
    """Return the row of a split in `splits.csv`.

    Its seconds are those of search, final fit and test predictions; `cpu_seconds` also include the
    out-of-fold predictions, and are missing if the search was resumed. The fingerprints of its
    parts pair splits of different runs.
    """
    search_seconds = math.fsum(trial.seconds for trial in history)
    searched = plan.space if history else ()
    hyper = {**plan.method.fixed_hyper(), **values, **result.fixed}
    return {
        **{name: value for name, value in plan.columns.items() if name != "seed"},
        "split": split.index,
        "seed": plan.seed,
        "training_rows": len(split.train),
        "test_rows": len(split.test),
        **fingerprints,
        "parameters": result.parameters,
        **result.scores,
        "search_seconds": search_seconds,
        "fit_seconds": result.fit_seconds,
        "predict_seconds": result.predict_seconds,
        "total_seconds": search_seconds + result.fit_seconds + result.predict_seconds,
        **shared,
        "diverged": int(result.diverged),
        "at_bound": " ".join(d.name for d in searched if d.at_bound(values[d.name])),
        **{f"hp.{name}": value for name, value in hyper.items()},
        **{f"diag.{name}": value for name, value in result.diagnostics.items()},
    }


def _search_rows(split: Split, history: Sequence[Trial]) -> list[dict[str, Any]]:
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
