"""The plan of a split experiment: its settings, checks, identity and cost."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import fmean, median
from typing import Annotated, Any, ClassVar, Self

from bnnbench.constraints import Whole, check_settings
from bnnbench.data import Source
from bnnbench.data.splits import data_fingerprint, fingerprint, select_splits
from bnnbench.experiment.kinds.base import HasPlan, HasSteps
from bnnbench.experiment.splits.fitting import (
    FitSettings,
    fixed_original_units,
    fixed_values,
    least_bytes,
)
from bnnbench.experiment.splits.folds import check_folds, check_held_out
from bnnbench.experiment.splits.split_cost import (
    COMPILATION_SECONDS,
    describe_data,
    describe_search,
    describe_training,
    group_bytes,
    group_seconds,
    max_stacked_replicas,
)
from bnnbench.experiment.splits.split_search import TRIALS, TrialLog
from bnnbench.experiment.store.provenance import scaled_seconds
from bnnbench.experiment.store.split_files import KIND, SEARCH, SPLITS
from bnnbench.experiment.store.unit_store import UnitStore
from bnnbench.identity import no_identity
from bnnbench.likelihoods import Likelihood
from bnnbench.methods.shared import compilation
from bnnbench.methods.shared.contract import Method
from bnnbench.search.base import Search
from bnnbench.settings import BATCH_SIZE, Dimension, Evaluation, Network, Training
from bnnbench.system import memory
from bnnbench.types import Split, Table, UserError

COLUMNS = ("experiment", "dataset", "method", "divergence", "likelihood", "loss", "depth", "seed")
"""Metadata of the run that each row of `splits.csv` repeats."""

TIMES = ("total_seconds", "cpu_seconds", "reference_seconds")
"""Columns of `splits.csv` from which the time of further splits is estimated."""


@dataclass(frozen=True, kw_only=True)
class SplitPlan(HasSteps, HasPlan):
    """What is fitted to which splits (Cinelli et al. 2021, section 4.7.3).

    Attributes:
        dataset: source of the table.
        method: the method to fit.
        likelihood: used only in tables, since the method has its own.
        search: how hyper-parameters are chosen.
        network: the architecture.
        training: settings of the fits.
        evaluation: settings of the scoring.
        bounds: lower and upper bounds of the searched hyper-parameters, by name, in standardised
            units.
        bounds_original_units: the same of precisions in original units, which replace those of
            `bounds`; each fit multiplies a tried value by the variance of its training targets.
        fixed: values that the data set fixes, in standardised units; used for hyper-parameters
            without a value.
        fixed_original_units: fixed precisions in original units; each fit multiplies them by the
            variance of its training targets.
        seed: of all random numbers.
        device: `cpu` or `cuda`.
        splits: splits to run: `all`, a count or a list; not part of the identity.
        loaded: the table, once `resolved`.
    """

    dataset: Source
    method: Method
    likelihood: Likelihood
    search: Search
    network: Network
    training: Training
    evaluation: Evaluation
    bounds: Mapping[str, Any]
    bounds_original_units: Mapping[str, Any]
    fixed: Mapping[str, float]
    fixed_original_units: Mapping[str, float]
    seed: Annotated[int, Whole(0)]
    device: str
    splits: Any = no_identity("all")
    loaded: Table | None = no_identity(None)
    kind: ClassVar[str] = KIND
    unit_noun: ClassVar[str] = "split"
    step_noun: ClassVar[str] = "evaluations"

    def resolved(self) -> Self:
        """Load the table and resolve batch size, compilation, fixed values and search space."""
        method = replace(self.method, **fixed_values(self.method, self.fixed))
        fixed = fixed_original_units(method, self.fixed_original_units)
        fixed_names = method.fixed_hyper().keys() | fixed.keys()
        free = [name for name in method.hyper_names if name not in fixed_names]
        search = self.search.for_method(method.hyper_names, free)
        space = [
            search.dimension(name, self.bounds, self.bounds_original_units)
            for name in (*free, *search.training_settings)
        ]
        table = self.dataset.load()
        most = max(len(split.train) for split in table.splits)
        training = self.training.with_batch_size(most)
        steps = math.ceil(len(table.splits[0].train) / int(training.batch_size)) * training.epochs
        searched = steps * search.iterations if space else 0
        # A single fit does not repay compilation.
        folds = bool(space) or self.evaluation.out_of_fold
        compiled = _resolve_compile(training.compile, searched, self.device, method)
        training = replace(training, compile=compiled if folds else "never")
        likelihood = getattr(method, "likelihood", self.likelihood)
        network = self.network
        if not method.trains_network:  # settings that it ignores must not change the identity
            network, training = Network(depth=0), Training(batch_size=1, epochs=1, final_epochs=1)
        return replace(
            self, method=method, likelihood=likelihood, network=network, training=training,
            search=search,
            bounds=_pairs(space, original_units=False),
            bounds_original_units=_pairs(space, original_units=True),
            fixed={}, fixed_original_units=fixed, loaded=table,
        )  # fmt: skip

    def check(self) -> None:
        check_settings(self, "experiment", ("seed", "device"))
        self.method.check_network(self.table.inputs.shape[1], self.network)
        self._check_memory()
        if self.fits_folds:
            check_folds(self.table, self.search.folds)
        if self.iterations and self.search.held_out_fraction is not None:
            check_held_out(self.table, self.search.held_out_fraction)
        self._check_grid()
        largest = max(len(split.train) for split in self.table.splits)
        if self.method.max_rows is not None and largest > self.method.max_rows:
            raise UserError(
                f"method={self.method.label} accepts at most {self.method.max_rows} training rows, "
                f"but the training parts of {self.table.name} have up to {largest}; choose another "
                "method.",
                "method",
                "too_many_rows",
            )
        if self.space and not self.search.searches:
            self.search.suggest(self.space, (), 0)  # raises an error with the missing values
        select_splits(self.table, self.splits)
        if self.table.log_target and self.kind != KIND:
            raise UserError(
                f"experiment={self.label} cannot be used with dataset.log_target; remove it.",
                "dataset.log_target",
                "not_supported",
            )

    def _check_memory(self) -> None:
        samples = self.training.samples, self.evaluation.samples
        needed = least_bytes(self.table, self.network, *samples)
        present = memory()
        if needed > present:
            raise UserError(
                f"this network and {samples[0]:,} weight samples (training.samples; "
                f"evaluation.samples: {samples[1]:,}) need more than {needed / 1e9:,.0f} GB, but "
                f"this machine has {present / 1e9:,.0f} GB of memory.",
                "network.width",
                "too_large",
            )

    def _check_grid(self) -> None:
        """Refuse declared values that the method does not accept, or that have no effect."""
        for dimension in self.space:
            if dimension.name != BATCH_SIZE:
                for value in dimension.values:
                    given: dict[str, Any] = {dimension.name: value}
                    replace(self.method, **given)  # raises the method's error
            elif not self.method.uses_batch_size:
                raise UserError(
                    f"search.values.batch_size has no effect with method={self.method.label}; "
                    "set it to null.",
                    "search.values.batch_size",
                    "no_effect",
                )

    def warnings(self) -> tuple[str, ...]:
        few = "the search is too short for more than random points: search.initial_points"
        points = self.search.random_points
        only_random = [f"{few} is {points}"] if 0 < self.iterations < points else []
        return (*self.table.warnings, *only_random)

    @property
    def table(self) -> Table:
        """The data set."""
        assert self.loaded is not None, "call `resolved` first"
        return self.loaded

    @property
    def space(self) -> tuple[Dimension, ...]:
        """The searched hyper-parameters."""
        in_units = self.bounds_original_units
        names = (*self.method.hyper_names, *self.search.training_settings)
        searched = [name for name in names if name in {*self.bounds, *in_units}]
        return tuple(self.search.dimension(name, self.bounds, in_units) for name in searched)

    @property
    def iterations(self) -> int:
        """Search evaluations per split; 0 if nothing is searched."""
        return self.search.iterations if self.space else 0

    @property
    def fitting(self) -> FitSettings:
        """Settings of the fits."""
        return FitSettings(
            self.method, self.network, self.training, self.evaluation.samples, self.device,
            self.seed, self.fixed_original_units, tuple(self.bounds_original_units),
        )  # fmt: skip

    @property
    def title(self) -> str:
        return f"{self.method.label} on {self.table.name}"

    def identity(self) -> dict[str, Any]:
        """Add the name and content of the table, so that edited data make another run.

        Without a search only the number of folds counts, and only if folds are fitted. Precisions
        in original units count only if there are any.
        """
        table = {"name": self.table.name, "content": fingerprint(self.table)}
        identity = {**super().identity(), "table": table}
        for name in ("fixed_original_units", "bounds_original_units"):
            if not identity[name]:
                del identity[name]
        if not self.space:
            identity["search"] = {"folds": self.search.folds if self.fits_folds else None}
        return identity

    def metadata(self) -> dict[str, Any]:
        divergence = getattr(self.method, "divergence", None)
        return {
            "dataset": self.table.name,
            "data": data_fingerprint(self.table),
            "file": self.table.file,
            "method": self.method.label,
            "family": self.method.family,
            **self.method.metadata(),
            "divergence": divergence.name if divergence else "kl",
            "divergence_family": divergence.family if divergence else "kl",
            "order": divergence.order if divergence else None,
            "weight": divergence.weight if divergence else 1.0,
            "likelihood": self.likelihood.label,
            "loss": self.likelihood.loss.label,
            "depth": self.network.depth,
            "width": list(self.network.widths),
            "final_epochs": self.training.final_epochs,
            "seed": self.seed,
            "inputs": self.table.inputs.shape[1],
            "synthetic": self.table.truth is not None,
            "target": self.table.target,
            "smallest_target": float(self.table.targets.min()) if self.table.encodings else None,
            "score_training_rows": self.evaluation.score_training_rows,
            "initial_points": min(self.search.random_points, self.search.iterations),
        }

    def path_parts(self) -> tuple[str, ...]:
        metadata = self.metadata()
        model = "-".join(str(metadata[part]) for part in ("divergence", "likelihood", "loss"))
        variant = f"depth{self.network.depth}-{model}-seed{self.seed}"
        return (self.table.name, self.method.label, variant)

    @cached_property  # progress needs it twice a second
    def requested(self) -> dict[str, Split]:
        """The splits to run, by unit."""
        indices = select_splits(self.table, self.splits)
        return {f"split-{s.index:02d}": s for s in self.table.splits if s.index in indices}

    def units(self) -> tuple[str, ...]:
        return tuple(self.requested)

    @property
    def lockstep(self) -> bool:
        """Whether all splits are computed together: on a GPU, or if the method requires it.

        Not if each may choose its batch size, which the fits of a stack share.
        """
        together = self.device == "cuda" or self.method.stack_splits
        return together and not self.search.training_settings

    @property
    def fits_folds(self) -> bool:
        """Whether networks are fitted to cross-validation folds."""
        return bool(self.iterations or self.evaluation.out_of_fold)

    def groups(self, units: Sequence[str]) -> tuple[tuple[str, ...], ...]:
        """Group all splits in lockstep; otherwise each alone, or a few if no folds are fitted.

        Folds already form a stack. Without them, a step of a single split is mostly overhead.
        """
        long = self.method.gradients_per_epoch > 1 and self.method.native
        size = len(units) if self.lockstep else 1 if self.fits_folds or long else self._stack_size
        return tuple(tuple(units[k : k + size]) for k in range(0, len(units), size))

    @property
    def _stack_size(self) -> int:
        most = max(len(split.test) for split in self.table.splits)
        return max_stacked_replicas(self.network, self.training, self.evaluation.samples * most)

    @property
    def columns(self) -> dict[str, Any]:
        """Metadata that every row of `splits.csv` repeats."""
        metadata = {"experiment": self.label, **self.metadata()}
        return {name: metadata[name] for name in COLUMNS}

    def count_steps(self, unit: str, store: UnitStore) -> tuple[int, int]:
        """Count the evaluations, and the final fit as one more step."""
        total = self.iterations + 1
        if store.finished(unit):
            return total, total
        return min(TrialLog.count(store.file(unit, TRIALS)), self.iterations), total

    def progress(self, unit: str, store: UnitStore) -> float:
        """Weight evaluations and final fit by their estimated seconds."""
        done, total = self.count_steps(unit, store)
        if done == total:
            return 1.0
        final, whole = self._seconds(0), self._seconds(self.iterations)
        return (1 - final / whole) * done / max(1, self.iterations)

    @property
    def uses_native(self) -> bool:
        """Whether native code computes parts of a fit, if it is available."""
        on_cpu = self.device == "cpu" and self.training.dtype == "float32"
        return on_cpu and self.method.trains_network

    def _seconds(self, iterations: int) -> float:
        """Estimate the seconds of a group of splits with this many evaluations each, on a CPU."""
        if not self.method.trains_network:
            rows = len(self.table.splits[0].train)
            fits = 1 + self.search.folds * self.evaluation.out_of_fold
            return len(self.groups(self.units())[0]) * fits * self.method.fit_seconds(rows)
        sizes = next((d.values for d in self.space if d.name == BATCH_SIZE), None)
        own = (int(getattr(self.method, "batch_size", self.training.batch_size)),)
        return fmean(self._group_seconds(iterations, int(size)) for size in sizes or own)

    def _group_seconds(self, iterations: int, batch: int) -> float:
        """Estimate the seconds of a group of splits with minibatches of so many rows."""
        networks, searched = (
            max(method.gradients_per_epoch, getattr(method, "n_networks", 1))
            for method in (self.method, self.method.search_method)
        )
        return group_seconds(
            self.network,
            replace(self.training, samples=self.training.samples * networks),
            rows=len(self.table.splits[0].train),
            batch=batch,
            splits=len(self.groups(self.units())[0]),
            iterations=iterations,
            folds=self.search.folds,
            searched=self.search.scored_parts * searched / networks,
            validated=self.search.held_out_fraction or 1,
            out_of_fold=self.evaluation.out_of_fold,
            native=self.method.native_cost * (self.device == "cpu" and self.method.native),
            test_samples=self.evaluation.samples if self.method.is_stochastic else networks,
        )

    def seconds_taken(self, unit: str, store: UnitStore) -> float | None:
        """Return the seconds of a split on a CPU as fast as this one, None if it was resumed.

        They are CPU seconds, which other load on the machine hardly changes, and include the
        out-of-fold predictions. On a GPU, they are elapsed seconds. What the first evaluation takes
        longer than the others is left out: it also compiles.
        """
        rows = store.rows(unit, SPLITS) if store.finished(unit) else ()
        if not rows:
            return None
        row = {name: float(rows[0][name]) for name in TIMES}
        first, *others = [float(trial["seconds"]) for trial in store.rows(unit, SEARCH)] or [0.0]
        once = max(0.0, first - median(others)) if others else 0.0
        if self.device == "cuda":
            return row["total_seconds"] - once
        if math.isnan(row["cpu_seconds"]):
            return None
        scaled = scaled_seconds(row["cpu_seconds"], row["reference_seconds"])
        return scaled * (1 - once / row["total_seconds"]) if once else scaled

    def plan(self) -> dict[str, str]:
        data = describe_data(self.table, tuple(self.requested.values()))
        search = describe_search(self.space, self.search)
        if not self.method.trains_network:
            return data | search
        batch = None if self.search.training_settings else self.training.batch_size
        return data | search | describe_training(self.network, self.training, batch)

    def memory(self) -> float:
        splits = len(self.groups(self.units())[0])
        folds = self.search.folds if self.fits_folds else 1
        return group_bytes(self.table, splits, folds, self.evaluation.samples)

    def cost(self, workers: int) -> float:
        """Estimate the seconds of all splits on a CPU."""
        groups = self.groups(self.units())
        each = self._seconds(self.iterations)
        compiles = self.training.compile == "always" and not self.method.native
        fixed = COMPILATION_SECONDS if compiles else 0.0
        return fixed + each * len(groups) / (1 if self.lockstep else min(workers, len(groups)))


def _pairs(space: Sequence[Dimension], original_units: bool) -> dict[str, tuple[float, float]]:
    """Return the bounds that are in these units, by name."""
    own = [d for d in space if d.original_units == original_units]
    return {d.name: (float(d.low), float(d.high)) for d in own}


def _resolve_compile(setting: str, steps: int, device: str, method: Method) -> str:
    """Resolve `auto` to `always` on a CPU with a compiler if the search is long enough."""
    if setting != "auto":
        return setting
    long = device == "cpu" and steps >= compilation.MIN_STEPS
    return (
        "always" if long and method.benefits_from_compile and compilation.available() else "never"
    )
