"""The six loss functionals of section 9.1 of the thesis."""

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
from bnnbench.suites.lam_density_ratio.names import label
from bnnbench.suites.lam_density_ratio.theory.formula_checks import (
    MAX_PRE_ACTIVATION,
    formula_checks,
    random_points,
)
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

SHOWN_PRE_ACTIVATIONS = {
    "class_probability": (-9.0, 9.0),
    "ratio": (-9.0, 1.4),
    "log_ratio": (-4.0, 4.0),
}
"""Ranges of Fig. 9.1, whose outputs come close to their bounds."""

GRID_STEPS = 50_000
"""Steps to either side of the grid on which the loss is minimised."""


@dataclass(frozen=True, kw_only=True)
class EstimatorParametrisations(Experiment):
    """Loss functionals of three estimators under two divergences, at one point and at many.

    Attributes:
        q: density q at the point of Fig. 9.1.
        p: density p there.
        points: number of random points at which formulas and inequalities are checked.
        seed: seed of these points.
    """

    q: float
    p: float
    points: int
    seed: int
    kind: ClassVar[str] = PARAMETRISATIONS

    def check(self) -> None:
        """Raise `UserError` for settings that are out of range."""
        check_between("experiment.q", self.q, 0)
        check_between("experiment.p", self.p, 0)
        check_int("experiment.points", self.points)
        check_int("seed", self.seed, minimum=0)

    @property
    def title(self) -> str:
        return "six loss functionals"

    def metadata(self) -> dict[str, Any]:
        return {"q": self.q, "p": self.p, "points": self.points, "seed": self.seed}

    def path_parts(self) -> tuple[str, ...]:
        return (f"q{self.q:g}-p{self.p:g}-seed{self.seed}",)

    def units(self) -> tuple[str, ...]:
        return ("functionals",)

    def run(self, unit: str, store: UnitStore) -> None:
        """Save the curves of Fig. 9.1, the rounded slopes, and the answers."""
        points = random_points(self.points, derive_seed(self.seed, "points"))
        rounded = list(saturation_rows())
        saturation = saturation_answers(pd.DataFrame(rounded))
        answers = [*optima(self.q, self.p), *formula_checks(points), *saturation]
        tables = {
            ANSWERS: [answer.row() for answer in answers],
            FUNCTIONALS_TABLE: curves(self.q, self.p),
            SATURATION_TABLE: rounded,
        }
        store.save(unit, tables, {})


def curves(q: float, p: float, number: int = 400) -> list[dict[str, Any]]:
    """Return the six panels of Fig. 9.1: rows `divergence`, `estimator`, `output`, `loss`."""
    rows = []
    for (divergence, estimator), functional in FUNCTIONALS.items():
        limits = SHOWN_PRE_ACTIVATIONS[estimator]
        outputs = ACTIVATIONS[estimator](torch.linspace(*limits, number, dtype=torch.float64))
        losses = functional.loss(outputs, *filled(outputs, q, p))
        rows += [
            {"divergence": divergence, "estimator": estimator, "output": output, "loss": loss}
            for output, loss in zip(outputs.tolist(), losses.tolist(), strict=True)
        ]
    return rows


def filled(like: Tensor, *values: float) -> Iterator[Tensor]:
    """Yield a tensor in the shape of `like` for each value."""
    yield from (torch.full_like(like, value) for value in values)


def optima(q: float, p: float) -> Iterator[Answer]:
    """Yield the minimiser of each loss on a fine grid, with the exact one of the lemmas."""
    q_tensor, p_tensor = (torch.tensor(value, dtype=torch.float64) for value in (q, p))
    # Integers are scaled last, so that the middle of the grid is exactly log q / p.
    steps = torch.arange(-GRID_STEPS, GRID_STEPS + 1, dtype=torch.float64)
    grid = torch.log(q_tensor / p_tensor) + MAX_PRE_ACTIVATION * steps / GRID_STEPS
    for (divergence, estimator), functional in FUNCTIONALS.items():
        outputs = ACTIVATIONS[estimator](grid)
        losses = functional.loss(outputs, *filled(outputs, q, p))
        best = int(losses.argmin())
        exact = float(optimum(estimator, q_tensor, p_tensor))
        setting = f"q = {q:g}, p = {p:g}"
        name = label(divergence, estimator)
        yield Answer(OPTIMUM, name, outputs[best].item(), setting, exact=exact)
