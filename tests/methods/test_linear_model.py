"""Known optima of methods for a linear model: mode, mean-field posterior, or own fixed point."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest
import torch
from support.fixed_point import fixed_point
from support.linear_model import ADAM_TO_CONVERGENCE, N, exact_posterior, fit
from support.quick import slow_except
from torch import Tensor

from bnnbench.divergences.kl import KL
from bnnbench.methods.bbb import BBB
from bnnbench.methods.deep_ensemble import DeepEnsemble
from bnnbench.methods.dvi import DVI
from bnnbench.methods.ivon import IVON
from bnnbench.methods.mc_dropout import MCDropout
from bnnbench.methods.practical_vi import PracticalVI
from bnnbench.methods.shared.gaussian import GaussianMethod
from bnnbench.methods.shared.trainer import StochasticMethod
from bnnbench.methods.vadam import Vadam
from bnnbench.methods.vprop import Vprop


@dataclass(frozen=True)
class Known:
    """A method with a known Gaussian posterior.

    Attributes:
        method: with its settings.
        epochs: of full batches; the number of steps does not depend on the size of minibatches.
        atol: tolerance of the means, which are exact.
        rtol: tolerance of the deviations.
        rows_of_curvature: rows whose gradients the method averages before squaring, which
            determines its fixed point; None if it finds the mean-field optimum.
        training: settings.
    """

    method: GaussianMethod
    epochs: int
    atol: float
    rtol: float
    rows_of_curvature: int | None = None
    training: dict[str, Any] = field(default_factory=dict)

    def deviations(self, mean: Tensor, precision: Tensor) -> Tensor:
        """The minimiser of KL(q || p) has the diagonal of the exact precision."""
        if self.rows_of_curvature is None:
            return precision.diagonal().rsqrt()
        return fixed_point(mean, self.rows_of_curvature).sqrt()


BBB_KL = BBB(label="b", divergence=KL(label="kl"))
SLOW = {"learning_rate": 0.01, "betas": (0.9, 0.999), "samples": 300}
NEWTON = {"learning_rate": 0.04, "betas": (0.9, 0.99), "samples": 50}
VADAM = {"learning_rate": 0.006, "betas": (0.9, 0.99), "samples": 400}
SQUARES = VADAM | {"learning_rate": 0.018}
GRADIENTS = {"learning_rate": 0.02, "samples": 400}
SQUARED = Vprop(label="v", square_root=False)
KNOWN = {
    "bbb": Known(BBB_KL, 1000, 0.02, 0.03, training=SLOW),
    "ivon": Known(IVON(label="i"), 500, 0.01, 0.015, training=NEWTON),
    # Nothing is sampled, so the result is accurate to many digits.
    "dvi": Known(DVI(label="d"), 800, 1e-5, 5e-5, training=ADAM_TO_CONVERGENCE),
    # The Gauss-Newton matrix is the Hessian, the same for all samples.
    "gauss_newton": Known(
        PracticalVI(label="p", curvature="gauss_newton"), 800, 0.02, 1e-3, training=GRADIENTS
    ),
    # `N E[g^2] + prior`: larger minibatches, squared after averaging, underestimate the curvature.
    "vadam, minibatches": Known(Vadam(label="v"), 250, 0.01, 0.03, 10, {"batch_size": 10, **VADAM}),
    "vprop": Known(Vprop(label="v"), 1000, 0.01, 0.03, N, VADAM),
    "vprop, squares, minibatches": Known(
        SQUARED, 250, 0.01, 0.03, 10, {"batch_size": 10, **SQUARES}
    ),
    # It squares the gradient of each row, for any size of minibatches.
    "practical_vi, minibatches": Known(
        PracticalVI(label="p"), 300, 0.02, 0.03, 1, {"batch_size": 10, **GRADIENTS}
    ),
}


@pytest.mark.parametrize("name", slow_except(KNOWN, "bbb"))
def test_posteriors_with_known_moments(name: str) -> None:
    known, (mean, precision) = KNOWN[name], exact_posterior()
    loc, scale = known.method.moments(fit(known.method, known.epochs, **known.training))
    torch.testing.assert_close(loc[0], mean, atol=known.atol, rtol=0)
    expected = known.deviations(mean, precision)
    torch.testing.assert_close(scale[0], expected, atol=0, rtol=known.rtol)


@pytest.mark.parametrize(
    "method",
    [DeepEnsemble(label="d", members=3), MCDropout(label="m")],
    ids=["deep_ensemble", "mc_dropout without dropout"],
)
def test_networks_at_the_mode(method: StochasticMethod) -> None:
    """For a linear model, the mode is ridge regression."""
    mean, _ = exact_posterior()
    found = fit(method, 600, samples=1, **ADAM_TO_CONVERGENCE).state["loc"].view(-1, 3)
    torch.testing.assert_close(found, mean.expand_as(found), atol=1e-3, rtol=0)
