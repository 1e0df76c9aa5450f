"""Vprop: variational RMSprop, which is Vadam without momentum.

Khan et al., "Fast and Scalable Bayesian Deep Learning by Weight-Perturbation in Adam", ICML 2018;
Khan et al., "Vprop: Variational Inference using RMSprop", 2017. In the book: eqs. 4.61 and 4.62
with the momentum term dropped.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import torch

from bnnbench.methods.shared.contract import FitTask
from bnnbench.methods.shared.trainer import Batch, Noise, State
from bnnbench.methods.vadam import Vadam
from bnnbench.nn import MLP
from bnnbench.optim import Rule
from bnnbench.settings import Training
from bnnbench.types import Hyper, UserError


@dataclass(frozen=True, kw_only=True)
class Vprop(Vadam):
    """Vadam's posterior and samples; the mean follows the perturbed gradient itself.

    `s <- beta s + (1 - beta) g^2`, then `loc <- loc - rate (g + prior loc / N) / (sqrt(s) +
    prior / N)`, with the second of `training.betas` and no correction for the start at zero. The
    authors ran it with the hyper-parameters that Vadam's search had chosen; here it searches its
    own.

    Attributes:
        square_root: divide by `sqrt(s)`, as RMSprop and the authors' optimiser do. False divides
            by `s + prior / N = 1 / (N sigma^2)`, the natural-gradient step as derived. Both rest
            at the same posterior; only the way there differs, and with it the learning rate that
            suits. Only the root comes near the published results (yacht, 40 epochs).
    """

    square_root: bool = True
    variants: ClassVar[tuple[Mapping[str, Any], ...]] = ({"square_root": False},)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.square_root, bool):
            raise UserError(f"method.square_root must be true or false, not {self.square_root!r}.")

    def init(self, task: FitTask) -> State:
        state = super().init(task)
        return {"loc": state["loc"], "s": state["s"]}

    def update(
        self, mlp: MLP, training: Training, state: State, hyper: Hyper, batch: Batch, noise: Noise
    ) -> State:
        gradient, square, pull = self.perturbed_gradient(mlp, state, hyper, batch, noise)
        s = torch.lerp(square, state["s"], training.betas[1])
        scale = (s.sqrt() if self.square_root else s) + pull
        return {
            "loc": torch.addcdiv(state["loc"], -training.learning_rate * gradient, scale),
            "s": s,
        }

    def rule(self) -> Rule:
        return Rule("vprop", ("loc", "s"), own=(self.square_root,))
