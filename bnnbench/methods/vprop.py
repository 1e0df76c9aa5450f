"""Vprop: variational RMSprop, i.e. Vadam without momentum.

Khan et al., "Fast and Scalable Bayesian Deep Learning by Weight-Perturbation in Adam", ICML 2018;
Khan et al., "Vprop: Variational Inference using RMSprop", 2017. In the book: eqs. 4.61 and 4.62
with the momentum term dropped.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Annotated

import torch

from bnnbench.constraints import OneOf
from bnnbench.identity import optional_identity
from bnnbench.methods.shared.contract import FitTask, Method, State
from bnnbench.methods.shared.minibatches import Batch, Noise
from bnnbench.methods.vadam import Vadam
from bnnbench.nn import MLP
from bnnbench.optim import NativeUpdate
from bnnbench.settings import Training
from bnnbench.types import Hyper

VPROP, VADAM = "vprop", "vadam"


@dataclass(frozen=True, kw_only=True)
class Vprop(Vadam):
    """The posterior and samples of Vadam, updated without momentum.

    `s <- beta s + (1 - beta) g^2`, then `loc <- loc - rate (g + prior loc / N) / (sqrt(s) +
    prior / N)`, with `beta = training.betas[1]` and no bias correction.

    Attributes:
        square_root: whether to divide by `sqrt(s)`, like RMSprop and the authors' optimiser. False
            divides by `s + prior / N = 1 / (N sigma^2)`, the natural-gradient step as derived. Both
            have the same fixed point, but need different learning rates. Only the root comes close
            to the published results (yacht, 40 epochs).
        search_with: the method that the search of hyper-parameters fits. The authors used the
            values that Vadam's search had chosen, as `vprop_khan2018` does.
    """

    identity_name = "bnnbench.methods.vprop.Vprop"
    family = "vprop"
    square_root: bool = True
    search_with: Annotated[str, OneOf(VPROP, VADAM)] = optional_identity(VPROP)
    variants = ({"square_root": False},)

    @property
    def search_method(self) -> Method:
        if self.search_with == VPROP:
            return self
        return Vadam(**{field.name: getattr(self, field.name) for field in fields(Vadam)})

    def init(self, task: FitTask) -> State:
        state = super().init(task)
        return {"loc": state["loc"], "s": state["s"]}

    def update(
        self, mlp: MLP, training: Training, state: State, hyper: Hyper, batch: Batch, noise: Noise
    ) -> State:
        gradient, square, decay = self.perturbed_gradient(mlp, state, hyper, batch, noise)
        s = torch.lerp(square, state["s"], training.betas[1])
        scale = (s.sqrt() if self.square_root else s) + decay
        return {
            "loc": torch.addcdiv(state["loc"], -training.learning_rate * gradient, scale),
            "s": s,
        }

    def native_update(self) -> NativeUpdate:
        return NativeUpdate("vprop", ("loc", "s"), constants=(self.square_root,))
