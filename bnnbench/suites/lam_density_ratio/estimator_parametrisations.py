"""The six losses of section 9.1 of the thesis, in the units of outputs and of pre-activations.

The thesis compares estimators in the units of their outputs. The network works in the units of its
pre-activation, in which the losses of a divergence coincide: only rounding makes the estimators
differ.

For fixed densities `q` and `p` at a point, the estimator's loss is a function of its output there
(thesis, example 9.1.1). Three outputs represent the same density ratio `q / p`: the class
probability `D = q / (q + p)`, the ratio `r = q / p` itself, and its logarithm `T`. The loss is
derived from the lower bound of the reverse KL, KL(q || p), or from that of the GAN divergence,
`2 JS - log 4` (section 7.2).

The derivatives are those printed in section 9.1.2, which are all correct. There are two
misprints: the headings say "Upper Bound" for lower bounds, and section 7.3.2 prints
`E_p[log D / (1 - D)]` for `E_p[D / (1 - D)]` in the loss of `D` under reverse KL.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Annotated, ClassVar

import pandas as pd
import torch
from torch import Tensor

from bnnbench.constraints import Between, Whole
from bnnbench.experiment.kinds.table_experiment import TableExperiment, Tables
from bnnbench.experiment.store.answer_tables import ANSWERS, Answer
from bnnbench.random_streams import derive_seed
from bnnbench.suites.lam_density_ratio.names import DIVERGENCES, ESTIMATORS, SYMBOLS, label

LOSS_TABLE = "functionals"
"""Table of losses at one point: `divergence`, `estimator`, `output` and `loss`."""

# Quantities and approximations of answers; some are templates.
MIN_EXCESS = "smallest excess of a {}"
IN_PRE_ACTIVATION = "{} derivative in the pre-activation, largest difference"
ALL_ESTIMATORS = "D, r and T"

SHOWN_PRE_ACTIVATIONS = {
    "class_probability": (-9.0, 9.0),
    "ratio": (-9.0, 1.4),
    "log_ratio": (-4.0, 4.0),
}
"""Ranges of Fig. 9.1, whose outputs come close to their bounds."""

SHOWN_POINTS = 400

MAX_PRE_ACTIVATION = 6.0
"""Largest absolute pre-activation; beyond it the formulas lose digits to rounding."""

EACH_DIVERGENCE = tuple(f"{name}, {ALL_ESTIMATORS}" for name in DIVERGENCES.values())

OfOutput = Callable[[Tensor, Tensor, Tensor], Tensor]
"""A function of the output and of both densities `q` and `p`, all of one shape."""


@dataclass(frozen=True)
class Functional:
    """A loss at one point, as a function of the estimator's output there.

    Attributes:
        loss: `q` times the term under `E_q` plus `p` times the term under `E_p`.
        slope: first derivative with respect to the output.
        curvature: second derivative with respect to the output.
    """

    loss: OfOutput
    slope: OfOutput
    curvature: OfOutput


FUNCTIONALS: Mapping[tuple[str, str], Functional] = {
    ("gan", "class_probability"): Functional(
        lambda d, q, p: -q * torch.log(d) - p * torch.log(1 - d),
        lambda d, q, p: -q / d + p / (1 - d),
        lambda d, q, p: q / d**2 + p / (1 - d) ** 2,
    ),
    ("gan", "ratio"): Functional(
        lambda r, q, p: q * torch.log((r + 1) / r) + p * torch.log(r + 1),
        lambda r, q, p: -q / r + (q + p) / (r + 1),
        lambda r, q, p: q / r**2 - (q + p) / (r + 1) ** 2,
    ),
    ("gan", "log_ratio"): Functional(
        lambda t, q, p: (
            q * torch.log((torch.exp(t) + 1) / torch.exp(t)) + p * torch.log(1 + t.exp())
        ),
        lambda t, q, p: -q + (q + p) * torch.sigmoid(t),
        lambda t, q, p: (q + p) * torch.exp(t) / (torch.exp(t) + 1) ** 2,
    ),
    ("kl_posterior_prior", "class_probability"): Functional(
        lambda d, q, p: q * torch.log((1 - d) / d) + p * d / (1 - d),
        lambda d, q, p: -q / d - q / (1 - d) + p / (1 - d) ** 2,
        lambda d, q, p: q / d**2 - q / (1 - d) ** 2 + 2 * p / (1 - d) ** 3,
    ),
    ("kl_posterior_prior", "ratio"): Functional(
        lambda r, q, p: -q * torch.log(r) + p * r,
        lambda r, q, p: -q / r + p,
        lambda r, q, p: q / r**2,
    ),
    ("kl_posterior_prior", "log_ratio"): Functional(
        lambda t, q, p: -q * t + p * torch.exp(t),
        lambda t, q, p: -q + p * torch.exp(t),
        lambda t, q, p: p * torch.exp(t),
    ),
}
"""By divergence and estimator, in the order of the panels of Fig. 9.1."""

ACTIVATIONS: Mapping[str, Callable[[Tensor], Tensor]] = {
    "class_probability": torch.sigmoid,
    "ratio": torch.exp,
    "log_ratio": lambda pre_activation: pre_activation,
}
"""Output activation of each estimator.

