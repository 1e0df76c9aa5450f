"""The split experiment: search, final fit and scores on every train/test split of a data set."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar, Self

import numpy as np

from bnnbench.checks import check_int
from bnnbench.data import Source
from bnnbench.experiment import split_files, trial_log
from bnnbench.experiment.base import Experiment, Member
from bnnbench.experiment.protocol import Fitting
from bnnbench.experiment.split_group import SplitRun, run_splits
from bnnbench.experiment.split_search import SplitSearch
from bnnbench.experiment.unit_store import UnitStore
from bnnbench.identity import no_identity
from bnnbench.likelihoods.base import Likelihood
from bnnbench.methods.shared import compilation
from bnnbench.methods.shared.contract import Method
from bnnbench.search.base import Search
from bnnbench.settings import Dimension, Evaluation, Network, Training
from bnnbench.types import Split, Table, UserError

# Replicas to a stack without a search, and the activations of a layer that fill it before. For one
# hidden layer of 100 units, 10 weight samples and minibatches of 32 on one CPU core, 5 at once take
# 0.5 to 0.65 of the time of one by one; more gain little, and two or three layers, whose steps are
# all computing, neither gain nor lose. Of 927 rows at once 5 take 1.3 times as long as one by one.
STACK = 5
STACK_ACTIVATIONS = STACK * 10 * 32 * 100

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
    seed: int
    device: str
    splits: Any = no_identity("all")
    loaded: Table | None = no_identity(None)
    kind: ClassVar[str] = split_files.KIND
    unit_noun: ClassVar[str] = "split"
    step_noun: ClassVar[str] = "evaluations"

    def resolved(self) -> Self:
        """With the table, and what hangs on it: whole batches, the compiler, the bounds in use."""
        open_ = set(self.method.hyper_names) - self.method.fixed().keys()
        known: dict[str, Any] = {n: value for n, value in self.known.items() if n in open_}
        method = replace(self.method, **known)
        free = [name for name in method.hyper_names if name not in method.fixed()]
        bounds = {name: _pair(name, self.bounds.get(name)) for name in free}
        for name, pair in bounds.items():
            Dimension(name, *pair)  # says what is wrong with it before any data are read
        table = self.dataset.load()
        most = max(len(split.train) for split in table.splits)
        training = self.training.for_rows(most)
        steps = math.ceil(len(table.splits[0].train) / int(training.batch_size)) * training.epochs
        searched = steps * self.search.iterations if free else 0
        training = replace(training, compile=_fuse(training.compile, searched, self.device))
        own = getattr(method, "likelihood", self.likelihood)
        return replace(
            self, method=method, likelihood=own, training=training, bounds=bounds, known={},
            loaded=table,
        )  # fmt: skip

    def check(self) -> None:
        check_int("seed", self.seed, least=0)
        self.method.check(self.table.inputs.shape[1], self.network)
        rows = min(len(split.train) for split in self.table.splits)
        if self._fits_folds and self.search.folds > rows:
            raise UserError(
                f"search.folds must be at most {rows}, the training rows of "
                f"{self.table.name}, not {self.search.folds}."
            )
        if self.space and self.search.iterations == 0:
            self.search.suggest(self.space, (), 0)  # says what a search of no steps needs
        choose_splits(self.table, self.splits)

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
        samples = self.evaluation.samples
        return Fitting(self.method, self.network, self.training, samples, self.device, self.seed)

    @property
    def title(self) -> str:
        return f"{self.method.label} on {self.table.name}"

    def identity(self) -> dict[str, Any]:
        """With the table's content: edited data is another run."""
        return {**super().identity(), "table": fingerprint(self.table)}

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
        size = len(units) if self.lockstep else 1 if self._fits_folds else self._stack
        return tuple(tuple(units[k : k + size]) for k in range(0, len(units), size))

    @property
    def _stack(self) -> int:
        """How many replicas fit into one stack on the CPU without being slower for it."""
        width = max(self.network.widths, default=1)
        each = self.training.samples * int(self.training.batch_size) * width
        return max(1, min(STACK, STACK_ACTIVATIONS // each))

    def stacks_with(self, other: Experiment) -> bool:
        """Where nothing is searched, runs that differ only in what their method can stack."""
        assert isinstance(other, SplitExperiment)
        if self._fits_folds or self.method.together([other.method], 1) is None:
            return False
        same = replace(other, method=self.method, loaded=self.loaded)
        data = fingerprint(self.table) == fingerprint(other.table)
        return data and Experiment.identity(same) == Experiment.identity(self)

    def stack_room(self, alike: int) -> int:
        """On a GPU all of them; on the CPU as many as fill a stack."""
        if self.lockstep:
            return alike
        return self._stack // len(self.groups(self.units())[0])

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

    def cost(self, workers: int) -> float:
        """Its training steps times what one takes on a CPU."""
        rows, training = len(self.table.splits[0].train), self.training
        batch = int(getattr(self.method, "batch_size", training.batch_size))
        groups = self.groups(self.units())
        widths = self.network.widths
        # Weights between hidden layers cost as much as 2.5 activations each, whatever the batch.
        units = batch * (sum(widths) or 1) + 2.5 * sum(a * b for a, b in pairwise(widths))
        size = training.samples * units * len(groups[0])
        searched = self.iterations * training.epochs * _step_seconds(size * self.search.folds)
        # The folds are fitted once more for the out-of-fold predictions.
        fits = 1 + self.search.folds * self.evaluation.out_of_fold
        final = training.final_epochs * _step_seconds(size * fits)
        stacks = len(groups) / (1 if self.lockstep else min(workers, len(groups)))
        return stacks * math.ceil(rows / batch) * (searched + final)


def _step_seconds(activations: float) -> float:
    """Of one step: launching its operations, and computing (measured on Boston)."""
    return 1e-4 + 4.4e-9 * activations


def _pair(name: str, pair: Any) -> tuple[float, float]:
    if not isinstance(pair, list | tuple) or len(pair) != 2:
        raise UserError(f"method.{name} is searched but has no bounds [low, high].")
    return (pair[0], pair[1])


def _fuse(wanted: str, steps: int, device: str) -> str:
    """`always` or `never`: on a CPU with a compiler, where the search is long enough."""
    if wanted != "auto":
        return wanted
    pays = device == "cpu" and steps >= compilation.WORTHWHILE_STEPS and compilation.available()
    return "always" if pays else "never"


def fingerprint(table: Table) -> str:
    """A digest of the data and its splits, so that edited data is another run."""
    state = hashlib.sha256()
    arrays = [table.inputs, table.targets]
    arrays += [part.astype(np.int64) for s in table.splits for part in (s.train, s.test)]
    for array in arrays:
        state.update(np.ascontiguousarray(array).tobytes())
    return state.hexdigest()[:16]


def choose_splits(table: Table, wanted: Any) -> tuple[int, ...]:
    """Split numbers from `splits=all`, a count (`5`) or a list (`[0,3]`).

    Raises:
        UserError: if they are not all there.
    """
    available = [split.index for split in table.splits]
    last = f"{table.name} has splits 0 to {available[-1]}"
    if wanted == "all":
        return tuple(available)
    if isinstance(wanted, int) and not isinstance(wanted, bool):
        if not 1 <= wanted <= len(available):
            raise UserError(f"splits must be 1 to {len(available)} for {table.name}, not {wanted}.")
        return tuple(available[:wanted])
    if not isinstance(wanted, list) or not wanted or not all(type(k) is int for k in wanted):
        raise UserError(f"splits must be all, a count or a list such as [0,3], not {wanted!r}.")
    missing = [k for k in wanted if k not in available]
    if missing:
        raise UserError(f"splits: {last}, not {missing[0]}.")
    return tuple(sorted(set(wanted)))
