"""Estimates of the gradient of `E_q[f(z)]` with respect to q's parameters, from samples of q.

Book, section 3.2.4.1 and Appendix A.1. For `z = loc + scale e` with standard normal `e`, the
gradients with respect to `loc` and `log scale` are

    score function    f(z) (e / scale, e^2 - 1)            eqs. 3.76, A.1
    control variate   (f(z) - b) (e / scale, e^2 - 1)      the optimal b of each parameter
    pathwise          f'(z) (1, scale e)                   eqs. 3.78, A.3

An ELBO is the expectation of `log p(x, z) - log q(z)` (eq. 3.7). The score function estimator
multiplies all of it by the score (eq. 3.77). The pathwise estimator uses the exact gradient of the
entropy, `(0, 1)`. The path derivative estimator differentiates `log q` along the path of z and
omits its score, whose mean is zero (Roeder, Wu & Duvenaud, "Sticking the Landing", NeurIPS 2017).

The control variate is a multiple b of the score, whose mean is zero (Ranganath, Gerrish & Blei,
"Black Box Variational Inference", AISTATS 2014). The variance is smallest for
`b = E[f score^2] / E[score^2]`.

Bias: the book claims that "gradient estimates in Eq. (3.77) are not unbiased due to the presence of
the log function" (section 3.2.4.1). They are unbiased: eq. 3.77 is eq. 3.76 with
`f = log p(x, z) - log q(z)`, and the gradient of f with respect to q's parameters is minus the
score, of mean zero. A minibatch enters the log joint as a sum, so scaling it by `N / B` leaves the
mean unchanged. A logarithm causes bias only when applied to an estimate, which is not the case.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations
from typing import ClassVar

import numpy as np
import torch
from numpy.typing import NDArray

Values = NDArray[np.float64]

Numbers = float | Values

HALF_LOG_TWO_PI = 0.5 * math.log(2 * math.pi)


@dataclass(frozen=True)
class Normal:
    """The distribution q; its parameters are `loc` and the logarithm of `scale`.

    Attributes:
        loc: mean; a number, or `[R, 1]` for R distributions with noise `[R, S]`.
        scale: standard deviation; same shape.
    """

    loc: Numbers
    scale: Numbers


@dataclass(frozen=True)
class Quadratic:
    """`constant + slope z + curvature z^2`; arrays of coefficients represent several functions.

    Attributes:
        entropy: whether the objective includes the entropy of q, as an ELBO does.
    """

    constant: Numbers
    slope: Numbers
    curvature: Numbers
    entropy: bool = False

    def value(self, z: Values) -> Values:
        return np.asarray(self.constant + z * (self.slope + z * self.curvature))

    def derivative(self, z: Values) -> Values:
        return np.asarray(self.slope + 2 * self.curvature * z)

    def coefficients(self, q: Normal) -> tuple[Numbers, Numbers, Numbers]:
        """Return the coefficients of `c0 + c1 e + c2 e^2` where `z = loc + scale e`."""
        return (
            self.constant + q.loc * (self.slope + q.loc * self.curvature),
            q.scale * (self.slope + 2 * self.curvature * q.loc),
            q.scale**2 * self.curvature,
        )

    def gradient(self, q: Normal) -> Values:
        """Return the exact gradient with respect to `loc` and `log scale`, `[2]`."""
        _, first, second = self.coefficients(q)
        return np.array([first / q.scale, 2 * second + self.entropy])


@dataclass(frozen=True)
class Cosine:
    """`cos(frequency z)`, whose derivative is large although its values are bounded by 1."""

    frequency: float
    entropy: ClassVar[bool] = False

    def value(self, z: Values) -> Values:
        return np.cos(self.frequency * z)

    def derivative(self, z: Values) -> Values:
        return -self.frequency * np.sin(self.frequency * z)


Objective = Quadratic | Cosine


@dataclass(frozen=True)
class KnownNoiseModel:
    """`y_i = w x_i + noise` with known noise precision and prior `w ~ N(0, 1 / prior_precision)`.

    Inputs `x` and targets `y` have shape `[N]`.
    """

    inputs: Values
    targets: Values
    noise_precision: float
    prior_precision: float

    @property
    def prior(self) -> Normal:
        return Normal(0.0, self.prior_precision**-0.5)

    @property
    def posterior(self) -> Normal:
        """The exact posterior of the weight."""
        precision = self.prior_precision + self.noise_precision * self.inputs @ self.inputs
        mean = self.noise_precision * self.inputs @ self.targets / precision
        return Normal(float(mean), float(precision**-0.5))

    def elbo(self, rows: NDArray[np.intp] | None = None) -> Quadratic:
        """Return the objective whose expectation under q is the ELBO (eq. 3.7).

        With the row numbers of minibatches, `[..., B]`, their log-likelihoods are scaled to all N
        rows and the coefficients have shape `[...]`.
        """
        count, precision = len(self.targets), self.noise_precision
        chosen = slice(None) if rows is None else rows
        x, y = self.inputs[chosen], self.targets[chosen]
        scaled = precision * count / x.shape[-1]
        xx, xy, yy = (scaled * (a * b).sum(-1) for a, b in ((x, x), (x, y), (y, y)))
        log_scales = 0.5 * (count * math.log(precision) + math.log(self.prior_precision))
        constant = log_scales - (count + 1) * HALF_LOG_TWO_PI
        return Quadratic(constant - 0.5 * yy, xy, -0.5 * (xx + self.prior_precision), entropy=True)


def kl(q: Normal, p: Normal) -> Numbers:
    """Return KL(q || p) in nats."""
    ratio, distance = q.scale / p.scale, (q.loc - p.loc) / p.scale
    return 0.5 * (ratio**2 + distance**2 - 1) - np.log(ratio)


SCORE = "score function"
CONTROL_VARIATE = "score, control variate"
PATHWISE = "pathwise"
PATH_DERIVATIVE = "path derivative"
ESTIMATORS = (SCORE, CONTROL_VARIATE, PATHWISE, PATH_DERIVATIVE)

N_NODES = 240
"""Nodes of the Gauss-Hermite rule; accurate for polynomials and for cosines up to frequency 50."""

ROUNDING_TOLERANCE = 1e-12
"""Squares below this are rounding errors and are set to zero."""


def estimators_for(objective: Objective) -> tuple[str, ...]:
    """Return the estimators that differ on this objective; path derivatives need an entropy."""
    return ESTIMATORS if objective.entropy else ESTIMATORS[:-1]


def estimates(
    name: str, objective: Objective, q: Normal, noise: Values, baseline: Values | float = 0.0
) -> Values:
    """Return one estimate of the gradient per sample.

    Args:
        name: one of `ESTIMATORS`.
        objective: the function.
        q: the distribution at which to differentiate.
        noise: `e`, of any shape `[...]`.
        baseline: `b` of each parameter, broadcast against the result, for the control variate.

    Returns:
        Gradients with respect to `loc` and `log scale`, `[..., 2]`.
    """
    if name in (SCORE, CONTROL_VARIATE):
        weights = integrand(objective, q, noise)[..., None]
        return (weights - (baseline if name == CONTROL_VARIATE else 0.0)) * score(q, noise)
    slopes = objective.derivative(q.loc + q.scale * noise)
    if name == PATH_DERIVATIVE:
        slopes = slopes + noise / q.scale
    entropy_gradient = [0.0, float(objective.entropy and name == PATHWISE)]
    return (
        slopes[..., None] * np.stack([np.ones_like(noise), q.scale * noise], -1) + entropy_gradient
    )


def integrand(objective: Objective, q: Normal, noise: Values) -> Values:
    """Return the objective, plus `-log q` if it includes an entropy."""
    values = objective.value(q.loc + q.scale * noise)
    if objective.entropy:
        values = values + 0.5 * noise**2 + np.log(q.scale) + HALF_LOG_TWO_PI
    return values


def score(q: Normal, noise: Values) -> Values:
    """Return the gradient of `log q(z)`, `[..., 2]`; its mean is zero."""
    return np.stack([noise / q.scale, noise**2 - 1], -1)


def optimal_baseline(objective: Objective, q: Normal, noise: Values, weights: Values) -> Values:
    """Return the optimal baseline `[..., 2]` for samples `[..., S]` with weights `[S]`."""
    squares = score(q, noise) ** 2 * weights[:, None]
    weighted = integrand(objective, q, noise)[..., None] * squares
    return np.asarray(weighted.sum(-2) / squares.sum(-2))


def quadrature_nodes() -> tuple[Values, Values]:
    """Return Gauss-Hermite nodes and weights for expectations under the standard normal."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(N_NODES)
    return nodes, weights / weights.sum()


