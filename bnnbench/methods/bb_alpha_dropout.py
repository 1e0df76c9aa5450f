"""MC dropout by the black-box alpha energy, in which samples that fit a point count more for it.

Li & Gal, "Dropout Inference in Bayesian Neural Networks with Alpha-divergences", ICML 2017, section
4; the energy: Hernández-Lobato et al., "Black-Box Alpha Divergence Minimization", ICML 2016.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from torch import Tensor

from bnnbench.checks import check_choice, check_finite
from bnnbench.methods.mc_dropout import MCDropout
from bnnbench.methods.shared.trainer import Batch
from bnnbench.types import Hyper


@dataclass(frozen=True, kw_only=True)
class BBAlphaDropout(MCDropout):
    """MC dropout by another loss of a data point, made of `training.samples` masks of it.

        -1 / alpha log mean_s exp(-alpha loss_s)

    loss_s is the negative log-likelihood under mask s. Its slope is the mean of theirs, weighed in
    proportion to `exp(-alpha loss_s)`: at 0 that of dropout, towards 1 that of minus the log
    density that is predicted for the point. A single sample has nothing to weigh, and is dropout.
    The penalty on the weights is the same. Masks are drawn row by row, as the energy has it;
    masks of whole weights, which rows share, are not offered.

    This alpha is that of BB-alpha, for which variational inference is 0, and runs against that of
    `method=renyi_vi`. The paper prints tables for 0, 0.5 and 1 with 10 samples. Dropout and noise
    behind them are not on record, so that none is a preset here, and on naval one log-likelihood is
    printed for every alpha, as if by a floor under the noise.

    Attributes:
        alpha: of the energy, any finite number; 0 is MC dropout.
    """

    alpha: float = 0.5
    variants: ClassVar[tuple[Mapping[str, Any], ...]] = ({"alpha": 1.0, "noise": "gaussian"},)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_finite("method.alpha", self.alpha)
        check_choice("method.noise", self.noise, ("bernoulli", "gaussian"))

    def output_slopes(self, outputs: Tensor, hyper: Hyper, batch: Batch) -> Tensor:
        losses = self.likelihood.value(outputs, batch.targets, hyper)
        shares = (-self.alpha * losses).softmax(0)
        slopes = super().output_slopes(outputs, hyper, batch)
        return len(outputs) * shares.unsqueeze(3) * slopes