All three outputs then represent the same ratio, `D / (1 - D) = r = exp(T)`, so the loss of a
divergence is the same function of the pre-activation for every estimator (lemma 10.3.1 of the
thesis states this for `D` only).
"""


def optimum(estimator: str, q: Tensor, p: Tensor) -> Tensor:
    """Return the output that minimises the loss (lemmas 4.1.1 and 4.2.2)."""
    return ACTIVATIONS[estimator](torch.log(q / p))


def of_pre_activation(divergence: str, estimator: str) -> OfOutput:
    """Return the loss as a function of the pre-activation."""
    loss, activation = FUNCTIONALS[divergence, estimator].loss, ACTIVATIONS[estimator]
    return lambda pre_activation, q, p: loss(activation(pre_activation), q, p)


def derivatives(loss: OfOutput, at: Tensor, q: Tensor, p: Tensor) -> tuple[Tensor, Tensor]:
    """Return the first and second derivative at outputs `at`, by automatic differentiation.

    All tensors are `[N]`, and `loss` is an elementwise function of its first argument.
    """
    at = at.detach().requires_grad_()
    (slope,) = torch.autograd.grad(loss(at, q, p).sum(), at, create_graph=True)
    if not slope.requires_grad:
        return slope, torch.zeros_like(slope)
    (curvature,) = torch.autograd.grad(slope.sum(), at)
    return slope.detach(), curvature


@dataclass(frozen=True, kw_only=True)
class EstimatorParametrisations(TableExperiment):
    """Loss functionals of three estimators under two divergences, at one point and at many.

    Attributes:
        q: density q at the point of Fig. 9.1.
        p: density p there.
        points: number of random points at which derivatives are compared.
        seed: seed of these points.
    """

    identity_name = (
        "bnnbench.suites.lam_density_ratio.theory.parametrisations.EstimatorParametrisations"
    )
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
        """Return the curves of Fig. 9.1 and the answers."""
        points = random_points(self.points, derive_seed(self.seed, "points"))
        q, p = torch.tensor([self.q, self.p], dtype=torch.float64, device="cpu")
        answers = [*comparisons(points), *in_pre_activation(points)]
        return {ANSWERS: answers, LOSS_TABLE: loss_curves(q, p)}


def loss_curves(q: Tensor, p: Tensor) -> pd.DataFrame:
    """Return the six panels of Fig. 9.1: columns `divergence`, `estimator`, `output`, `loss`."""
    panels = []
    for (divergence, estimator), functional in FUNCTIONALS.items():
        limits = SHOWN_PRE_ACTIVATIONS[estimator]
        outputs = ACTIVATIONS[estimator](
            torch.linspace(*limits, SHOWN_POINTS, dtype=torch.float64, device="cpu")
        )
        losses = functional.loss(outputs, q, p)
        keys = {"divergence": divergence, "estimator": estimator}
        panels.append(pd.DataFrame({**keys, "output": outputs, "loss": losses}))
    return pd.concat(panels)


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
    uniform = torch.rand(4, number, generator=generator, dtype=torch.float64, device="cpu")
    q, p = torch.pow(0.01, uniform[:2])
    return Points(q, p, MAX_PRE_ACTIVATION * (2 * uniform[2] - 1), q * (3 * uniform[3] - 1))


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
        return Answer(MIN_EXCESS.format(order), name, value)

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
            name = IN_PRE_ACTIVATION.format(order)
            approximation = f"{title}, {ALL_ESTIMATORS}"
            yield Answer(name, approximation, spread.max().item(), exact=0.0)