def moments_by_quadrature(name: str, objective: Objective, q: Normal) -> tuple[Values, Values]:
    """Return mean and variance `[2]` of one estimate."""
    noise, weights = quadrature_nodes()
    baseline = optimal_baseline(objective, q, noise, weights)
    gradients = estimates(name, objective, q, noise, baseline)
    mean = weights @ gradients
    return mean, weights @ (gradients - mean) ** 2


def exact_moments(name: str, objective: Objective, q: Normal) -> tuple[Values, Values]:
    """Return mean and variance `[2]`: a quadratic's in closed form, a cosine's by quadrature."""
    if isinstance(objective, Quadratic):
        return objective.gradient(q), quadratic_variance(name, objective, q)
    return moments_by_quadrature(name, objective, q)


def quadratic_variance(name: str, objective: Quadratic, q: Normal) -> Values:
    """Return the variance `[2]` of one estimate in closed form.

    With `f = c0 + c1 e + c2 e^2` and the moments 1, 3, 15 and 105 of `e`:

        score function    (c0^2 + 2 c1^2 + 15 c2^2 + 6 c0 c2) / scale^2
                          2 c0^2 + 10 c1^2 + 74 c2^2 + 20 c0 c2
        control variate   (2 c1^2 + 6 c2^2) / scale^2,    10 c1^2 + 24 c2^2
        pathwise          4 c2^2 / scale^2,               c1^2 + 8 c2^2

    If the estimate includes `-log q`, this adds `log scale + log(2 pi) / 2` to `c0` and `1 / 2` to
    `c2`.
    """
    c0, c1, c2 = objective.coefficients(q)
    if objective.entropy and name != PATHWISE:
        c0, c2 = c0 + math.log(q.scale) + HALF_LOG_TWO_PI, c2 + 0.5
    if name == SCORE:
        loc_variance = c0**2 + 2 * c1**2 + 15 * c2**2 + 6 * c0 * c2
        scale_variance = 2 * c0**2 + 10 * c1**2 + 74 * c2**2 + 20 * c0 * c2
    elif name == CONTROL_VARIATE:
        loc_variance, scale_variance = 2 * c1**2 + 6 * c2**2, 10 * c1**2 + 24 * c2**2
    else:
        loc_variance, scale_variance = 4 * c2**2, c1**2 + 8 * c2**2
    return np.array([loc_variance / q.scale**2, scale_variance])


