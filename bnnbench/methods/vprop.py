"""Vprop: variational RMSprop, i.e. Vadam without momentum.

Khan et al., "Fast and Scalable Bayesian Deep Learning by Weight-Perturbation in Adam", ICML 2018;
Khan et al., "Vprop: Variational Inference using RMSprop", 2017. In the book: eqs. 4.61 and 4.62
with the momentum term dropped.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

from bnnbench.methods.shared.contract import Batch, FitTask, Noise, State
from bnnbench.methods.vadam import Vadam
from bnnbench.nn import MLP
from bnnbench.optim import NativeUpdate
from bnnbench.settings import Training
from bnnbench.types import Hyper


@dataclass(frozen=True, kw_only=True)
class Vprop(Vadam):
    """The posterior and samples of Vadam, updated without momentum.

    `s <- beta s + (1 - beta) g^2`, then `loc <- loc - rate (g + prior loc / N) / (sqrt(s) +
    prior / N)`, with `beta = training.betas[1]` and no bias correction. The authors used the
    hyper-parameters from Vadam's search; here they are searched separately.

    Attributes:
        square_root: whether to divide by `sqrt(s)`, like RMSprop and the authors' optimiser. False
            divides by `s + prior / N = 1 / (N sigma^2)`, the natural-gradient step as derived. Both
            have the same fixed point, but need different learning rates. Only the root comes close
            to the published results (yacht, 40 epochs).
    """

    identity_name = "bnnbench.methods.vprop.Vprop"
    family = "vprop"
    square_root: bool = True
    variants = ({"square_root": False},)

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
