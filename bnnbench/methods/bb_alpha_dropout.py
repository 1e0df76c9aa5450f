"""MC dropout with the black-box alpha energy.

Li & Gal, "Dropout Inference in Bayesian Neural Networks with Alpha-divergences", ICML 2017, section
4; the energy: Hernández-Lobato et al., "Black-Box Alpha Divergence Minimization", ICML 2016.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated

from torch import Tensor

from bnnbench.constraints import Finite, OneOf
from bnnbench.methods.mc_dropout import MCDropout
from bnnbench.methods.shared.minibatches import Batch
from bnnbench.optim import NativeUpdate
from bnnbench.types import Hyper


@dataclass(frozen=True, kw_only=True)
class BBAlphaDropout(MCDropout):
    """MC dropout with the black-box alpha energy as loss.

    The loss of a data point is computed from `training.samples` masks s:

        -1 / alpha log mean_s exp(-alpha loss_s)

    loss_s is the negative log-likelihood under mask s. The gradient is a weighted mean of the
    gradients of loss_s, with weights proportional to `exp(-alpha loss_s)`: alpha = 0 gives dropout,
    alpha = 1 the negative log predictive density. With a single sample it equals dropout. The
    penalty on the weights is unchanged. The energy requires separate masks for every row, so
    DropConnect, whose masks are shared by rows, is not available.

    This alpha is that of BB-alpha, where 0 is variational inference; the alpha of `method=renyi_vi`
    runs in the opposite direction. The paper has tables for 0, 0.5 and 1 with 10 samples, but does
    not report dropout rates and noise, so there is no preset. On naval its log-likelihood is the
    same for every alpha, possibly because of a lower bound on the noise.

    Attributes:
        alpha: any finite number; 0 is MC dropout.
    """

    identity_name = "bnnbench.methods.bb_alpha_dropout.BBAlphaDropout"
    family = "bb_alpha_dropout"
    alpha: Annotated[float, Finite()] = 0.5
    noise: Annotated[str, OneOf("bernoulli", "gaussian")] = "bernoulli"
    variants = ({"alpha": 1.0, "noise": "gaussian"},)

    def native_update(self) -> NativeUpdate | None:
        step = super().native_update()
        return step and replace(
            step, name="bb_alpha_dropout", constants=(*step.constants, self.alpha)
        )

    def output_gradients(self, outputs: Tensor, hyper: Hyper, batch: Batch) -> Tensor:
        losses = self.likelihood.value(outputs, batch.targets, hyper)
        weights = (-self.alpha * losses).softmax(0)
        gradients = super().output_gradients(outputs, hyper, batch)
        return len(outputs) * weights.unsqueeze(3) * gradients