def sample_moments(gradients: Values) -> dict[str, Values]:
    """Return mean and variance along the first axis, and their standard errors."""
    mean, root = gradients.mean(0), len(gradients) ** 0.5
    squares = without_rounding_errors((gradients - mean) ** 2)
    return {
        "mean": mean,
        "mean_error": gradients.std(0) / root,
        "variance": squares.mean(0),
        "variance_error": squares.std(0) / root,
    }


def without_rounding_errors(squares: Values) -> Values:
    """Return squares with those below `ROUNDING_TOLERANCE` set to zero."""
    return np.where(squares < ROUNDING_TOLERANCE, 0.0, squares)


def mean_over_minibatches(model: KnownNoiseModel, q: Normal, size: int) -> Values:
    """Return the mean `[2]` of eq. 3.77 over all minibatches, and over z by quadrature."""
    noise, weights = quadrature_nodes()
    rows = np.array(list(combinations(range(len(model.targets)), size)))
    return np.asarray(weights @ estimates(SCORE, model.elbo(rows[:, None]), q, noise).mean(0))


def gradient_ascent(
    name: str,
    model: KnownNoiseModel,
    random: np.random.Generator,
    shape: tuple[int, int, int],
    learning_rate: float,
) -> Values:
    """Return `KL(q || posterior)` in nats before and after each step of Adam, from the prior.

    All estimators use the same samples of z. The baseline of the control variate is estimated from
    the samples of the previous step, so that the gradient estimate remains unbiased.

    Args:
        name: the estimator.
        model: the model.
        random: generator of the noise, the only difference between repetitions.
        shape: numbers of steps T, of repetitions R, and of samples of z per step.
        learning_rate: of Adam.

    Returns:
        Divergences, `[R, T + 1]`.
    """
    objective, posterior = model.elbo(), model.posterior
    steps, repetitions, samples = shape
    start = torch.tensor(
        [model.prior.loc, np.log(model.prior.scale)], dtype=torch.float64, device="cpu"
    )
    parameters = torch.nn.Parameter(start.repeat(repetitions, 1))
    adam = torch.optim.Adam([parameters], lr=learning_rate, maximize=True)

    def current() -> Normal:
        loc, log_scale = np.hsplit(parameters.detach().numpy(), 2)
        return Normal(loc, np.exp(log_scale))

    baseline: Values = np.zeros((repetitions, 2))
    divergences = [kl(current(), posterior)]
    for _ in range(steps):
        q, noise = current(), random.standard_normal((repetitions, samples))
        gradients = estimates(name, objective, q, noise, baseline[:, None])
        baseline = optimal_baseline(objective, q, noise, np.full(samples, 1 / samples))
        parameters.grad = torch.from_numpy(gradients.mean(1))
        adam.step()
        divergences.append(kl(current(), posterior))
    return np.concatenate(divergences, axis=1)
