"""The six losses of section 9.1 of the thesis, in the units of outputs and of pre-activations.

The thesis compares estimators in the units of their outputs. The network works in the units of its
pre-activation, in which the losses of a divergence coincide: only rounding makes the estimators
differ. The thesis's programs compute the losses from T, r or D in single precision, with 1e-18
inside logarithms.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Annotated, ClassVar

import pandas as pd
import torch
from torch import Tensor

from bnnbench.constraints import Between, Whole
from bnnbench.experiment.table_experiment import TableExperiment, Tables
from bnnbench.random_streams import derive_seed
from bnnbench.results.answers import ANSWERS, Answer
from bnnbench.suites.lam_density_ratio.names import DIVERGENCES, ESTIMATORS, SYMBOLS, label
from bnnbench.suites.lam_density_ratio.objectives import Objective
from bnnbench.suites.lam_density_ratio.theory import names
from bnnbench.suites.lam_density_ratio.theory.functionals import (
    ACTIVATIONS,
    FUNCTIONALS,
    derivatives,
    of_pre_activation,
    optimum,
)

SHOWN_PRE_ACTIVATIONS = {
    "class_probability": (-9.0, 9.0),
    "ratio": (-9.0, 1.4),
    "log_ratio": (-4.0, 4.0),
}
"""Ranges of Fig. 9.1, whose outputs come close to their bounds."""

SHOWN_POINTS = 400

GRID_STEPS = 50_000
"""Steps to either side of the grid on which the loss is minimised."""

MAX_PRE_ACTIVATION = 6.0
"""Largest absolute pre-activation; beyond it the formulas lose digits to rounding."""

SATURATION_START, SATURATION_STOP, SATURATION_STEP = -60.0, 100.0, 0.5
"""Grid of pre-activations at which rounded slopes are compared with exact ones."""

SATURATION_POINT = "pre-activation from which the slope is wrong in single precision"

SLOPE_TOLERANCE = 0.01
"""Largest accepted error of a slope, relative to one plus its exact size."""


@dataclass(frozen=True, kw_only=True)
class EstimatorParametrisations(TableExperiment):
    """Loss functionals of three estimators under two divergences, at one point and at many.

    Attributes:
        q: density q at the point of Fig. 9.1.
        p: density p there.
        points: number of random points at which formulas and inequalities are checked.
        seed: seed of these points.
    """

    q: Annotated[float, Between(0)]
    p: Annotated[float, Between(0)]
    points: Annotated[int, Whole()]
    seed: Annotated[int, Whole(0)]
    kind: ClassVar[str] = "estimator_parametrisations"
    name: ClassVar[str] = "six loss functionals"
    folder_settings: ClassVar[tuple[str, ...]] = ("q", "p", "seed")
    columns: ClassVar[tuple[str, ...]] = ("q", "p", "points", "seed")

    def cases(self) -> Mapping[str, None]:
        return {"functionals": None}

    def tables(self, case: None) -> Tables:
        """Return the curves of Fig. 9.1, the rounded slopes, and the answers."""
        points = random_points(self.points, derive_seed(self.seed, "points"))
        saturation = saturation_slopes()
        q, p = torch.tensor([self.q, self.p], dtype=torch.float64)
        answers = [
            *optima(q, p),
            *derivative_errors(points),
            *comparisons(points),
            *in_pre_activation(points),
            *saturation_answers(saturation),
        ]
        curves = loss_curves(q, p)
        return {ANSWERS: answers, names.FUNCTIONALS: curves, names.SATURATION: saturation}


def loss_curves(q: Tensor, p: Tensor) -> pd.DataFrame:
    """Return the six panels of Fig. 9.1: columns `divergence`, `estimator`, `output`, `loss`."""
    panels = []
    for (divergence, estimator), functional in FUNCTIONALS.items():
        limits = SHOWN_PRE_ACTIVATIONS[estimator]
        outputs = ACTIVATIONS[estimator](torch.linspace(*limits, SHOWN_POINTS, dtype=torch.float64))
        losses = functional.loss(outputs, q, p)
        keys = {"divergence": divergence, "estimator": estimator}
        panels.append(pd.DataFrame({**keys, "output": outputs, "loss": losses}))
    return pd.concat(panels)


def optima(q: Tensor, p: Tensor) -> Iterator[Answer]:
    """Yield the minimiser of each loss on a fine grid, with the exact one of the lemmas."""
    # Integers are scaled last, so that the middle of the grid is exactly log q / p.
    steps = torch.arange(-GRID_STEPS, GRID_STEPS + 1, dtype=torch.float64)
    grid = torch.log(q / p) + MAX_PRE_ACTIVATION * steps / GRID_STEPS
    for key, functional in FUNCTIONALS.items():
        outputs = ACTIVATIONS[key[1]](grid)
        best = int(functional.loss(outputs, q, p).argmin())
        exact = float(optimum(key[1], q, p))
        setting = f"q = {q:g}, p = {p:g}"
        yield Answer(
            "output of least loss", label(*key), outputs[best].item(), setting, exact=exact
        )


@dataclass(frozen=True)
class Points:
    """Points at which the losses are compared, `[N]` each, double precision.

    Attributes:
        q: density q.
        p: density p.
        pre_activation: pre-activation of the network.
        change: change of `q` in one step of the posterior, never below `-q`.
    """

    q: Tensor
    p: Tensor
    pre_activation: Tensor
    change: Tensor


def random_points(number: int, seed: int) -> Points:
    """Return densities from 0.01 to 1, log-uniform, and uniform pre-activations."""
    generator = torch.Generator().manual_seed(seed)
    uniform = torch.rand(4, number, generator=generator, dtype=torch.float64)
    q, p = torch.pow(0.01, uniform[:2])
    return Points(q, p, MAX_PRE_ACTIVATION * (2 * uniform[2] - 1), q * (3 * uniform[3] - 1))


def derivative_errors(points: Points) -> Iterator[Answer]:
    """Yield the largest relative errors of the printed derivatives against autograd."""
    q, p = points.q, points.p
    for key, functional in FUNCTIONALS.items():
        outputs = ACTIVATIONS[key[1]](points.pre_activation)
        printed = functional.slope(outputs, q, p), functional.curvature(outputs, q, p)
        true = derivatives(functional.loss, outputs, q, p)
        for order, formula, actual in zip(("first", "second"), printed, true, strict=True):
            error = ((formula - actual).abs() / (q + p + actual.abs())).max().item()
            yield Answer(
                f"{order} derivative as printed, largest error", label(*key), error, exact=0.0
            )


def comparisons(points: Points) -> Iterator[Answer]:
    """Yield by how much optima and derivatives in the outputs of two estimators differ.

    That is: the largest `|D step| / |r step|` of the optima when `q` changes, below 1 by lemma
    9.1.2; the smallest excess of one derivative over another, relative to its size; and the
    smallest second derivatives.
    """
    q, p = points.q, points.p
    d_step, r_step = (
        optimum(name, q + points.change, p) - optimum(name, q, p)
        for name in ("class_probability", "ratio")
    )
    yield Answer(
        "largest ratio of the optima's steps", "D / r", float((d_step / r_step).abs().max())
    )

    outputs = {name: ACTIVATIONS[name](points.pre_activation) for name in ESTIMATORS}
    curvature, slope = {}, {}
    for key, functional in FUNCTIONALS.items():
        curvature[key] = functional.curvature(outputs[key[1]], q, p)
        slope[key] = functional.slope(outputs[key[1]], q, p).abs()

    def excess(order: str, name: str, first: Tensor, second: Tensor) -> Answer:
        value = ((first - second) / first.abs()).min().item()
        return Answer(names.MIN_EXCESS.format(order), name, value)

    d, r = curvature["gan", "class_probability"], curvature["gan", "ratio"]
    yield excess("second derivative", "GAN, D over r", d, r)
    kl = curvature["kl_posterior_prior", "ratio"]
    yield excess("second derivative", "r, reverse KL over GAN", kl, r)
    for divergence, other in product(DIVERGENCES, ("ratio", "log_ratio")):
        name = f"{label(divergence, 'class_probability')} over {SYMBOLS[other]}"
        steep = slope[divergence, "class_probability"]
        yield excess("slope", name, steep, slope[divergence, other])
    for key, values in curvature.items():
        yield Answer("smallest second derivative in the output", label(*key), values.min().item())


def in_pre_activation(points: Points) -> Iterator[Answer]:
    """Yield the largest differences of derivatives with respect to the pre-activation."""
    q, p = points.q, points.p
    for divergence, title in DIVERGENCES.items():
        losses = [of_pre_activation(divergence, estimator) for estimator in ESTIMATORS]
        both = [derivatives(loss, points.pre_activation, q, p) for loss in losses]
        for order, by_estimator in zip(("first", "second"), zip(*both, strict=True), strict=True):
            stack = torch.stack(by_estimator)
            spread = (stack.amax(0) - stack.amin(0)) / (q + p + stack.abs().amax(0))
            name = names.IN_PRE_ACTIVATION.format(order)
            approximation = f"{title}, {names.ALL_ESTIMATORS}"
            yield Answer(name, approximation, spread.max().item(), exact=0.0)


def slopes(divergence: str, estimator: str, pre_activation: Tensor) -> dict[str, Tensor]:
    """Return the slopes of a loss's terms on draws of q and of p, `[N]` by side.

    Args:
        divergence: a key of `DIVERGENCES`.
        estimator: a key of `ESTIMATORS`, or `EXACT` for the form without saturation.
        pre_activation: `[N]`; its dtype is that of the computation.
    """
    objective = Objective(divergence, estimator, estimator == names.EXACT, guarded=False)
    (_, on_q), (_, on_p) = objective.terms(pre_activation, pre_activation)
    return dict(zip(names.SIDES, (on_q, on_p), strict=True))


def saturation_slopes() -> pd.DataFrame:
    """Return columns `divergence`, `estimator` (or `EXACT`), `side`, `pre_activation`, `slope`."""
    stop = SATURATION_STOP + SATURATION_STEP
    grid = torch.arange(SATURATION_START, stop, SATURATION_STEP, dtype=torch.float64)
    parts = []
    for divergence, estimator in product(DIVERGENCES, (*ESTIMATORS, names.EXACT)):
        inputs = grid if estimator == names.EXACT else grid.float()
        for side, values in slopes(divergence, estimator, inputs).items():
            keys = {"divergence": divergence, "estimator": estimator, "side": side}
            parts.append(
                pd.DataFrame({**keys, "pre_activation": grid, "slope": values.double().numpy()})
            )
    return pd.concat(parts)


def saturation_answers(rows: pd.DataFrame) -> Iterator[Answer]:
    """Yield the pre-activation closest to zero at which each estimator's slope is wrong.

    Estimators whose slopes are right everywhere have no answer.
    """
    keys = ["divergence", "side", "pre_activation"]
    exact = rows[rows["estimator"] == names.EXACT].set_index(keys)["slope"].rename("exact")
    compared = rows[rows["estimator"] != names.EXACT].join(exact, on=keys)
    error = (compared["slope"] - compared["exact"]).abs()
    right = error <= SLOPE_TOLERANCE * (1 + compared["exact"].abs())  # false for NaN
    wrong = compared[~right].groupby(["divergence", "estimator", "side"])["pre_activation"]
    for (divergence, estimator, side), points in wrong:
        name = f"{label(divergence, estimator)}, draws of {side}"
        if (points > 0).any():
            yield Answer(SATURATION_POINT, name, float(points[points > 0].min()), "above")
        if (points < 0).any():
            yield Answer(SATURATION_POINT, name, float(points[points < 0].max()), "below")
