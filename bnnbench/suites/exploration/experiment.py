"""Choose actions by predictions of their rewards, observe the rewards, and fit again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, NamedTuple, Self

import numpy as np
import torch

from bnnbench.constraints import Between, ListOf, OneOf
from bnnbench.experiment.joint import COVARIANCE, DRAWS, MARGINALS, joint, joint_covariance
from bnnbench.experiment.repetitions import Fits, RepeatedArms, refit
from bnnbench.experiment.run_folder import Rows
from bnnbench.identity import no_identity
from bnnbench.methods.linear import Linear
from bnnbench.methods.shared.contract import Method
from bnnbench.random_streams import Streams, derive_seed
from bnnbench.suites.exploration.environments import Environment, Game, Games
from bnnbench.suites.exploration.tables import (
    EPSILON,
    GREEDY,
    KIND,
    REGRET,
    STEPS,
    THOMPSON,
    UNIFORM,
)
from bnnbench.types import Split


class Choice(NamedTuple):
    """What a rule may use to choose among C candidates at each of B steps.

    Attributes:
        mean: predictive means, `[B, C]`.
        drawn: values of a function drawn from the posterior at each step, `[B, C]`.
        noise: uniform random numbers, `[B, C]`.
        explores: whether a step is random under `epsilon`, `[B, 1]`.
    """

    mean: np.ndarray
    drawn: np.ndarray
    noise: np.ndarray
    explores: np.ndarray


ARMS: Mapping[str, Callable[[Choice], np.ndarray]] = {
    UNIFORM: lambda choice: choice.noise,
    GREEDY: lambda choice: choice.mean,
    THOMPSON: lambda choice: choice.drawn,
    EPSILON: lambda choice: np.where(choice.explores, choice.noise, choice.mean),
}
"""Values of the candidates, `[B, C]`; the first of the largest is chosen."""


@dataclass(frozen=True, kw_only=True)
class Bandit(RepeatedArms):
    """Compare rules that choose actions (Riquelme, Tucker & Snoek, ICLR 2018).

    All rules share the first choices: every action in turn, or the rows known at the start. The
    method is fitted again after each batch of choices.

    Attributes:
        environment: the problem; part of the identity of the data set, like `repetitions`.
        repetitions: see `Games`.
        arms: the rules, `greedy` among them.
        epsilon: probability of a random choice under the rule of this name.
    """

    environment: Environment = no_identity()
    repetitions: int = no_identity()
    arms: Annotated[tuple[str, ...], ListOf(OneOf(*ARMS), order="distinct")]
    epsilon: Annotated[float, Between(0, 1)]
    kind: ClassVar[str] = KIND
    baseline: ClassVar[str] = GREEDY

    def resolved(self) -> Self:
        is_linear = isinstance(self.method, Linear) or (
            self.method.trains_network and self.network.depth == 0
        )
        source = self.dataset if self.environment.uses_data else None
        dataset = Games(self.environment, source, self.repetitions, is_linear, self.seed)
        return super(Bandit, replace(self, dataset=dataset)).resolved()

    def metadata(self) -> dict[str, Any]:
        return {
            **super().metadata(),
            "environment": self.environment.label,
            "delta": getattr(self.environment, "delta", None),
        }

    @property
    def fits(self) -> float:
        return len(self.arms) * self.environment.steps / self.environment.batch / 2

    def repetition(self, split: Split) -> Mapping[str, Rows]:
        assert isinstance(self.dataset, Games)
        game = self.dataset.game(split.index)
        return result_tables(game, play(self, game, split.index), split.index)


def play(plan: Bandit, game: Game, repetition: int) -> dict[str, list[int]]:
    """Return the rows that each arm chooses, by its name in tables of results."""
    chosen = {arm: [*game.start] for arm in plan.arms}
    steps, candidates = game.candidates.shape
    first = 0
    if not game.start:
        first = min(steps, max(plan.environment.batch, candidates))
        turns = np.arange(first)
        for rows in chosen.values():
            rows += game.candidates[turns, turns % candidates].tolist()
    for step in range(first, steps, plan.environment.batch):
        options = game.candidates[step : step + plan.environment.batch]
        choices = _choices(plan, game, chosen, options, repetition, step)
        for arm, choice in choices.items():
            for row, values in zip(options, ARMS[arm](choice), strict=True):
                free = np.where(np.isin(row, chosen[arm]), -np.inf, values)
                chosen[arm].append(int(row[free.argmax()]))
    alone = {THOMPSON: f"{THOMPSON}, {MARGINALS}"} if joint(plan.method) == MARGINALS else {}
    return {alone.get(arm, arm): rows[len(game.start) :] for arm, rows in chosen.items()}


def result_tables(game: Game, chosen: Mapping[str, list[int]], repetition: int) -> dict[str, Rows]:
    """Return the rows of one repetition in `STEPS` and `REGRET`, given the result of `play`."""
    uniform = game.regret[game.candidates].mean(1)
    steps: list[dict[str, Any]] = []
    sums: list[dict[str, Any]] = []
    for arm, rows in chosen.items():
        columns = np.stack([game.reward[rows], game.regret[rows], uniform], 1)
        key = {"repetition": repetition, "arm": arm}
        for step, (row, values) in enumerate(zip(rows, columns.tolist(), strict=True), 1):
            named = zip(("reward", "regret", "uniform_regret"), values, strict=True)
            steps.append({**key, "step": step, "action": int(game.action[row]), **dict(named)})
        reward, regret, expected = columns.sum(0).tolist()
        _, late, late_expected = columns[len(rows) // 2 :].sum(0).tolist()
        shares = {"share": regret / expected, "second_half": late / late_expected}
        sums.append({**key, "reward": reward, "regret": regret, **shares})
    return {STEPS: steps, REGRET: sums}


def _choices(
    plan: Bandit,
    game: Game,
    chosen: Mapping[str, list[int]],
    options: np.ndarray,
    repetition: int,
    step: int,
) -> dict[str, Choice]:
    """Fit the method to the choices of each arm, and return what its rule may use."""
    fitted = [arm for arm in plan.arms if arm != UNIFORM]
    asked = np.unique(options)
    known = [chosen[arm][-(plan.environment.memory or 0) :] for arm in fitted]
    path = "bandit", repetition, step
    fits = refit(plan.fitting, game.table, known, [asked] * len(fitted), *path)
    streams = Streams([derive_seed(plan.seed, *path, "choice")], (0,))
    shape = options.shape
    noise = streams.uniform(*shape)[:, 0].numpy()
    explores = (streams.uniform(shape[0]) < plan.epsilon).numpy()
    normals = streams.normal(shape[0], len(asked))[:, 0].double().numpy()
    columns = np.searchsorted(asked, options)
    drawn = np.take_along_axis(draw_functions(plan.method, fits, normals), columns[None], 2)
    means = fits.prediction.mean().cpu().numpy()
    choices = {
        arm: Choice(means[r][columns], drawn[r], noise, explores) for r, arm in enumerate(fitted)
    }
    return {arm: choices.get(arm, choices[GREEDY]) for arm in plan.arms}


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
    if joint(method) == DRAWS:
        # Evenly spaced, because successive states of a chain are alike.
        which = torch.arange(count) * len(prediction.loc) // count
        return prediction.loc[which].transpose(0, 1).cpu().numpy()
    if joint(method) == COVARIANCE:
        covariance = joint_covariance(method, fits.posterior, fits.asked).cpu()
        values, vectors = torch.linalg.eigh(covariance.nan_to_num())  # NaN: the fit diverged
        roots = (vectors * values.clamp(min=0).sqrt()[:, None]) @ vectors.mT
        deviations = normals @ (fits.target_scale.cpu()[..., None] * roots).numpy()
    else:
        deviations = normals * prediction.epistemic_variance().sqrt().cpu().numpy()[:, None]
    result: np.ndarray = prediction.mean().cpu().numpy()[:, None] + deviations
    return result
