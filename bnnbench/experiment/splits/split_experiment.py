"""The split experiment: search, final fit and scores for every train/test split of a data set."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any, ClassVar

from bnnbench.cpp.library import library
from bnnbench.data.splits import subset_fingerprints
from bnnbench.experiment.kinds.base import HasGroups
from bnnbench.experiment.splits.fitting import FitSettings
from bnnbench.experiment.splits.folds import make_folds, validation_parts
from bnnbench.experiment.splits.protocol import SplitResult, final_fit, out_of_fold
from bnnbench.experiment.splits.split_plan import SplitPlan
from bnnbench.experiment.splits.split_search import TRIALS, SplitSearch, run_search
from bnnbench.experiment.store.provenance import (
    code_label,
    code_version_of,
    hardware,
    reference_seconds,
)
from bnnbench.experiment.store.split_files import (
    AT_BOUND,
    DIAGNOSTIC,
    HYPER,
    MIXTURE,
    SEARCH,
    SPLIT_KEY,
    SPLITS,
)
from bnnbench.experiment.store.unit_store import Arrays, Rows, UnitResults, UnitStore
from bnnbench.search.base import Trial, best
from bnnbench.types import Split


@dataclass(frozen=True, kw_only=True)
class SplitExperiment(SplitPlan, HasGroups):
    """One method on one data set (Cinelli et al. 2021, section 4.7.3).

    Attributes:
        scores_mixture: class attribute, whether `score_unit` reads the predictive mixture.
    """

    identity_name = "bnnbench.experiment.split_experiment.SplitExperiment"
    scores_mixture: ClassVar[bool] = False

    def prepare(self) -> None:
        if self.iterations > self.search.random_points:
            for module in self.search.slow_imports:
                import_module(module)

    def score_unit(
        self, split: Split, tables: Mapping[str, Rows], arrays: Mapping[str, Arrays]
    ) -> UnitResults:
        """Return the tables and the arrays to save for a split; by default those given.

        Args:
            split: the split.
            tables: `SPLITS`, with one row, and `SEARCH`.
            arrays: by file.
        """
        return tables, arrays

    def run_group(self, units: Sequence[str], store: UnitStore, workers: int = 1) -> None:
        """Search, fit and score a group of splits in lockstep, and save each of them.

        Finished splits are computed again, but not saved again.
        """
        group, table, fitting = [self.requested[unit] for unit in units], self.table, self.fitting
        search = SplitSearch(self.search, self.space, fitting, workers if self.lockstep else 1)
        logs = [store.file(unit, TRIALS) for unit in units]
        resumed, started = any(log.exists() for log in logs), time.process_time()
        histories: list[list[Trial]] = [[] for _ in group]
        if self.iterations:
            validated = validation_parts(fitting, table, group, self.search)
            histories = run_search(search, group, validated, logs)
        values = [best(history).values if history else {} for history in histories]
        fitting = fitting.with_batch_size(values[0])
        keeps_mixture = self.evaluation.save_predictive_mixture
        evaluation = replace(
            self.evaluation, save_predictive_mixture=keeps_mixture or self.scores_mixture
        )
        results = final_fit(fitting, table, group, values, evaluation)
        held_out: Sequence[Mapping[str, Arrays]] = [{} for _ in group]
        if self.evaluation.out_of_fold:
            folds = make_folds(fitting, table, group, self.search.folds)
            saved = self.evaluation.save_fold_predictions
            held_out = out_of_fold(fitting, table, group, folds, values, saved)
        seconds = time.process_time() - started
        parts = [part for split in group for part in (split.test, split.train)]
        prints = subset_fingerprints(table, parts)
        shared = {
            "cpu_seconds": math.nan if resumed else seconds / len(results),
            "reference_seconds": reference_seconds(),
            **hardware(self.device),
        }
        for s, (unit, result, history) in enumerate(zip(units, results, histories, strict=True)):
            if not store.finished(unit):
                both = dict(zip(SPLIT_KEY, prints[2 * s : 2 * s + 2], strict=True))
                own = {**shared, **code_columns(self, store.codes(unit))}
                row = _row(self, group[s], both, history, values[s], result, own)
                tried = [fitting.standardised(t.values, result.target_scale) for t in history]
                tables = {SPLITS: [row], SEARCH: _search_rows(group[s], history, tried)}
                arrays = {k: a for k, a in {**result.arrays, **held_out[s]}.items() if a}
                saved_tables, saved_arrays = self.score_unit(group[s], tables, arrays)
                kept = {k: a for k, a in saved_arrays.items() if k != MIXTURE or keeps_mixture}
                store.save(unit, saved_tables, kept)


def bits_depend_on(fitting: FitSettings) -> str:
    """Return `program` if every processor gives the same bits, else `processor`."""
    on_cpu = fitting.device == "cpu" and fitting.training.dtype == "float32"
    return "program" if on_cpu and fitting.method.portable else "processor"


def code_columns(plan: SplitPlan, codes: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Return the columns `bits`, `native_code` and `code` of a split.

    Args:
        plan: the plan.
        codes: the versions of the code that worked on the split, from `UnitStore.codes`. An
            interrupted search may have been continued with or without native code.
    """
    labels = dict.fromkeys(map(code_label, codes))
    complete = library().code is not None and all(code.get("native", True) for code in codes)
    return {
        "bits": bits_depend_on(plan.fitting) if complete else "processor",
        "native_code": ("used" if complete else "missing") if plan.uses_native else "none",
        "code": " ".join(labels or [code_label(code_version_of(plan))]),
    }


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
    hyper = plan.fitting.standardised(values, result.target_scale)
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
        AT_BOUND: " ".join(d.name for d in searched if d.at_bound(values[d.name])),
        **{f"{HYPER}{name}": value for name, value in hyper.items()},
        **{f"{DIAGNOSTIC}{name}": value for name, value in result.diagnostics.items()},
    }


def _search_rows(
    split: Split, history: Sequence[Trial], tried: Sequence[Mapping[str, float]]
) -> list[dict[str, Any]]:
    """Return the rows of a split in `search.csv`, one per evaluation.

    Args:
        split: the split.
        history: its evaluations.
        tried: hyper-parameters of each evaluation, in the standardised units of the training part.
    """
    return [
        {
            "split": split.index,
            "iteration": iteration,
            **{f"{HYPER}{name}": tried[iteration][name] for name in trial.values},
            "objective": trial.objective,
            **{f"fold_{fold}": score for fold, score in enumerate(trial.folds)},
            "diverged": int(trial.diverged),
            "seconds": trial.seconds,
            "suggest_seconds": trial.suggest_seconds,
        }
        for iteration, trial in enumerate(history)
    ]
