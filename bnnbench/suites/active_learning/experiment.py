"""Label one row at a time, fit again, and score, with several rules for the choice of rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, NamedTuple, Self

import numpy as np
import torch

from bnnbench.constraints import ListOf, OneOf, check_settings
from bnnbench.experiment.acquisition import choose_by_distance
from bnnbench.experiment.base import Experiment, Member
from bnnbench.experiment.fitting import FitSettings, fit_task, predict, score
from bnnbench.experiment.split_experiment import SplitExperiment
from bnnbench.identity import no_identity
from bnnbench.preprocessing import standardise
from bnnbench.random_streams import Streams, derive_seed
from bnnbench.suites.active_learning.pools import Pools
from bnnbench.suites.active_learning.tables import KIND, LABELS, RANDOM
from bnnbench.types import Prediction, Split, Table, UserError

VARIANCE, DISTANCE = "variance", "distance"

SCORES = ("rmse", "log_likelihood", "crps")


class Choice(NamedTuple):
    """What a rule may use to choose a row of the pool.

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
class ActiveLearning(SplitExperiment):
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

    arms: Annotated[tuple[str, ...], ListOf(OneOf(*ARMS), order="distinct")]
    start: int = no_identity()
    additions: int = no_identity()
    test: int = no_identity()
    pool: int = no_identity()
    repetitions: int = no_identity()
    kind: ClassVar[str] = KIND
    unit_noun: ClassVar[str] = "repetition"

    def resolved(self) -> Self:
        names = ("start", "additions", "test", "pool", "repetitions")
        sizes = {name: getattr(self, name) for name in names}
        dataset = Pools(self.dataset, **sizes, seed=self.seed)
        return super(ActiveLearning, replace(self, dataset=dataset)).resolved()

    def check(self) -> None:
        super().check()
        check_settings(self, "experiment")
        if RANDOM not in self.arms:
            raise UserError(
                f"experiment.arms must contain {RANDOM}, with which the others are compared.",
                "experiment.arms",
                "no_random",
            )
        if self.space:
            raise UserError(
                f"experiment={self.label} searches nothing; give method.{self.space[0].name}=VALUE "
                "or search=none.",
                "search",
                "searched",
            )

    def groups(self, units: Sequence[str]) -> tuple[tuple[str, ...], ...]:
        """Compute each repetition alone: rounding, which depends on the stack, can change rows."""
        return tuple((unit,) for unit in units)

    @property
    def lockstep(self) -> bool:
        return False

    def can_stack_with(self, other: Experiment) -> bool:
        return False

    def _seconds(self, iterations: int) -> float:
        """Estimate the seconds of a repetition from those of a fit to the whole pool."""
        rows = (self.start + self.additions) / len(self.table.splits[0].train)
        fits = len(self.arms) * (self.additions + 1)
        return super()._seconds(iterations) * fits * rows

    @classmethod
    def run_group(cls, members: Sequence[Member], units: Sequence[str], workers: int = 1) -> None:
        """Run all rules of one repetition, each a replica of one stack."""
        ((plan, store),) = members
        assert isinstance(plan, ActiveLearning)
        for unit in units:
            rows = label_rows(plan, plan.table, plan.requested[unit])
            store.save(unit, {LABELS: rows}, {})


@torch.no_grad()
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
    for step in range(plan.additions + 1):
        asked = [np.concatenate([split.test, pools[arm], labelled[arm]]) for arm in plan.arms]
        fits = refit(plan.fitting, table, list(labelled.values()), asked, split.index, step)
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


class Fits(NamedTuple):
    """Fits of R replicas to their own rows.

    Attributes:
        prediction: of the rows that were asked for, original units.
        asked: standardised inputs of these rows, `[R, M, D]`.
        diverged: `[R]`.
    """

    prediction: Prediction
    asked: np.ndarray
    diverged: list[bool]


def refit(
    fitting: FitSettings,
    table: Table,
    rows: Sequence[Sequence[int]],
    asked: Sequence[np.ndarray],
    *path: int,
) -> Fits:
    """Fit R replicas in one stack, each to its own rows, and predict others.

    Args:
        fitting: settings of the fits.
        table: the data set.
        rows: the training rows of each replica.
        asked: the rows to predict, for each replica.
        path: seeds the random numbers, which all replicas share.
    """
    inputs, targets = [table.inputs[own] for own in rows], [table.targets[own] for own in rows]
    device = torch.device(fitting.device)
    data, scaler = standardise(inputs, targets, [0] * len(rows), device, fitting.dtype)
    seed = derive_seed(fitting.seed, "active learning", *path)
    streams = Streams([seed], data.groups, fitting.device, fitting.dtype)
    epochs = fitting.training.final_epochs
    posterior = fitting.method.fit(fit_task(fitting, data, scaler, [{}], epochs, streams))
    new = scaler.inputs([table.inputs[own] for own in asked])
    prediction = predict(fitting, posterior, scaler, new, streams)
    return Fits(prediction, new.cpu().numpy(), posterior.diverged.tolist())


def _scores(fits: Fits, table: Table, split: Split, replica: int) -> dict[str, float]:
    """Return the scores of the test rows, which come first."""
    scores, arrays = score(
        table, split, split.test, fits.prediction, replica, fits.diverged[replica]
    )
    deviation = float(np.sqrt(arrays["epistemic_variance"]).mean())
    return {**{name: scores[name] for name in SCORES}, "epistemic_deviation": deviation}


def _choice(fits: Fits, replica: int, tests: int, pool: int) -> Choice:
    """Return what a rule may use; test rows, the pool and the labelled rows were asked for."""
    ends = [tests, tests + pool]
    _, epistemic, _ = np.split(fits.prediction.epistemic_variance()[replica].cpu().numpy(), ends)
    _, unlabelled, labelled = np.split(fits.asked[replica], ends)
    return Choice(epistemic, unlabelled, labelled)
