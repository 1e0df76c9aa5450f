"""What section 9.1 of the thesis says of the six losses, put to the test at random points.

Every comparison of two estimators there is made in the units of their outputs. The network works in
those of its pre-activation, where the losses of a divergence coincide; both are found here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import torch
from torch import Tensor

from bnnbench.results.answers import Answer
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
    DIVERGENCES,
    ESTIMATORS,
    GREATEST_STEP,
    IN_PRE_ACTIVATION,
    LEAST_CURVATURE,
    LEAST_EXCESS,
    PRINTED,
)

REACH = 6.0
"""Largest pre-activation, in size: beyond it the formulas lose digits that they could keep."""


@dataclass(frozen=True)
class Points:
    """Where formulas are tried, `[N]` each, double precision.

    Attributes:
        q: density of the posterior's side.
        p: density of the prior's side.
        pre_activation: of the network; the outputs that stand for it are its activations.
        change: of `q` in one step of the posterior, never below `-q`.
    """

    q: Tensor
    p: Tensor
    pre_activation: Tensor
    change: Tensor


def random_points(number: int, seed: int) -> Points:
    """Densities from 0.01 to 1 and ratios from `exp(-REACH)` to `exp(REACH)`, log-uniform."""
    generator = torch.Generator().manual_seed(seed)
    uniform = torch.rand(4, number, generator=generator, dtype=torch.float64)
    q, p = torch.pow(0.01, uniform[:2])
    return Points(q, p, REACH * (2 * uniform[2] - 1), q * (3 * uniform[3] - 1))


def facts(points: Points) -> Iterator[Answer]:
    """What was found at the random points."""
    for (divergence, estimator), functional in FUNCTIONALS.items():
        for order, error in zip(
            ("first", "second"), errors(functional, estimator, points), strict=True
        ):
            yield Answer(PRINTED.format(order), f"{divergence}, {estimator}", error, exact=0.0)
    yield Answer(GREATEST_STEP, "D / r", displacement(points))
    yield from excesses(points)
    yield from in_pre_activation(points)


def errors(functional: Functional, estimator: str, points: Points) -> tuple[float, float]:
    """Of both derivatives as printed, the greatest relative error against differentiation."""
    outputs = ACTIVATIONS[estimator](points.pre_activation)
    true = derivatives(functional.loss, outputs, points.q, points.p)
    formulas = (f(outputs, points.q, points.p) for f in (functional.slope, functional.curvature))
    scale = points.q + points.p
    first, second = (
        ((formula - own).abs() / (scale + own.abs())).max().item()
        for formula, own in zip(formulas, true, strict=True)
    )
    return first, second


def displacement(points: Points) -> float:
    """The greatest `|D step| / |r step|` when `q` changes (lemma 9.1.2 says: below 1)."""
    steps = {
        name: optimum(name, points.q + points.change, points.p) - optimum(name, points.q, points.p)
        for name in ("D", "r")
    }
    return float((steps["D"] / steps["r"]).abs().max())


def excesses(points: Points) -> Iterator[Answer]:
    """By how much one second derivative exceeds another at least, relative to its own size."""
    outputs = {name: ACTIVATIONS[name](points.pre_activation) for name in ESTIMATORS}
    size = {
        key: functional.curvature(outputs[key[1]], points.q, points.p)
        for key, functional in FUNCTIONALS.items()
    }
    steep = {
        key: functional.slope(outputs[key[1]], points.q, points.p).abs()
        for key, functional in FUNCTIONALS.items()
    }

    def least(first: Tensor, second: Tensor) -> float:
        return ((first - second) / first.abs()).min().item()

    yield Answer(
        LEAST_EXCESS.format("second derivative"),
        "gan, D over r",
        least(size["gan", "D"], size["gan", "r"]),
    )
    yield Answer(
        LEAST_EXCESS.format("second derivative"),
        "r, reverse_kl over gan",
        least(size["reverse_kl", "r"], size["gan", "r"]),
    )
    for divergence, other in product(DIVERGENCES, ("r", "T")):
        excess = least(steep[divergence, "D"], steep[divergence, other])
        yield Answer(LEAST_EXCESS.format("slope"), f"{divergence}, D over {other}", excess)
    for (divergence, estimator), own in size.items():
        yield Answer(LEAST_CURVATURE, f"{divergence}, {estimator}", own.min().item())


def in_pre_activation(points: Points) -> Iterator[Answer]:
    """How far the estimators differ where the network works, before their output activations."""
    scale = points.q + points.p
    for divergence in DIVERGENCES:
        found = [
            derivatives(
                of_pre_activation(divergence, estimator), points.pre_activation, points.q, points.p
            )
            for estimator in ESTIMATORS
        ]
        for order, own in zip(("first", "second"), zip(*found, strict=True), strict=True):
            stack = torch.stack(own)
            spread = (stack.amax(0) - stack.amin(0)) / (scale + stack.abs().amax(0))
            name = IN_PRE_ACTIVATION.format(order)
            approximation = f"{divergence}, {ALL_ESTIMATORS}"
            yield Answer(name, approximation, spread.max().item(), exact=0.0)
