"""The posterior of a mixture of Gaussians: exact, by coordinate ascent and by stochastic VI.

Means `mu_k ~ N(0, prior_variance)`, `k = 1..K`; each point belongs to one component, all equally
likely, and `x_i ~ N(mu_{c_i}, 1)` (density-ratio thesis, section 3.6, after Blei, Kucukelbir and
McAuliffe, 2017). The factors are `q(mu_k) = N(loc_k, variance_k)`, the thesis's `m_k` and `s_k^2`,
and `q(c_i = k) = responsibilities_ik`, its `phi_ik`.

The exact posterior of a small mixture is a sum over all `K^N` assignments of points to components:
given the assignments, the means are independent with conjugate priors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import entr, logsumexp, softmax

from bnnbench.suites.inference_toys.ascent import Ascent, ascend
from bnnbench.suites.inference_toys.maths import LOG_TWO_PI

MAX_ASSIGNMENTS = 3**10
"""Maximum number of enumerated assignments: ten points, three components, a few seconds."""


@dataclass(frozen=True)
class MixtureFactors:
    """Mean and variance of the means, `[K]` each, and probabilities of assignments, `[N, K]`."""

    loc: np.ndarray
    variance: np.ndarray
    responsibilities: np.ndarray


def draw_points(means: Sequence[float], count: int, random: np.random.Generator) -> np.ndarray:
    """Draw points `[count]` from the mixture with these means."""
    labels = random.integers(0, len(means), count)
    return np.array(means, dtype=float)[labels] + random.normal(size=count)


def elbo(points: np.ndarray, factors: MixtureFactors, prior_variance: float) -> float:
    """Return the evidence lower bound, `E_q[log p(mu, c, x)] - E_q[log q(mu, c)]`, in nats.

    The thesis prints the first expectations, and the one in (3.6.2), over `p`; its next lines
    correctly use expectations over `q`.
    """
    loc, variance, weights = factors.loc, factors.variance, factors.responsibilities
    ratio = variance / prior_variance
    means = 0.5 * (np.log(ratio) + 1 - ratio - loc**2 / prior_variance).sum()
    expected = -0.5 * (LOG_TWO_PI + (points[:, None] - loc) ** 2 + variance) - np.log(len(loc))
    return float(means + (weights * expected).sum() + entr(weights).sum())


@dataclass(frozen=True)
class Enumeration:
    """All `C = K^N` assignments, and the posterior given each.

    Attributes:
        log_joint: log density of each assignment and the points, means integrated out, `[C]`, nats.
        loc: posterior expectations of the means given each assignment, `[C, K]`.
        variance: posterior variances of the means given each assignment, `[C, K]`.
    """

    log_joint: np.ndarray
    loc: np.ndarray
    variance: np.ndarray

    @property
    def log_evidence(self) -> float:
        """The log evidence in nats."""
        return float(logsumexp(self.log_joint))

    @property
    def weights(self) -> np.ndarray:
        """The posterior probability of each assignment, `[C]`."""
        return np.exp(self.log_joint - self.log_evidence)


def enumerate_assignments(
    points: np.ndarray, components: int, prior_variance: float
) -> Enumeration:
    """Return the exact posterior of K components given points `[N]`."""
    codes = np.arange(components ** len(points))
    counts = np.zeros((len(codes), components))
    sums = np.zeros_like(counts)
    for point in points:
        codes, label = np.divmod(codes, components)
        rows = np.arange(len(codes))
        counts[rows, label] += 1
        sums[rows, label] += point
    variance = 1 / (1 / prior_variance + counts)
    constant = -len(points) * (np.log(components) + 0.5 * LOG_TWO_PI) - 0.5 * (points**2).sum()
    logs = 0.5 * (np.log(variance / prior_variance) + variance * sums**2)
    return Enumeration(constant + logs.sum(1), variance * sums, variance)


def lowest_mean(posterior: Enumeration) -> tuple[float, float]:
    """Return the posterior mean and standard deviation of the lowest component mean.

    Model and exact posterior are invariant to permutations of the components, so every `mu_k` has
    the same marginal. Here the components are identified, for each assignment, by the order of
    their posterior means given that assignment.
    """
    rows = np.arange(len(posterior.loc))
    lowest = posterior.loc.argmin(1)
    loc, variance = posterior.loc[rows, lowest], posterior.variance[rows, lowest]
    mean = posterior.weights @ loc
    return float(mean), float(np.sqrt(posterior.weights @ (variance + (loc - mean) ** 2)))


def exact_prior_variance(points: np.ndarray, components: int, low: float, high: float) -> float:
    """Return the prior variance between `low` and `high` that maximises the exact evidence."""

    def loss(log_variance: float) -> float:
        return -enumerate_assignments(points, components, np.exp(log_variance)).log_evidence

    limits = (np.log(low), np.log(high))
    result = minimize_scalar(loss, bounds=limits, method="bounded", options={"xatol": 1e-8})
    return float(np.exp(result.x))


def responsibilities(points: np.ndarray, loc: np.ndarray, variance: np.ndarray) -> np.ndarray:
    """Return the optimal `q(c_i)` given `q(mu)`, `[..., N, K]` (thesis, below 3.6.2).

    The points have shape `[..., N]`, the moments of the means `[..., K]`.
    """
    logs = points[..., None] * loc[..., None, :] - 0.5 * (variance + loc**2)[..., None, :]
    weights: np.ndarray = softmax(logs, axis=-1)
    return weights


def update_means(
    points: np.ndarray, weights: np.ndarray, prior_variance: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return mean and variance of the optimal `q(mu_k)`, `[K]`, given responsibilities `[N, K]`.

    The last line of the thesis's completed square lacks its leading minus sign; the density and
    the updates below it are correct.
    """
    precision = 1 / prior_variance + weights.sum(0)
    return points @ weights / precision, 1 / precision


