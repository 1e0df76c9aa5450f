"""The six losses of section 9.1 of the thesis, in the units of outputs and of pre-activations.

The thesis compares estimators in the units of their outputs. The network works in the units of its
pre-activation, in which the losses of a divergence coincide: only rounding makes the estimators
differ.
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
from bnnbench.experiment.kinds.table_experiment import TableExperiment, Tables
from bnnbench.experiment.store.answer_tables import ANSWERS, Answer
from bnnbench.random_streams import derive_seed
from bnnbench.suites.lam_density_ratio.names import DIVERGENCES, ESTIMATORS, SYMBOLS, label
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

MAX_PRE_ACTIVATION = 6.0
"""Largest absolute pre-activation; beyond it the formulas lose digits to rounding."""


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
        return {ANSWERS: answers, names.FUNCTIONALS: loss_curves(q, p)}


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
