"""Everything one run needs, decided before it starts."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch

from bnnbench.checks import check_int
from bnnbench.experiment.run_folder import RunFolder
from bnnbench.identity import digest
from bnnbench.methods.shared.contract import Method
from bnnbench.search.base import Search
from bnnbench.settings import Dimension, Evaluation, Network, Training
from bnnbench.types import Table, UserError

# Replicas to a stack without a search, and the activations of a layer that fill it before. For one
# hidden layer of 100 units, 10 weight samples and minibatches of 32 on one CPU core, 5 at once take
# 0.5 to 0.65 of the time of one by one; more gain little, and two or three layers, whose steps are
# all computing, neither gain nor lose. Of 927 rows at once 5 take 1.3 times as long as one by one.
STACK = 5
STACK_ACTIVATIONS = STACK * 10 * 32 * 100


@dataclass(frozen=True)
class Plan:
    """One method on one data set.

    Attributes:
        experiment: names the run's top folder.
        table: the data set.
        method: what is fitted.
        search: how hyper-parameters are chosen.
        space: the searched hyper-parameters; those with a fixed value are not in it.
        network: the architecture.
        training: settings of the fits.
        evaluation: settings of the scoring.
        divergence: label for tables.
        likelihood: label for tables.
        loss: label for tables.
        standard: whether likelihood and loss are so common that the folder need not name them.
        seed: of everything random.
        splits: numbers of the splits to run.
        device: `cpu` or `cuda`.
        workers: processes, on the CPU.
        outputs: folder of all runs.
        config: the resolved configuration, as recorded.
        identity: the part of it that can change a number.
    """

    experiment: str
    table: Table
    method: Method
    search: Search
    space: tuple[Dimension, ...]
    network: Network
    training: Training
    evaluation: Evaluation
    divergence: str
    likelihood: str
    loss: str
    standard: bool
    seed: int
    splits: tuple[int, ...]
    device: str
    workers: int
    outputs: Path
    config: Mapping[str, Any]
    identity: Mapping[str, Any]

    def __post_init__(self) -> None:
        check_int("seed", self.seed, least=0)
        check_int("workers", self.workers)
        self.method.check(self.table.inputs.shape[1], self.network)
        rows = min(len(split.train) for split in self.table.splits)
        if (self.iterations or self.evaluation.out_of_fold) and self.search.folds > rows:
            raise UserError(
                f"search.folds must be at most {rows}, the training rows of "
                f"{self.table.name}, not {self.search.folds}."
            )
        if self.space and self.search.iterations == 0:
            self.search.suggest(self.space, (), 0)  # says what a search of no steps needs

    @property
    def iterations(self) -> int:
        """Search evaluations per split: none where there is nothing to search."""
        return self.search.iterations if self.space else 0

    @cached_property  # reads the whole table, and progress asks twice a second
    def data(self) -> str:
        """The `fingerprint` of the table."""
        return fingerprint(self.table)

    @cached_property
    def folder(self) -> RunFolder:
        content = {**self.identity, "table": self.data, "splits": self.splits}
        model = (
            self.divergence if self.standard else f"{self.divergence}-{self.likelihood}-{self.loss}"
        )
        variant = f"depth{self.network.depth}-{model}-seed{self.seed}-{digest(content)}"
        return RunFolder.of(
            self.outputs, self.experiment, self.table.name, self.method.label, variant
        )

    @property
    def lockstep(self) -> bool:
        """Whether all splits advance together: on a GPU, or if the method asks."""
        return self.device == "cuda" or self.method.stack_splits

    @property
    def stack(self) -> int:
        """How many replicas fit into one stack on the CPU without being slower for it."""
        training, width = self.training, max(self.network.widths, default=1)
        return max(
            1, min(STACK, STACK_ACTIVATIONS // (training.samples * training.batch_size * width))
        )

    @property
    def groups(self) -> tuple[tuple[int, ...], ...]:
        """The splits that advance together: all in lockstep, else one or, unsearched, a few.

        Never a matter of the workers, so that their number changes no number. Where folds are
        fitted they are a stack already; without, a step of a single split is mostly launching.
        """
        alone = self.iterations or self.evaluation.out_of_fold
        size = len(self.splits) if self.lockstep else 1 if alone else self.stack
        return tuple(self.splits[k : k + size] for k in range(0, len(self.splits), size))

    @property
    def dtype(self) -> torch.dtype:
        return getattr(torch, self.training.dtype)


Report = Callable[[RunFolder], None]
"""Adds what readers look at (summary, figures) to a run whose numbers are all there."""


class Experiment(ABC):
    """What `bnnbench run experiment=NAME` does with a plan."""

    label: str

    def admit(self, method: type[Method]) -> None:
        """Raises `UserError` if the experiment has no use for such a method; most take any."""
        return

    @abstractmethod
    def run(self, plan: Plan, report: Report) -> RunFolder:
        """Runs or resumes, and returns the finished folder."""


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
