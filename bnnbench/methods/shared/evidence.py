"""The Laplace approximation of the log marginal likelihood, and the precisions that maximise it.

With the weights `w*` of the network, the prior precision `a`, and the eigenvalues `lambda` of the
Gauss-Newton matrix of the negative log-likelihood, the log marginal likelihood (evidence) is

    log p(y | w*) - a ||w*||^2 / 2 + (P / 2) log a - sum_i log(lambda_i + a) / 2

MacKay, "A Practical Bayesian Framework for Backpropagation Networks", Neural Computation 1992;
Immer et al., "Scalable Marginal Likelihood Estimation for Model Selection in Deep Learning", ICML
2021. Exact for a model that is linear in its weights, at the posterior mean.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

PRECISION_BOUNDS = (1e-6, 1e6)
"""Bounds of the prior precision, or of its ratio to the noise precision."""

BISECTION_STEPS = 60  # enough for float64 precision


def log_evidence(
    log_likelihood: Tensor, square: Tensor, eigenvalues: Tensor, prior: Tensor
) -> Tensor:
    """Return the log marginal likelihood in nats, `[R, 1]`.

    Args:
        log_likelihood: of all training targets at `w*`, `[R, 1]`.
        square: `||w*||^2`, `[R, 1]`.
        eigenvalues: `lambda`, `[R, P]`.
        prior: precision `a`, `[R, 1]`.
    """
    log_ratios = (eigenvalues / prior).log1p().sum(1, keepdim=True)
    return log_likelihood - 0.5 * (prior * square + log_ratios)


def optimal_prior_precision(eigenvalues: Tensor, square: Tensor) -> Tensor:
    """Return the prior precision that maximises the log evidence at fixed weights, `[R, 1]`.

    At the maximum, `prior ||w||^2` is the effective number of parameters (MacKay 1992; Bishop,
    "Pattern Recognition and Machine Learning", eqs. 3.91 and 3.92):

        prior ||w||^2 = sum_i lambda_i / (lambda_i + prior)

    The left side increases with the prior and the right side decreases, so the solution is unique.

    Args:
        eigenvalues: `lambda`, of the loss's curvature, `[R, P]`.
        square: `||w||^2`, `[R, 1]`.
    """
    return _crossing(
        lambda prior: _effective_parameters(eigenvalues, prior) > prior * square, square
    )


def optimal_precisions(
    eigenvalues: Tensor, square: Tensor, squared_error: Tensor, rows: Tensor
) -> tuple[Tensor, Tensor]:
    """Return the prior and noise precision that maximise the log evidence at fixed weights.

    For the noise precision b and the ratio `r = a / b`, `lambda` is b times the eigenvalues m at
    unit noise, and the log determinants do not depend on b. Hence `b = N / (E + r ||w||^2)`, with E
    the sum of squared errors, and r is the unique solution of

        sum_i m_i / (m_i + r) = N r ||w||^2 / (E + r ||w||^2)

    whose left side decreases with r while the right side increases.

    Args:
        eigenvalues: `m`, of the curvature for unit noise precision, `[R, P]`.
        square: `||w||^2`, `[R, 1]`.
        squared_error: E, `[R, 1]`.
        rows: N, `[R, 1]`.

    Returns:
        Prior precision and noise precision, `[R, 1]` each.
    """

    def noise(ratio: Tensor) -> Tensor:
        return rows / (squared_error + ratio * square)

    ratio = _crossing(
        lambda r: _effective_parameters(eigenvalues, r) > noise(r) * r * square, square
    )
    return ratio * noise(ratio), noise(ratio)


def _effective_parameters(eigenvalues: Tensor, prior: Tensor) -> Tensor:
    """Return `sum_i lambda_i / (lambda_i + prior)`, `[R, 1]`."""
    return (eigenvalues / (eigenvalues + prior)).sum(1, keepdim=True)


def _crossing(too_small: Callable[[Tensor], Tensor], like: Tensor) -> Tensor:
    """Return the value within `PRECISION_BOUNDS` where `too_small` ends, by bisection of its log.

    Args:
        too_small: whether a value `[R, 1]` is below the solution.
        like: any tensor `[R, 1]`.
    """
    low, high = (torch.full_like(like, math.log(bound)) for bound in PRECISION_BOUNDS)
    for _ in range(BISECTION_STEPS):
        middle = (low + high) / 2
        below = too_small(middle.exp())
        low, high = torch.where(below, middle, low), torch.where(below, high, middle)
    return ((low + high) / 2).exp()
