"""A fast Gaussian process for scikit-optimize.

The same model as `skopt.learning.GaussianProcessRegressor` with a constant times a Matern 5/2
kernel, Gaussian noise and standardised targets (Rasmussen and Williams, "Gaussian Processes for
Machine Learning", 2006, Algorithm 2.1 and eq. 5.9), fitted by the same optimiser from the same
start, so that suggestions are the same. With about thirty points, that class spends nearly all of
its time on checks and copies of kernel objects.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dpotrf, dpotri, dpotrs
from scipy.optimize import minimize
from sklearn.base import BaseEstimator, RegressorMixin

Array = NDArray[np.float64]

AMPLITUDES = (1e-2, 1e3)
NOISES = (1e-5, 1e5)
JITTER = 1e-10
"""Bounds of amplitude and noise, and the jitter, as in scikit-optimize; standardised targets."""

ROOT5 = 5**0.5


@dataclass(frozen=True)
class Matern:
    """`amplitude` times a Matern 5/2 kernel with a length scale per input.

    Attributes:
        amplitude: variance of the function.
        length_scales: `[D]`.
    """

    amplitude: float
    length_scales: Array

    def between(self, inputs: Array, others: Array) -> Array:
        """Return the covariances `[N, M]` of two sets of points, `[N, D]` and `[M, D]`."""
        root = ROOT5 * np.sqrt(self._squares(inputs, others))
        return self.amplitude * (1 + root + root**2 / 3) * np.exp(-root)

    def slopes(self, point: Array, others: Array) -> Array:
        """Return the gradients `[M, D]` of the covariances with a point `[D]`, at that point."""
        root = ROOT5 * np.sqrt(self._squares(point[None], others)[0])[:, None]
        along = (point - others) / self.length_scales**2
        return -5 / 3 * self.amplitude * (1 + root) * np.exp(-root) * along

    def _squares(self, inputs: Array, others: Array) -> Array:
        steps = inputs[:, None] / self.length_scales - others / self.length_scales
        return np.einsum("nmd,nmd->nm", steps, steps)


def negative_log_likelihood(theta: Array, squares: Array, targets: Array) -> tuple[float, Array]:
    """Return the negative log marginal likelihood of a zero-mean process, and its gradient.

    Args:
        theta: logarithms of amplitude, length scales and noise variance, `[D + 2]`.
        squares: squared differences of the inputs by dimension, `[D, N, N]`.
        targets: `[N]`.

    Returns:
        The value in nats, infinite if the covariance is not positive definite, and the gradient
        `[D + 2]`.
    """
    amplitude, noise = np.exp(theta[0]), np.exp(theta[-1])
    inverse_squares = np.exp(-2 * theta[1:-1])
    n = len(targets)
    root = ROOT5 * np.sqrt(np.tensordot(inverse_squares, squares, 1))
    decay = np.exp(-root)
    signal = amplitude * (1 + root + root**2 / 3) * decay
    covariance = signal + (noise + JITTER) * np.eye(n)
    factor, failed = dpotrf(covariance, lower=1)
    if failed:
        return np.inf, np.zeros_like(theta)
    weights, _ = dpotrs(factor, targets, lower=1)
    lower, _ = dpotri(factor, lower=1)
    lower = np.tril(lower)
    inverse = lower + lower.T - np.diag(lower.diagonal())
    value = 0.5 * targets @ weights + np.log(factor.diagonal()).sum() + 0.5 * n * np.log(2 * np.pi)
    inner = 0.5 * (inverse - np.outer(weights, weights))
    by_scales = np.tensordot(squares, inner * (5 / 3 * amplitude * (1 + root) * decay), 2)
    slopes = [(inner * signal).sum(), *(by_scales * inverse_squares), noise * np.trace(inner)]
    return float(value), np.array(slopes)


class MaternProcess(RegressorMixin, BaseEstimator):
    """A regressor for `skopt.Optimizer`, with the gradients that its acquisition needs.

    Attributes:
        length_scales: bounds of every length scale; the optimisation starts at 1.
    """

    def __init__(self, length_scales: tuple[float, float] = (0.05, 2.0)) -> None:
        self.length_scales = length_scales

    def fit(self, inputs: Any, targets: Any) -> Self:
        """Maximise the marginal likelihood of inputs `[N, D]` and targets `[N]`."""
        self.inputs_ = np.asarray(inputs, float)
        targets = np.asarray(targets, float)
        self.mean_, std = targets.mean(), targets.std()
        self.std_ = std if std > 10 * np.finfo(float).eps else 1.0  # all targets may be equal
        standardised = (targets - self.mean_) / self.std_
        squares = (self.inputs_[:, None] - self.inputs_).transpose(2, 0, 1) ** 2
        bounds = np.log([AMPLITUDES, *([self.length_scales] * len(squares)), NOISES])
        start = np.clip(np.zeros(len(bounds)), *bounds.T)
        optimum = minimize(
            negative_log_likelihood,
            start,
            args=(squares, standardised),
            method="L-BFGS-B",
            jac=True,
            bounds=bounds,
        )
        self.log_likelihood_, theta = -optimum.fun, np.exp(optimum.x)
        self.kernel_, self.noise_ = Matern(theta[0], theta[1:-1]), theta[-1]
        covariance = self.kernel_.between(self.inputs_, self.inputs_)
        covariance += (self.noise_ + JITTER) * np.eye(len(targets))
        self.inverse_ = np.linalg.inv(covariance)
        self.weights_ = np.linalg.solve(covariance, standardised)
        return self

    def predict(
        self,
        inputs: Any,
        return_std: bool = False,
        return_mean_grad: bool = False,
        return_std_grad: bool = False,
    ) -> Any:
        """Return the mean of the function, without noise, as the acquisitions of skopt need it.

        Args:
            inputs: points `[M, D]`.
            return_std: whether to return the standard deviation `[M]` too.
            return_mean_grad: whether to return the gradient `[D]` of the mean too, for one point.
            return_std_grad: whether to return the gradient of the standard deviation too.
        """
        inputs = np.asarray(inputs, float)
        across = self.kernel_.between(inputs, self.inputs_)
        outputs = [self.mean_ + self.std_ * (across @ self.weights_)]
        solved = across @ self.inverse_
        if return_std:
            variance = self.kernel_.amplitude - np.einsum("mn,mn->m", solved, across)
            std = np.sqrt(np.maximum(variance, 0.0))
            outputs.append(self.std_ * std)
        if return_mean_grad:
            slopes = self.kernel_.slopes(inputs[0], self.inputs_)
            outputs.append(self.std_ * (self.weights_ @ slopes))
            if return_std_grad:
                flat = not std[0] > 0
                outputs.append(self.std_ * (-solved[0] @ slopes / (1.0 if flat else std[0])))
        return outputs[0] if len(outputs) == 1 else tuple(outputs)
