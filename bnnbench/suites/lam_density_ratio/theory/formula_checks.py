"""Checks of section 9.1 of the thesis, on the six losses, at random points.

The thesis compares estimators in the units of their outputs. The network works in the units of its
pre-activation, in which the losses of a divergence coincide. Both are computed here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import torch
from torch import Tensor

from bnnbench.results.answers import Answer
from bnnbench.suites.lam_density_ratio.names import DIVERGENCES, ESTIMATORS, SYMBOLS, label
from bnnbench.suites.lam_density_ratio.theory.functionals import (
    ACTIVATIONS,
    FUNCTIONALS,
    Functional,
    derivatives,
    of_pre_activation,
    optimum,
)
from bnnbench.suites.lam_density_ratio.theory.names import (
    ALL_ESTIMATORS,
    D_OVER_R,
    DERIVATIVE_ERROR,
    IN_PRE_ACTIVATION,
    KL_OVER_GAN,
    MAX_STEP_RATIO,
    MIN_CURVATURE,
    MIN_EXCESS,
)

MAX_PRE_ACTIVATION = 6.0
"""Largest absolute pre-activation; beyond it the formulas lose digits to rounding."""


@dataclass(frozen=True)
class Points:
    """Points at which formulas are checked, `[N]` each, double precision.

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


def formula_checks(points: Points) -> Iterator[Answer]:
    """Yield the results of all checks."""
    for (divergence, estimator), functional in FUNCTIONALS.items():
        for order, error in zip(
            ("first", "second"), derivative_errors(functional, estimator, points), strict=True
        ):
            name = label(divergence, estimator)
            yield Answer(DERIVATIVE_ERROR.format(order), name, error, exact=0.0)
    yield Answer(MAX_STEP_RATIO, "D / r", max_step_ratio(points))
    yield from derivative_excesses(points)
    yield from in_pre_activation(points)


def derivative_errors(
    functional: Functional, estimator: str, points: Points
) -> tuple[float, float]:
    """Return the largest relative error of both printed derivatives against autograd."""
    outputs = ACTIVATIONS[estimator](points.pre_activation)
    true = derivatives(functional.loss, outputs, points.q, points.p)
    formulas = (f(outputs, points.q, points.p) for f in (functional.slope, functional.curvature))
    scale = points.q + points.p
    first, second = (
        ((formula - actual).abs() / (scale + actual.abs())).max().item()
        for formula, actual in zip(formulas, true, strict=True)
    )
    return first, second


def max_step_ratio(points: Points) -> float:
    """Return the largest `|D step| / |r step|` when `q` changes; below 1 by lemma 9.1.2."""
    steps = {
        name: optimum(name, points.q + points.change, points.p) - optimum(name, points.q, points.p)
        for name in ("class_probability", "ratio")
    }
    return float((steps["class_probability"] / steps["ratio"]).abs().max())


def derivative_excesses(points: Points) -> Iterator[Answer]:
    """Yield the smallest excess of one derivative over another, relative to its size."""
    outputs = {name: ACTIVATIONS[name](points.pre_activation) for name in ESTIMATORS}
    curvature = {
        key: functional.curvature(outputs[key[1]], points.q, points.p)
        for key, functional in FUNCTIONALS.items()
    }
    slope = {
        key: functional.slope(outputs[key[1]], points.q, points.p).abs()
        for key, functional in FUNCTIONALS.items()
    }

    def min_excess(first: Tensor, second: Tensor) -> float:
        return ((first - second) / first.abs()).min().item()

    yield Answer(
        MIN_EXCESS.format("second derivative"),
        D_OVER_R,
        min_excess(curvature["gan", "class_probability"], curvature["gan", "ratio"]),
    )
    yield Answer(
        MIN_EXCESS.format("second derivative"),
        KL_OVER_GAN,
        min_excess(curvature["kl_posterior_prior", "ratio"], curvature["gan", "ratio"]),
    )
    for divergence, other in product(DIVERGENCES, ("ratio", "log_ratio")):
        excess = min_excess(slope[divergence, "class_probability"], slope[divergence, other])
        name = f"{label(divergence, 'class_probability')} over {SYMBOLS[other]}"
        yield Answer(MIN_EXCESS.format("slope"), name, excess)
    for (divergence, estimator), values in curvature.items():
        yield Answer(MIN_CURVATURE, label(divergence, estimator), values.min().item())


def in_pre_activation(points: Points) -> Iterator[Answer]:
    """Yield the largest differences of derivatives with respect to the pre-activation."""
    scale = points.q + points.p
    for divergence in DIVERGENCES:
        both = [
            derivatives(
                of_pre_activation(divergence, estimator), points.pre_activation, points.q, points.p
            )
            for estimator in ESTIMATORS
        ]
        for order, by_estimator in zip(("first", "second"), zip(*both, strict=True), strict=True):
            stack = torch.stack(by_estimator)
            spread = (stack.amax(0) - stack.amin(0)) / (scale + stack.abs().amax(0))
            name = IN_PRE_ACTIVATION.format(order)
            approximation = f"{DIVERGENCES[divergence]}, {ALL_ESTIMATORS}"
            yield Answer(name, approximation, spread.max().item(), exact=0.0)
