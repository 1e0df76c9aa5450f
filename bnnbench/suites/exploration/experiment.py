"""Choose actions by predictions of their rewards, observe these, and fit again: a bandit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, Self

import numpy as np
import torch

from bnnbench.constraints import Between, Count, ListOf, OneOf, Positive, Whole, check_settings
from bnnbench.data.in_memory import InMemory
from bnnbench.experiment.splits.repetitions import Fits, RepeatedArms, refit
from bnnbench.experiment.store.unit_store import Rows
from bnnbench.identity import no_identity
from bnnbench.methods.linear import Linear
from bnnbench.methods.shared.contract import COVARIANCE, DRAWS, MARGINALS, Method
from bnnbench.random_streams import Streams, derive_seed
from bnnbench.suites.exploration import (
    ARMS,
    EPSILON,
    GREEDY,
    KIND,
    REGRET,
    STEPS,
    THOMPSON,
    UNIFORM,
)
from bnnbench.types import Split, Table

ACTIONS = 5
"""The number of actions. Tables have a row for each step and action, in this order."""


@dataclass(frozen=True, kw_only=True)
class Bandit(RepeatedArms):
    """Compare rules that choose actions on a wheel (Riquelme, Tucker & Snoek, ICLR 2018).

    Contexts are uniform in the unit disc. The first of five actions has an expected reward of 1.2
    and the others of 1, but outside the radius `delta` one of these, another in each quadrant, has
    50. All rules share the first choices: every action in turn. The method is fitted again after
    each batch of choices.

    Attributes:
        dataset: the first repetition, once `resolved`.
        delta: radius.
        noise: standard deviation of the rewards.
        steps: number of choices.
        batch: number of choices between two fits.
        repetitions: number of wheels.
        arms: the rules, `greedy` among them.
        epsilon: probability of a random choice under the rule of this name.
    """

    identity_name = "bnnbench.suites.exploration.experiment.Bandit"
    dataset: InMemory | None = no_identity(None)  # type: ignore[assignment]
    delta: Annotated[float, Between(0, 1)]
    noise: Positive
    steps: Count
    batch: Count
    repetitions: Annotated[int, Whole(2)]
    arms: Annotated[tuple[str, ...], ListOf(OneOf(*ARMS), order="distinct")]
    epsilon: Annotated[float, Between(0, 1)]
    kind: ClassVar[str] = KIND
    baseline: ClassVar[str] = GREEDY

    def resolved(self) -> Self:
        """Make the table of the first repetition; a split has the rows of a fit and of a batch."""
        check_settings(self, "experiment")
        table, _ = self.game(0)
        train, asked = np.arange(self.steps), np.arange(min(self.batch, self.steps) * ACTIONS)
        splits = tuple(Split(k, train, asked) for k in range(self.repetitions))
        source = InMemory(len(table.targets), table=replace(table, splits=splits))
        return super(Bandit, replace(self, dataset=source)).resolved()

    def game(self, repetition: int) -> tuple[Table, np.ndarray]:
        """Return the table of a repetition, whose targets are rewards, and the regrets `[T, K]`.

        The inputs of an action are the context and indicators of the action or, for a linear model,
        which needs them, the products of the indicators with 1 and the context. The regret is the
        expected reward of the best action less that of the action.
        """
        random = np.random.RandomState([self.seed, repetition])
        turn, area = random.uniform(size=(2, self.steps))
        angle, radius = 2 * np.pi * turn, np.sqrt(area)
        contexts = (radius * [np.cos(angle), np.sin(angle)]).T
        expected = np.ones((self.steps, ACTIONS))
        expected[:, 0] = 1.2
        outside = np.flatnonzero(radius > self.delta)
        expected[outside, 1 + (4 * turn[outside]).astype(int)] = 50
        rewards = expected + self.noise * random.standard_normal(expected.shape)
        chosen, own = np.tile(np.eye(ACTIONS), (self.steps, 1)), np.repeat(contexts, ACTIONS, 0)
        inputs = np.hstack([own, chosen])
        linear_network = self.method.trains_network and self.network.depth == 0
        if linear_network or isinstance(self.method, Linear):
            with_one = np.insert(own, 0, 1, axis=1)[:, None]
            inputs = np.where(chosen[..., None] > 0, with_one, 0).reshape(len(own), -1)
        names = tuple(f"x{k}" for k in range(inputs.shape[1]))
        table = Table(f"wheel_{self.delta}", inputs, rewards.ravel(), (), names, "reward")
        return table, expected.max(1, keepdims=True) - expected

    def metadata(self) -> dict[str, Any]:
        return {**super().metadata(), "delta": self.delta}

    @property
    def fits(self) -> float:
        return len(self.arms) * self.steps / self.batch / 2

    def repetition(self, split: Split) -> Mapping[str, Rows]:
        table, regret = self.game(split.index)
        return result_tables(table, regret, play(self, table, split.index), split.index)


def play(plan: Bandit, table: Table, repetition: int) -> dict[str, list[int]]:
    """Return the actions that each arm chooses, by its name in tables of results."""
    first = min(plan.steps, max(plan.batch, ACTIONS))
    chosen = {arm: [step % ACTIONS for step in range(first)] for arm in plan.arms}
    for step in range(first, plan.steps, plan.batch):
        for arm, actions in _choose(plan, table, chosen, repetition, step).items():
            chosen[arm] += actions
    alone = {THOMPSON: f"{THOMPSON}, {MARGINALS}"} if plan.method.joint == MARGINALS else {}
    return {alone.get(arm, arm): actions for arm, actions in chosen.items()}


def result_tables(
    table: Table, regret: np.ndarray, chosen: Mapping[str, list[int]], repetition: int
) -> Mapping[str, Rows]:
    """Return the rows of one repetition in both tables, given its game and the result of `play`."""
    each, rewards = np.arange(len(regret)), table.targets.reshape(regret.shape)
    rows: dict[str, list[dict[str, Any]]] = {STEPS: [], REGRET: []}
    for arm, actions in chosen.items():
        columns = np.stack([rewards[each, actions], regret[each, actions], regret.mean(1)], 1)
        key = {"repetition": repetition, "arm": arm}
        for step, (action, values) in enumerate(zip(actions, columns.tolist(), strict=True), 1):
            named = zip(("reward", "regret", "uniform_regret"), values, strict=True)
            rows[STEPS].append({**key, "step": step, "action": action, **dict(named)})
        reward, missed, expected = columns.sum(0).tolist()
        _, late, late_expected = columns[len(actions) // 2 :].sum(0).tolist()
        shares = {"share": missed / expected, "second_half": late / late_expected}
        rows[REGRET].append({**key, "reward": reward, "regret": missed, **shares})
    return rows


def _choose(
    plan: Bandit, table: Table, chosen: Mapping[str, list[int]], repetition: int, step: int
) -> dict[str, list[int]]:
    """Fit the method to the choices of each arm, and return the actions of its next batch."""
    fitted = [arm for arm in plan.arms if arm != UNIFORM]
    known = [(np.arange(step) * ACTIONS + chosen[arm]).tolist() for arm in fitted]
    batch, path = min(plan.batch, plan.steps - step), ("bandit", repetition, step)
    columns = np.arange(batch * ACTIONS).reshape(batch, ACTIONS)
    asked = step * ACTIONS + columns.ravel()
    fits = refit(plan.fitting, table, known, [asked] * len(fitted), *path)
    streams = Streams([derive_seed(plan.seed, *path, "choice")], (0,))
    noise = streams.uniform(batch, ACTIONS)[:, 0].numpy()
    explores = (streams.uniform(batch) < plan.epsilon).numpy()
    normals = streams.normal(batch, len(asked))[:, 0].double().numpy()
    drawn = np.take_along_axis(draw_functions(plan.method, fits, normals), columns[None], 2)
    means = fits.prediction.mean().cpu().numpy()[:, columns]
    values = {UNIFORM: noise}
    for r, arm in enumerate(fitted):
        random = np.where(explores, noise, means[r])
        values[arm] = {GREEDY: means[r], THOMPSON: drawn[r], EPSILON: random}[arm]
    return {arm: values[arm].argmax(1).tolist() for arm in plan.arms}


def draw_functions(method: Method, fits: Fits, normals: np.ndarray) -> np.ndarray:
    """Return values of functions drawn from the posteriors, `[R, B, M]`, original units.

    A function is a drawn network, or a draw from the Gaussian of all rows or, for a method that
    only knows the marginals, of each row alone.

    Args:
        method: the method that was fitted.
        fits: to R arms.
        normals: standard normal numbers, `[B, M]`.
    """
    prediction, count = fits.prediction, len(normals)
    if method.joint == DRAWS:
        # Evenly spaced, because successive states of a chain are alike.
        which = torch.arange(count, device="cpu") * len(prediction.loc) // count
        return prediction.loc[which].transpose(0, 1).cpu().numpy()
    if method.joint == COVARIANCE:
        covariance = method.joint_covariance(fits.posterior, fits.asked).cpu()
        values, vectors = torch.linalg.eigh(covariance.nan_to_num())  # NaN: the fit diverged
        roots = (vectors * values.clamp(min=0).sqrt()[:, None]) @ vectors.mT
        deviations = normals @ (fits.target_scale.cpu()[..., None] * roots).numpy()
    else:
        deviations = normals * prediction.epistemic_variance().sqrt().cpu().numpy()[:, None]
    result: np.ndarray = prediction.mean().cpu().numpy()[:, None] + deviations
    return result
