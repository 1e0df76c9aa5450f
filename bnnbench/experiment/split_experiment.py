"""The split experiment: search, final fit and scores on every train/test split of a data set."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from bnnbench.checks import check_int
from bnnbench.data import Source
from bnnbench.data.fingerprint import fingerprint
from bnnbench.data.splits import choose_splits
from bnnbench.experiment import split_files, trial_log
from bnnbench.experiment.base import Experiment, Member
from bnnbench.experiment.fitting import Fitting
from bnnbench.experiment.known_values import in_target_units, known_and_open
from bnnbench.experiment.split_cost import fits_stack, group_seconds
from bnnbench.experiment.split_group import SplitRun, run_splits
from bnnbench.experiment.split_plan import data_in_words, search_in_words, training_in_words
from bnnbench.experiment.split_search import SplitSearch
from bnnbench.experiment.unit_store import UnitStore
from bnnbench.identity import no_identity
from bnnbench.likelihoods.base import Likelihood
from bnnbench.methods.shared import compilation
from bnnbench.methods.shared.contract import Method
from bnnbench.search.base import Search
from bnnbench.settings import Dimension, Evaluation, Network, Training
from bnnbench.types import Split, Table, UserError

COLUMNS = (
    "experiment",
    "dataset",
    "method",
    "divergence",
    "likelihood",
    "loss",
    "depth",
    "seed",
)
"""Names of a run that its rows repeat."""


@dataclass(frozen=True, kw_only=True)
class SplitExperiment(Experiment):
    """One method on one data set (Cinelli et al. 2021, section 4.7.3).

    Attributes:
        dataset: where the table comes from.
        method: what is fitted.
        likelihood: what the method's outputs say, for tables: the method holds its own.
        search: how hyper-parameters are chosen.
        network: the architecture.
        training: settings of the fits.
        evaluation: settings of the scoring.
        bounds: by name, between which values a hyper-parameter is searched.
        known: by name, values that the data set fixes of what the method was given no value for.
        in_target_units: the same of precisions in the units of the target: each fit multiplies
            them by the variance of the targets that it is trained on.
        seed: of everything random.
        device: `cpu` or `cuda`.
        splits: which to run: `all`, a count or a list; whichever they are, a run is the same.
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
    known: Mapping[str, float]
    in_target_units: Mapping[str, float]
    seed: int
    device: str
    splits: Any = no_identity("all")
    loaded: Table | None = no_identity(None)
    kind: ClassVar[str] = split_files.KIND
    unit_noun: ClassVar[str] = "split"
    step_noun: ClassVar[str] = "evaluations"

    def resolved(self) -> Self:
        """With the table, and what hangs on it: whole batches, the compiler, the bounds in use."""
        method = replace(self.method, **known_and_open(self.method, self.known))
        converted = in_target_units(method, self.in_target_units)
        given = method.fixed().keys() | converted.keys()
        free = [name for name in method.hyper_names if name not in given]
        space = [_dimension(name, self.bounds.get(name)) for name in free]
        bounds = {d.name: (float(d.low), float(d.high)) for d in space}
        table = self.dataset.load()
        most = max(len(split.train) for split in table.splits)
        training = self.training.for_rows(most)
        steps = math.ceil(len(table.splits[0].train) / int(training.batch_size)) * training.epochs
        searched = steps * self.search.iterations if free else 0
        folds = bool(free) or self.evaluation.out_of_fold  # no other fit is worth compiling for
        fused = _fuse(training.compile, searched, self.device, method) if folds else "never"
        training = replace(training, compile=fused)
        own = getattr(method, "likelihood", self.likelihood)
        network = self.network
        if not method.trains_network:  # so that what it has no use for makes no other run
            network, training = Network(depth=0), Training(batch_size=1, epochs=1, final_epochs=1)
        return replace(
            self, method=method, likelihood=own, network=network, training=training,
            bounds=bounds, known={}, in_target_units=converted, loaded=table,
        )  # fmt: skip

    def check(self) -> None:
        check_int("seed", self.seed, least=0)
        self.method.check(self.table.inputs.shape[1], self.network)
        if self._fits_folds:
            self._check_folds()
        largest = max(len(split.train) for split in self.table.splits)
        if self.method.most_rows is not None and largest > self.method.most_rows:
            raise UserError(
                f"method={self.method.label} takes training parts of at most "
                f"{self.method.most_rows} rows, and those of {self.table.name} have {largest}."
            )
        if self.space and not self.search.searches:
            self.search.suggest(self.space, (), 0)  # says what it needs instead
        choose_splits(self.table, self.splits)

    def _check_folds(self) -> None:
        groups = self.table.groups
        parts = [
            split.train if groups is None else np.unique(groups[split.train])
            for split in self.table.splits
        ]
        least = min(len(part) for part in parts)
        if self.search.folds > least:
            raise UserError(
                f"search.folds must be at most {least}, the training "
                f"{'rows' if groups is None else 'groups'} of {self.table.name}, not "
                f"{self.search.folds}."
            )

    def remarks(self) -> tuple[str, ...]:
        return self.table.remarks

    @property
    def table(self) -> Table:
        """The data set."""
        assert self.loaded is not None, "only a resolved experiment has its table"
        return self.loaded

    @property
    def space(self) -> tuple[Dimension, ...]:
        """The searched hyper-parameters; those with a fixed value are not in it."""
        return tuple(Dimension(name, *pair) for name, pair in self.bounds.items())

    @property
    def iterations(self) -> int:
        """Search evaluations per split: none where there is nothing to search."""
        return self.search.iterations if self.bounds else 0

    @property
    def fitting(self) -> Fitting:
        """What its fits need."""
        return Fitting(
            self.method, self.network, self.training, self.evaluation.samples, self.device,
            self.seed, self.in_target_units,
        )  # fmt: skip

    @property
    def title(self) -> str:
        return f"{self.method.label} on {self.table.name}"

    def identity(self) -> dict[str, Any]:
        """With the table's name and content: edited data is another run.

        A search that nothing is searched by counts with its folds alone, if any are fitted, and
        values in the units of the target where there are any.
        """
        table = {"name": self.table.name, "content": fingerprint(self.table)}
        identity = {**super().identity(), "table": table}
        if not self.in_target_units:
            del identity["in_target_units"]
        if not self.bounds:
            identity["search"] = {"folds": self.search.folds if self._fits_folds else None}
        return identity

    def names(self) -> dict[str, Any]:
        divergence = getattr(self.method, "divergence", None)
        return {
            "dataset": self.table.name,
            "method": self.method.label,
            "family": self.method.family,
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
            "made": self.table.truth is not None,
            "target": self.table.target,
            "training_part": self.evaluation.training_part,
            "initial_points": getattr(self.search, "initial_points", 0),
        }

    def place(self) -> tuple[str, ...]:
        names = self.names()
        model = "-".join(str(names[part]) for part in ("divergence", "likelihood", "loss"))
        variant = f"depth{self.network.depth}-{model}-seed{self.seed}"
        return (self.table.name, self.method.label, variant)

    @cached_property  # progress asks twice a second
    def _chosen(self) -> dict[str, Split]:
        wanted = choose_splits(self.table, self.splits)
        return {f"split-{s.index:02d}": s for s in self.table.splits if s.index in wanted}

    def units(self) -> tuple[str, ...]:
        return tuple(self._chosen)

    @property
    def lockstep(self) -> bool:
        """Whether all splits advance together: on a GPU, or if the method asks."""
        return self.device == "cuda" or self.method.stack_splits

    @property
    def _fits_folds(self) -> bool:
        return bool(self.iterations or self.evaluation.out_of_fold)

    def groups(self, units: Sequence[str]) -> tuple[tuple[str, ...], ...]:
        """All in lockstep, else one or, where no folds are fitted, a few.

        Where folds are fitted they are a stack already; without, a step of a single split is
        mostly launching.
        """
        long = self.method.gradients > 1 and self.method.native
        size = len(units) if self.lockstep else 1 if self._fits_folds or long else self._fits_stack
        return tuple(tuple(units[k : k + size]) for k in range(0, len(units), size))

    @property
    def _fits_stack(self) -> int:
        most = max(len(split.test) for split in self.table.splits)
        return fits_stack(self.network, self.training, self.evaluation.samples * most)

    def prepare(self) -> None:
        if self.iterations:
            self.search.load()

    def stacks_with(self, other: Experiment) -> bool:
        """Where nothing is searched, runs that differ only in what their method can stack."""
        assert isinstance(other, SplitExperiment)
        if self._fits_folds or self.method.together([other.method], 1) is None:
            return False
        return self._identity_but_method == other._identity_but_method

    @cached_property  # reads the whole table, and every run of a sweep is held against every other
    def _identity_but_method(self) -> dict[str, Any]:
        return {name: part for name, part in self.identity().items() if name != "method"}

    def stack_room(self, alike: int) -> int:
        """On a GPU all of them; on the CPU as many as fill a stack."""
        if self.lockstep:
            return alike
        return self._fits_stack // len(self.groups(self.units())[0])

    @classmethod
    def run_group(cls, members: Sequence[Member], units: Sequence[str], workers: int = 1) -> None:
        first = members[0].experiment
        assert isinstance(first, SplitExperiment)
        runs = []
        for experiment, store in members:
            assert isinstance(experiment, SplitExperiment)
            runs.append(SplitRun(experiment.columns, experiment.method, store))
        search, cores = None, workers if first.lockstep else 1
        if first.iterations:
            search = SplitSearch(first.search, first.space, first.fitting, cores)
        splits = {unit: first._chosen[unit] for unit in units}
        run_splits(
            runs, first.fitting, search, first.evaluation, first.search.folds, first.table, splits
        )

    @property
    def columns(self) -> dict[str, Any]:
        """Its names that stand in every row of `splits.csv`."""
        names = {"experiment": self.label, **self.names()}
        return {name: names[name] for name in COLUMNS}

    def steps(self, unit: str, store: UnitStore) -> tuple[int, int]:
        """Evaluations, and the final fit as one more."""
        total = self.iterations + 1
        if store.finished(unit):
            return total, total
        return min(trial_log.count(store.file(unit, trial_log.SUFFIX)), self.iterations), total

    def share(self, unit: str, store: UnitStore) -> float:
        """Evaluations and final fit by the seconds that they take."""
        done, total = self.steps(unit, store)
        if done == total:
            return 1.0
        final, whole = self._seconds(0), self._seconds(self.iterations)
        return (1 - final / whole) * done / max(1, self.iterations)

    def _seconds(self, iterations: int) -> float:
        """Of a group of splits with so many evaluations each, on a CPU."""
        if not self.method.trains_network:
            rows = len(self.table.splits[0].train)
            fits = 1 + self.search.folds * self.evaluation.out_of_fold
            return len(self.groups(self.units())[0]) * fits * self.method.seconds(rows)
        networks = self.training.samples * self.method.gradients
        return group_seconds(
            self.network,
            replace(self.training, samples=networks),
            rows=len(self.table.splits[0].train),
            batch=int(getattr(self.method, "batch_size", self.training.batch_size)),
            splits=len(self.groups(self.units())[0]),
            iterations=iterations,
            folds=self.search.folds,
            out_of_fold=self.evaluation.out_of_fold,
            native=self.device == "cpu" and self.method.native,
        )

    def plan(self) -> dict[str, str]:
        data = data_in_words(self.table, tuple(self._chosen.values()))
        search = search_in_words(self.space, self.iterations, self.search.folds)
        if not self.method.trains_network:
            return data | search
        return data | search | training_in_words(self.network, self.training)

    def memory(self) -> float:
        splits = len(self.groups(self.units())[0])
        replicas = splits * (self.search.folds if self._fits_folds else 1)
        rows, columns = self.table.inputs.shape
        tested = max(len(split.test) for split in self.table.splits)
        data = 3 * 4.0 * replicas * rows * (columns + 1)  # as read, standardised and shuffled
        predicted = 3 * 8.0 * splits * tested * self.evaluation.samples
        return data + predicted

    def cost(self, workers: int) -> float:
        """Its training steps times what one takes on a CPU."""
        groups = self.groups(self.units())
        each = self._seconds(self.iterations)
        return each * len(groups) / (1 if self.lockstep else min(workers, len(groups)))


def _dimension(name: str, pair: Any) -> Dimension:
    if not isinstance(pair, list | tuple) or len(pair) != 2:
        raise UserError(f"method.{name} is searched but has no bounds [low, high].")
    return Dimension(name, *pair)


def _fuse(wanted: str, steps: int, device: str, method: Method) -> str:
    """`always` or `never`: on a CPU with a compiler, where the search is long enough."""
    if wanted != "auto":
        return wanted
    long = device == "cpu" and steps >= compilation.WORTHWHILE_STEPS
    return "always" if long and method.fusible and compilation.available() else "never"
