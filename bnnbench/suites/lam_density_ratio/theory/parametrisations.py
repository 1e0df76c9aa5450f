"""The six loss functionals of the thesis's section 9.1, and what its theory says of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import pandas as pd
import torch
from torch import Tensor

from bnnbench.checks import check_between, check_int
from bnnbench.experiment.base import Experiment
from bnnbench.experiment.unit_store import UnitStore
from bnnbench.random_streams import derive_seed
from bnnbench.results.answers import ANSWERS, Answer
from bnnbench.suites.lam_density_ratio.theory.facts import REACH, facts, random_points
from bnnbench.suites.lam_density_ratio.theory.functionals import (
    ACTIVATIONS,
    FUNCTIONALS,
    optimum,
)
from bnnbench.suites.lam_density_ratio.theory.names import (
    FUNCTIONALS_TABLE,
    OPTIMUM,
    PARAMETRISATIONS,
    SATURATION_TABLE,
)
from bnnbench.suites.lam_density_ratio.theory.saturation import (
    saturation_answers,
    saturation_rows,
)

SHOWN = {"D": (-9.0, 9.0), "r": (-9.0, 1.4), "T": (-4.0, 4.0)}
"""The outputs that Fig. 9.1 shows, as pre-activations: these come close to the bounds."""

STEPS = 50_000
"""Of the grid on which the output of least loss is sought, to either side."""


@dataclass(frozen=True, kw_only=True)
class EstimatorParametrisations(Experiment):
    """Loss functionals of three estimators under two divergences, at one point and at many.

    Attributes:
        q: density of the posterior's side at the point of Fig. 9.1.
        p: density of the prior's side there.
        points: how many random ones the formulas and inequalities are tried at.
        seed: of these.
    """

    q: float
    p: float
    points: int
    seed: int
    kind: ClassVar[str] = PARAMETRISATIONS

    def check(self) -> None:
        """Raises `UserError` unless there are densities and points."""
        check_between("experiment.q", self.q, 0)
        check_between("experiment.p", self.p, 0)
        check_int("experiment.points", self.points)
        check_int("seed", self.seed, least=0)

    @property
    def title(self) -> str:
        return "six loss functionals"

    def names(self) -> dict[str, Any]:
        return {"q": self.q, "p": self.p, "points": self.points, "seed": self.seed}

    def place(self) -> tuple[str, ...]:
        return (f"q{self.q:g}-p{self.p:g}-seed{self.seed}",)

    def units(self) -> tuple[str, ...]:
        return ("functionals",)

    def run(self, unit: str, store: UnitStore) -> None:
        """Saves the curves of Fig. 9.1, slopes as they are rounded, and an answer per fact."""
        points = random_points(self.points, derive_seed(self.seed, "points"))
        rounded = list(saturation_rows())
        found = saturation_answers(pd.DataFrame(rounded))
        answers = [*optima(self.q, self.p), *facts(points), *found]
        tables = {
            ANSWERS: [answer.row() for answer in answers],
            FUNCTIONALS_TABLE: curves(self.q, self.p),
            SATURATION_TABLE: rounded,
        }
        store.save(unit, tables, {})


def curves(q: float, p: float, number: int = 400) -> list[dict[str, Any]]:
    """The six panels of Fig. 9.1: rows `divergence`, `estimator`, `output`, `loss`."""
    rows = []
    for (divergence, estimator), functional in FUNCTIONALS.items():
        shown = torch.linspace(*SHOWN[estimator], number, dtype=torch.float64)
        outputs = ACTIVATIONS[estimator](shown)
        losses = functional.loss(outputs, *filled(outputs, q, p))
        rows += [
            {"divergence": divergence, "estimator": estimator, "output": output, "loss": loss}
            for output, loss in zip(outputs.tolist(), losses.tolist(), strict=True)
        ]
    return rows


def filled(like: Tensor, *values: float) -> Iterator[Tensor]:
    """Each value as often as `like` has elements."""
    yield from (torch.full_like(like, value) for value in values)


def optima(q: float, p: float) -> Iterator[Answer]:
    """The output with the least loss, sought on a fine grid of outputs, beside the lemmas' own."""
    q_alone, p_alone = (torch.tensor(value, dtype=torch.float64) for value in (q, p))
    # Whole numbers first, so that the middle of the grid is just log q / p.
    steps = torch.arange(-STEPS, STEPS + 1, dtype=torch.float64)
    grid = torch.log(q_alone / p_alone) + REACH * steps / STEPS
    for (divergence, estimator), functional in FUNCTIONALS.items():
        outputs = ACTIVATIONS[estimator](grid)
        losses = functional.loss(outputs, *filled(outputs, q, p))
        best = int(losses.argmin())
        there = optimum(estimator, q_alone, p_alone)
        setting = f"q = {q:g}, p = {p:g}"
        name = f"{divergence}, {estimator}"
        yield Answer(OPTIMUM, name, outputs[best].item(), setting, exact=float(there))