def run_cavi(
    points: np.ndarray, start: np.ndarray, prior_variance: float, iterations: int, tolerance: float
) -> Ascent[MixtureFactors]:
    """Run coordinate ascent on points `[N]` until the ELBO converges (thesis, Algorithm 3).

    The expectations of the means begin at `start`, `[K]`, their variances at 1 and the
    responsibilities at `1 / K`.
    """

    def step(factors: MixtureFactors) -> MixtureFactors:
        weights = responsibilities(points, factors.loc, factors.variance)
        return MixtureFactors(*update_means(points, weights, prior_variance), weights)

    uniform = np.full((len(points), len(start)), 1 / len(start))
    first = MixtureFactors(start, np.ones_like(start), uniform)
    return ascend(step, first, lambda q: elbo(points, q, prior_variance), iterations, tolerance)


@dataclass(frozen=True)
class ClusteringProblem:
    """A data set and the settings of coordinate ascent on it.

    Attributes:
        points: the data, `[N]`.
        starts: initial means, `[S, K]`.
        prior_variance: of the means; the initial value if it is fitted.
    """

    points: np.ndarray
    starts: np.ndarray
    prior_variance: float
    iterations: int
    tolerance: float

    def run_all_starts(self) -> list[Ascent[MixtureFactors]]:
        """Run coordinate ascent from every start."""
        limits = self.prior_variance, self.iterations, self.tolerance
        return [run_cavi(self.points, start, *limits) for start in self.starts]


@dataclass(frozen=True)
class EStep:
    """The factors that are optimal at a prior variance, and their ELBO in nats."""

    prior_variance: float
    elbo: float
    factors: MixtureFactors

    @property
    def second_moment(self) -> float:
        """Sum over components of `E_q[mu_k^2]`."""
        return float((self.factors.loc**2 + self.factors.variance).sum())


def fit_prior_variance(
    points: np.ndarray, start: np.ndarray, prior_variance: float, iterations: int, tolerance: float
) -> Ascent[EStep]:
    """Fit the prior variance of the means by variational EM (book, section 3.2.1.4, steps 1 and 2).

    The E-step runs coordinate ascent to convergence at the current prior variance ("an iterative
    process" in Alvarez's lecture); the M-step maximises the ELBO over the prior variance with these
    factors fixed. The limits apply to the E-steps and to the iterations in each.
    """

    def e_step(prior_variance: float, loc: np.ndarray) -> EStep:
        cavi = run_cavi(points, loc, prior_variance, iterations, tolerance)
        return EStep(prior_variance, cavi.objective[-1], cavi.states[-1])

    def step(last: EStep) -> EStep:
        return e_step(last.second_moment / len(start), last.factors.loc)

    return ascend(
        step, e_step(prior_variance, start), lambda last: last.elbo, iterations - 1, tolerance
    )


def step_sizes(steps: int, power: float, scale: float = 1.0) -> list[float]:
    """Return `scale * (t + 1)^-power` for `t = 0, 1, ...`.

    The conditions (3.19) are an infinite sum, which requires `power <= 1`, and a finite sum of
    squares, which requires `power > 1 / 2`. A power of 0 gives constant steps.
    """
    return [scale * (t + 1.0) ** -power for t in range(steps)]


def run_stochastic_vi(
    points: np.ndarray,
    start: np.ndarray,
    prior_variance: float,
    steps: Sequence[float],
    batch: int,
    repetitions: int,
    random: np.random.Generator,
) -> np.ndarray:
    """Return the expectations of the means at the start and after every step, `[T + 1, R, K]`.

    Each step draws a minibatch with replacement, computes its responsibilities and the factors of
    the means that would be optimal if the minibatch occurred `N / B` times, and moves a fraction of
    the way towards them (book, section 3.2.1.5): a noisy natural-gradient step (Hoffman, Blei, Wang
    and Paisley, 2013).

    Args:
        points: `[N]`.
        start: initial expectations `[K]` of all repetitions; variances start at 1.
        prior_variance: of the means.
        steps: step sizes, `[T]`.
        batch: size of a minibatch, `B`.
        repetitions: number of independent repetitions, `R`.
        random: generator of the minibatches.
    """
    loc = np.tile(start, (repetitions, 1))
    precision = np.ones_like(loc)
    # Each step averages the natural parameters, precision * mean and precision.
    weighted = loc * precision
    copies, trajectory = len(points) / batch, [loc]
    for step in steps:
        minibatch = points[random.integers(0, len(points), (repetitions, batch))]
        weights = responsibilities(minibatch, loc, 1 / precision)
        target = copies * (weights * minibatch[..., None]).sum(1)
        weighted = (1 - step) * weighted + step * target
        target = 1 / prior_variance + copies * weights.sum(1)
        precision = (1 - step) * precision + step * target
        loc = weighted / precision
        trajectory.append(loc)
    return np.array(trajectory)
