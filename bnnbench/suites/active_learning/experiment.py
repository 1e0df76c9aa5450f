"""Label one row at a time, fit again, and score, with several rules for the choice of rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, NamedTuple, Self

import numpy as np

from bnnbench.constraints import Checked, Count, ListOf, OneOf, Whole
from bnnbench.data import Source
from bnnbench.experiment.splits.fitting import score
from bnnbench.experiment.splits.repetitions import Fits, RepeatedArms, refit
from bnnbench.experiment.store.unit_store import Rows
from bnnbench.identity import no_identity
from bnnbench.search.rows_to_label import choose_by_distance
from bnnbench.suites.active_learning import DISTANCE, KIND, LABELS, RANDOM, VARIANCE
from bnnbench.types import Split, Table, UserError


@dataclass(frozen=True)
class Pools(Checked):
    """The table of another data set, with one split for each repetition.

    The training part of a split consists of the labelled rows and the pool, in this order. Split k
    permutes the rows with a generator seeded with `(seed, k)`.

    Attributes:
        source: the data set.
        start: number of rows that are labelled at first.
        additions: number of rows that will be labelled, one at a time.
        test: number of test rows.
        pool: maximum number of rows in the pool.
        repetitions: number of splits.
        seed: of the permutations.
    """

    identity_name = "bnnbench.suites.active_learning.pools.Pools"
    source: Source
    start: Annotated[int, Whole(2)] = 20
    additions: Count = 9
    test: Count = 100
    pool: Count = 1000
    repetitions: Annotated[int, Whole(2)] = 40
    seed: Annotated[int, Whole(0)] = 0
    key: ClassVar[str] = "experiment"

    @property
    def name(self) -> str:
        """The name of the data set."""
        return self.source.name

    def load(self) -> Table:
        """Load the table and split it.

        Raises:
            UserError: if it has too few rows, or its rows are grouped.
        """
        table = self.source.load()
        rows, needed = len(table.targets), self.start + self.additions + self.test
        if rows < needed:
            raise UserError(
                f"experiment.test: {table.name} has {rows} rows, but experiment.start, "
                f"experiment.additions and experiment.test need {needed}; choose fewer.",
                "experiment.test",
                "too_many_rows",
            )
        if self.pool < self.additions:
            raise UserError(
                f"experiment.pool must be at least experiment.additions={self.additions}, not "
                f"{self.pool}.",
                "experiment.pool",
                "too_small",
            )
        if table.groups is not None:
            raise UserError(
                "experiment=active_learning would divide the groups of dataset.group; leave it "
                "out.",
                "dataset.group",
                "grouped",
            )
        return replace(table, splits=tuple(self._split(k, rows) for k in range(self.repetitions)))

    def _split(self, index: int, rows: int) -> Split:
        order = np.random.RandomState([self.seed, index]).permutation(rows)
        pool_start = self.start + self.test
        pool = order[pool_start : pool_start + self.pool]
        train = np.concatenate([order[: self.start], pool])
        return Split(index, train, order[self.start : pool_start])


SCORES = ("rmse", "log_likelihood", "crps")


class Choice(NamedTuple):
    """The data that a rule uses to choose a row of the pool.

    Attributes:
        epistemic: variance of the prediction of each row of the pool, `[K]`.
        pool: standardised inputs of the pool, `[K, D]`, in the order of the permutation.
        labelled: standardised inputs of the labelled rows, `[N, D]`.
    """

    epistemic: np.ndarray
    pool: np.ndarray
    labelled: np.ndarray


ARMS: Mapping[str, Callable[[Choice], int]] = {
    RANDOM: lambda choice: 0,
    VARIANCE: lambda choice: int(choice.epistemic.argmax()),
    DISTANCE: lambda choice: int(choose_by_distance(choice.pool, choice.labelled, 1)[0][0]),
}
"""Index in the pool of the row to label: the next of the permutation, the one with the largest
epistemic variance, or the one farthest from all labelled rows. The first of equal rows is chosen,
so a constant variance chooses like chance."""


@dataclass(frozen=True, kw_only=True)
class ActiveLearning(RepeatedArms):
    """Compare rules that choose the next row to label (Hernández-Lobato & Adams 2015, section 5.2).

    All rules start with the same labelled rows and have the same pool and test rows. After each
    label, the method is fitted again to the labelled rows, which alone determine the scales of
    inputs and target. Fits of the same step have the same random numbers.

    Attributes:
        arms: the rules, `random` among them.
        start: see `Pools`; part of the identity of the data set, like the other numbers of rows.
        additions: see `Pools`.
        test: see `Pools`.
        pool: see `Pools`.
        repetitions: see `Pools`.
    """

    identity_name = "bnnbench.suites.active_learning.experiment.ActiveLearning"
    arms: Annotated[tuple[str, ...], ListOf(OneOf(*ARMS), order="distinct")]
    start: int = no_identity()
    additions: int = no_identity()
    test: int = no_identity()
    pool: int = no_identity()
    repetitions: int = no_identity()
    kind: ClassVar[str] = KIND
    baseline: ClassVar[str] = RANDOM

    def resolved(self) -> Self:
        names = ("start", "additions", "test", "pool", "repetitions")
        sizes = {name: getattr(self, name) for name in names}
        dataset = Pools(self.dataset, **sizes, seed=self.seed)
        return super(ActiveLearning, replace(self, dataset=dataset)).resolved()

    @property
    def fits(self) -> float:
        rows = (self.start + self.additions) / len(self.table.splits[0].train)
        return len(self.arms) * (self.additions + 1) * rows

    def repetition(self, split: Split) -> Mapping[str, Rows]:
        return {LABELS: label_rows(self, self.table, split)}


def label_rows(plan: ActiveLearning, table: Table, split: Split) -> list[dict[str, Any]]:
    """Return the rows of one repetition in `LABELS`.

    Args:
        plan: the arms, the numbers of rows, and the settings of the fits.
        table: the data set.
        split: the labelled rows and the pool, and the test rows.
    """
    labelled = {arm: split.train[: plan.start].tolist() for arm in plan.arms}
    pools = {arm: split.train[plan.start :].tolist() for arm in plan.arms}
    rows: list[dict[str, Any]] = []
    path = "active learning", split.index
    for step in range(plan.additions + 1):
        asked = [np.concatenate([split.test, pools[arm], labelled[arm]]) for arm in plan.arms]
        fits = refit(plan.fitting, table, [*labelled.values()], asked, *path, step)
        for r, arm in enumerate(plan.arms):
            scores = _scores(fits, table, split, r)
            count, row = len(labelled[arm]), math.nan
            if step < plan.additions:
                choice = _choice(fits, r, len(split.test), len(pools[arm]))
                row = pools[arm].pop(ARMS[arm](choice))
                labelled[arm].append(row)
            rows.append(
                {"repetition": split.index, "arm": arm, "labels": count, "row": row, **scores}
            )
    return rows


def _scores(fits: Fits, table: Table, split: Split, replica: int) -> dict[str, float]:
    """Return the scores of the test rows, which come first."""
    diverged = bool(fits.posterior.diverged[replica])
    scores, arrays = score(table, split, split.test, fits.prediction, replica, diverged)
    deviation = float(np.sqrt(arrays["epistemic_variance"]).mean())
    return {**{name: scores[name] for name in SCORES}, "epistemic_deviation": deviation}


def _choice(fits: Fits, replica: int, tests: int, pool: int) -> Choice:
    """Return what a rule may use; test rows, the pool and the labelled rows were asked for."""
    ends = [tests, tests + pool]
    _, epistemic, _ = np.split(fits.prediction.epistemic_variance()[replica].cpu().numpy(), ends)
    _, unlabelled, labelled = np.split(fits.asked[replica].cpu().numpy(), ends)
    return Choice(epistemic, unlabelled, labelled)
