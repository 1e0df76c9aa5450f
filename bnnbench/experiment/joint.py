"""Joint predictive distributions: how the predictions of several inputs depend on each other."""

from __future__ import annotations

from functools import singledispatch

import torch
from torch import Tensor

from bnnbench.methods.cavi import CAVI, with_ones
from bnnbench.methods.gp import GP, _matern
from bnnbench.methods.hmc import HMC
from bnnbench.methods.laplace import Laplace
from bnnbench.methods.last_layer import LastLayer
from bnnbench.methods.linear import Linear
from bnnbench.methods.mile import MILE
from bnnbench.methods.shared.contract import Method, Posterior
from bnnbench.methods.shared.sgmcmc import SGMCMC
from bnnbench.methods.shared.trainer import StochasticMethod
from bnnbench.methods.svgd import SVGD
from bnnbench.nn import forward, outer_factors

DRAWS, COVARIANCE, MARGINALS = "draws", "covariance", "marginals"


@singledispatch
def joint(method: Method) -> str:
    """Return how a method describes the joint distribution of its predictions.

    - `draws`: component s of a prediction is the same network for every row.
    - `covariance`: one Gaussian per row, whose joint covariance `joint_covariance` returns.
    - `marginals`: one Gaussian per row, and nothing about their dependence.
    """
    draws_networks = type(method).predict is StochasticMethod.predict
    return DRAWS if draws_networks else MARGINALS


@joint.register
def _(method: HMC | MILE | SGMCMC | SVGD) -> str:
    return DRAWS


@joint.register
def _(method: Linear | CAVI | GP | LastLayer) -> str:
    return COVARIANCE


@joint.register
def _(method: Laplace) -> str:
    return DRAWS if method.is_stochastic else COVARIANCE


@singledispatch
def joint_covariance(method: Method, posterior: Posterior, inputs: Tensor) -> Tensor:
    """Return the epistemic covariance of the predictions, `[R, M, M]`, standardised units, float64.

    Its diagonal is the epistemic variance of `predict`.

    Args:
        method: one whose `joint` is `covariance`.
        posterior: from its `fit`.
        inputs: standardised, `[R, M, D]`.

    Raises:
        NotImplementedError: for other methods.
    """
    raise NotImplementedError(method.label)


@joint_covariance.register
def _(method: Linear, posterior: Posterior, inputs: Tensor) -> Tensor:
    """Return `x' S x'`, x centred; the intercept counts as known."""
    centred = inputs.double() - posterior.state["centre"][:, None]
    return _symmetric(centred @ posterior.state["covariance"] @ centred.mT)


@joint_covariance.register
def _(method: CAVI, posterior: Posterior, inputs: Tensor) -> Tensor:
    """Return `x' S x'`, with independent weights."""
    rows, (_, scale) = with_ones(inputs.double()), method.moments(posterior)
    return _symmetric((rows * scale.square()[:, None]) @ rows.mT)


@joint_covariance.register
def _(method: GP, posterior: Posterior, inputs: Tensor) -> Tensor:
    """Return `k(x, x') - k(x, X) (K + noise)^-1 k(X, x')` (Rasmussen & Williams, eq. 2.24)."""
    state, x = posterior.state, inputs.double()
    signal, scales = state["kernel"][:, :1, None], state["kernel"][:, None, 2:]
    cross = signal * _matern(torch.cdist(x / scales, state["inputs"] / scales))
    real = torch.arange(cross.shape[2], device=x.device) < posterior.counts
    explained = (cross * real[:, None]) @ state["inverse_root"].mT
    prior = signal * _matern(torch.cdist(x / scales, x / scales))
    return _symmetric(prior - explained @ explained.mT)


@joint_covariance.register
def _(method: Laplace | LastLayer, posterior: Posterior, inputs: Tensor) -> Tensor:
    """Return `J S J'`, J the gradients of the mean output at the mode and S the covariance."""
    loc = posterior.state["loc"][None].double()
    outputs, tape = forward(posterior.mlp, loc, inputs.double())
    d_outputs = torch.zeros_like(outputs)
    d_outputs[..., 0] = 1
    layers = outer_factors(tape, d_outputs)
    jacobian = torch.cat([(h[..., None] * d[:, :, None]).flatten(2) for h, d in layers], 2)
    return _symmetric(jacobian @ method.covariance(posterior) @ jacobian.mT)


def _symmetric(matrix: Tensor) -> Tensor:
    """Return a matrix without the asymmetry of rounding."""
    return (matrix + matrix.mT) / 2
