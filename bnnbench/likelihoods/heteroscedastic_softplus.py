"""A Gaussian whose variance is the softplus of an output (Lakshminarayanan et al. 2017)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from bnnbench import portable_math
from bnnbench.likelihoods.heteroscedastic import Heteroscedastic

MIN_VARIANCE = 1e-6  # in squared target deviations


@dataclass(frozen=True, kw_only=True)
class HeteroscedasticSoftplus(Heteroscedastic):
    """`Normal(o_1, softplus(o_2) + 1e-6)`, with `softplus(x) = log(1 + exp(x))`.

    Lakshminarayanan et al., "Simple and Scalable Predictive Uncertainty Estimation using Deep
    Ensembles", NIPS 2017, section 2.2.1, footnote 2.

    The minimum bounds the precision, so a squared error times the precision, squared again by Adam,
    does not overflow float32. Unlike that of `Heteroscedastic`, the derivative is zero in float32
    for `o_2 < -86`, so that such a noise can no longer grow.
    """

    identity_name = "bnnbench.likelihoods.heteroscedastic_softplus.HeteroscedasticSoftplus"
    label: str = "heteroscedastic_softplus"

    def precision_and_slope(self, raw: Tensor) -> tuple[Tensor, Tensor]:
        precision = 1 / (functional.softplus(raw) + MIN_VARIANCE)
        return precision, 0.5 * torch.sigmoid(raw) * precision

    def variance(self, raw: Tensor) -> Tensor:
        return portable_math.softplus(raw) + MIN_VARIANCE
