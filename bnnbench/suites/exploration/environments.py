"""Problems in which every choice has a reward, and only the reward of the choice is observed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from bnnbench.constraints import Between, Checked, Count, Positive, Whole
from bnnbench.data import Source
from bnnbench.suites.exploration.tables import POOL
from bnnbench.types import Split, Table, UserError


@dataclass(frozen=True)
class Game:
    """Everything that can be chosen in one repetition. Of T steps, each has C candidates.

    Attributes:
        table: N rows: the inputs of a choice, and the target that is observed after it.
        candidates: row numbers, `[T, C]`; no row is chosen twice.
        action: of each row, for tables of results, `[N]`.
        reward: of each row, `[N]`.
        regret: expected reward of the best candidate less that of each row, `[N]`.
        start: rows whose targets are known from the start.
    """

    table: Table
    candidates: np.ndarray
    action: np.ndarray
    reward: np.ndarray
    regret: np.ndarray
    start: tuple[int, ...] = ()


@dataclass(frozen=True)
class Environment(Checked, ABC):
    """A problem.

    Attributes:
        steps: number of choices, at most one for each row of a data set.
        batch: number of choices between two fits.
        memory: number of the latest choices that are trained on; None for all.
        label: class attribute, its name.
        uses_data: class attribute, whether it is made from a data set.
    """

    steps: Count
    batch: Count
    memory: Annotated[int | None, Whole(2)] = None
    label: ClassVar[str]
    uses_data: ClassVar[bool] = True
    key: ClassVar[str] = "environment"

    @abstractmethod
    def game(self, data: Table | None, products: bool, random: np.random.RandomState) -> Game:
        """Return the choices of a repetition.

        Args:
            data: the data set, if it uses one.
            products: see `contextual_game`.
            random: determines the repetition.
        """


def contextual_game(
    contexts: np.ndarray, expected: np.ndarray, rewards: np.ndarray, steps: int, products: bool
) -> Game:
    """Return a game whose steps have the same K actions and a context each.

    Args:
        contexts: `[T, D]`.
        expected: expected rewards, `[T, K]`.
        rewards: `[T, K]`.
        steps: number of contexts to use; the table contains all of them.
        products: whether the inputs of an action are the products of its indicator with 1 and the
            context, which a linear model needs, instead of the context and the indicators.
    """
    count, actions = rewards.shape
    chosen = np.tile(np.eye(actions), (count, 1))
    own = np.repeat(contexts, actions, 0)
    if products:
        with_one = np.insert(own, 0, 1, axis=1)[:, None]
        inputs = np.where(chosen[..., None] > 0, with_one, 0).reshape(len(own), -1)
    else:
        inputs = np.hstack([own, chosen])
    names = tuple(f"x{k}" for k in range(inputs.shape[1]))
    return Game(
        Table("", inputs, rewards.ravel(), (), names, "reward"),
        np.arange(rewards.size).reshape(rewards.shape)[:steps],
        np.tile(np.arange(actions), count),
        rewards.ravel(),
        (expected.max(1, keepdims=True) - expected).ravel(),
    )


@dataclass(frozen=True)
class Wheel(Environment):
    """The wheel bandit: good actions are rare (Riquelme, Tucker & Snoek, ICLR 2018).

    Contexts are uniform in the unit disc. The first of five actions has an expected reward of 1.2
    and the others of 1, but outside the radius `delta` one of these, another in each quadrant, has
    50.

    Attributes:
        delta: radius.
        noise: standard deviation of the rewards.
    """

    identity_name = "bnnbench.suites.exploration.environments.Wheel"
    delta: Annotated[float, Between(0, 1)] = 0.9
    noise: Positive = 0.01
    label = "wheel"
    uses_data = False

    def game(self, data: Table | None, products: bool, random: np.random.RandomState) -> Game:
        turn, area = random.uniform(size=(2, self.steps))
        angle, radius = 2 * np.pi * turn, np.sqrt(area)
        contexts = (radius * [np.cos(angle), np.sin(angle)]).T
        expected = np.tile([1.2, 1, 1, 1, 1], (self.steps, 1))
        outside = np.flatnonzero(radius > self.delta)
        expected[outside, 1 + (4 * turn[outside]).astype(int)] = 50
        rewards = expected + self.noise * random.standard_normal(expected.shape)
        return contextual_game(contexts, expected, rewards, self.steps, products)


@dataclass(frozen=True)
class RowByRow(Environment):
    """An environment whose contexts are the rows of a data set, in random order.

    Attributes:
        actions: number of actions.
    """

    actions: Annotated[int, Whole(2)] = 5

    @abstractmethod
    def rewards(self, targets: np.ndarray) -> np.ndarray:
        """Return the reward of each action for each row, `[N, K]`."""

    def game(self, data: Table | None, products: bool, random: np.random.RandomState) -> Game:
        assert data is not None
        order = random.permutation(len(data.targets))
        rewards = self.rewards(data.targets)[order]
        return contextual_game(data.inputs[order], rewards, rewards, self.steps, products)


@dataclass(frozen=True)
class Classes(RowByRow):
    """Name the class of a row: its target is between two of the quantiles.

    The reward of the right class is 1 and that of others 0.
    """

    identity_name = "bnnbench.suites.exploration.environments.Classes"
    label = "table"

    def rewards(self, targets: np.ndarray) -> np.ndarray:
        edges = np.quantile(targets, np.arange(1, self.actions) / self.actions)
        indicators: np.ndarray = np.eye(self.actions)[np.searchsorted(edges, targets, "right")]
        return indicators


@dataclass(frozen=True)
class Stock(RowByRow):
    """Choose a stock before the demand, which is the target of a row, is known (newsvendor).

    The stocks are evenly spaced quantiles of the target. A unit too many costs 1, and a unit too
    few costs `shortage`, in standard deviations of the target. The reward is the negative cost.

    Attributes:
        shortage: cost of a missing unit.
    """

    identity_name = "bnnbench.suites.exploration.environments.Stock"
    shortage: Positive = 9.0
    label = "price"

    def rewards(self, targets: np.ndarray) -> np.ndarray:
        stocks = np.quantile(targets, (np.arange(self.actions) + 0.5) / self.actions)
        missing = (targets[:, None] - stocks) / targets.std()
        return -np.maximum(self.shortage * missing, -missing)


@dataclass(frozen=True)
class Pool(Environment):
    """Find the rows with the highest targets. The reward of each is its share of all of these.

    Attributes:
        start: number of rows whose targets are known, none of them among the highest.
        best: fraction of rows to find.
        rows: maximum number of rows, drawn from the data set.
    """

    identity_name = "bnnbench.suites.exploration.environments.Pool"
    start: Annotated[int, Whole(2)] = 20
    best: Annotated[float, Between(0, 1)] = 0.05
    rows: Count = 2000
    label = POOL

    def game(self, data: Table | None, products: bool, random: np.random.RandomState) -> Game:
        assert data is not None
        order = random.permutation(len(data.targets))[: self.rows]
        count = int(np.ceil(self.best * len(order)))
        if len(order) < self.start + max(count, self.steps):
            raise UserError(
                f"environment.start={self.start} and environment.steps={self.steps} are too many "
                f"for the {len(order)} rows of {data.name}, of which {count} are to be found.",
                "environment.start",
                "too_many_rows",
            )
        highest = order[np.argsort(-data.targets[order], kind="stable")[:count]]
        reward = np.isin(np.arange(len(data.targets)), highest) / count
        start = order[reward[order] == 0][: self.start]
        pool = order[~np.isin(order, start)]
        candidates = np.broadcast_to(pool, (self.steps, len(pool)))
        return Game(
            data, candidates, np.arange(len(reward)), reward, 1 / count - reward, (*start.tolist(),)
        )


@dataclass(frozen=True)
class Games(Checked):
    """The repetitions of an environment as splits of a table, which is that of the first.

    Attributes:
        environment: the problem.
        source: the data set, if the environment uses one.
        repetitions: number of splits.
        products: see `contextual_game`.
        seed: of the repetitions; each has a generator seeded with `(seed, repetition)`.
    """

    identity_name = "bnnbench.suites.exploration.environments.Games"
    environment: Environment
    source: Source | None
    repetitions: Annotated[int, Whole(2)] = 20
    products: bool = False
    seed: int = 0
    key: ClassVar[str] = "experiment"

    @property
    def name(self) -> str:
        """The environment and its data set or radius."""
        detail = self.source.name if self.source else getattr(self.environment, "delta", "")
        return f"{self.environment.label}_{detail}"

    @property
    def summary(self) -> str:
        """One line about the environment."""
        return self.name

    def game(self, repetition: int) -> Game:
        """Return the game of a repetition."""
        random = np.random.RandomState([self.seed, repetition])
        data = self.source.load() if self.source else None
        return self.environment.game(data, self.products, random)

    def load(self) -> Table:
        """Return the table of the first game; a split has the rows of a fit and of a round.

        Raises:
            UserError: if the data set cannot be loaded or has too few rows.
        """
        game = self.game(0)
        known = len(game.start) + len(game.candidates)
        train = np.arange(min(known, self.environment.memory or known))
        test = np.unique(game.candidates[: self.environment.batch])
        splits = tuple(Split(k, train, test) for k in range(self.repetitions))
        table = game.table
        return Table(self.name, table.inputs, table.targets, splits, table.features, table.target)
