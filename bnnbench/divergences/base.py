"""The interface of a divergence from a factorised Gaussian posterior to a factorised prior.

To add a divergence, write a frozen dataclass in this folder that implements `between`, and a YAML
file in `configs/divergence` whose `_target_` names it. If the divergence is an expectation of a
function of the density ratio, derive from `RatioDivergence` and implement `estimate` as well.

The divergence of all weights is the sum over single weights, as in the GVI thesis (section
5.0.1). For KL in both directions, Jeffreys, Rényi and the squared Wasserstein distance, this sum
is also the divergence between the joint distributions. For the others (alpha, chi-squared,
Hellinger, Jensen-Shannon, total variation, Fisher-Rao) it is a different objective with the same
minimiser.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Annotated, ClassVar

import torch
from torch import Tensor

from bnnbench.constraints import Checked, OneOf, Positive
from bnnbench.divergences.priors import LOG_ROOT_TWO_PI, GaussianPrior, Prior
from bnnbench.types import UserError

Pair = tuple[Tensor, Tensor]


@dataclass(frozen=True, kw_only=True)
class Divergence(Checked, ABC):
    """A divergence D(q || p) from `q = Normal(loc, scale^2)` to the prior p, times `weight`.

    Attributes:
        label: the divergence without its settings, which `name` adds.
        weight: factor of the divergence in the objective, for tempered or power posteriors.
            `value` and `gradient` include it.
        estimator: `closed` is the closed form (a quadrature for Jensen-Shannon);
            `monte_carlo` averages over the weight samples of the step (book, eq. 4.8).
        prior: a prior other than a Gaussian needs `monte_carlo`.
    """

    label: str
    weight: Positive = 1.0
    estimator: Annotated[str, OneOf("closed", "monte_carlo")] = "closed"
    prior: Prior = field(default_factory=GaussianPrior)
    key: ClassVar[str] = "divergence"

    def check(self) -> None:
        if self.estimator == "closed" and not isinstance(self.prior, GaussianPrior):
            raise UserError(
                f"prior={self.prior.label} has no closed form; "
                "set divergence.estimator=monte_carlo.",
                setting="prior",
            )
        if self.estimator == "monte_carlo" and not isinstance(self, RatioDivergence):
            raise UserError(
                f"divergence.estimator must be closed with divergence={self.label}, "
                "which is not an expectation of a function of the density ratio.",
                setting="divergence.estimator",
                code="not_a_density_ratio",
            )

    @property
    def benefits_from_compile(self) -> bool:
        """Whether `torch.compile` speeds up its gradient."""
        return True

    @property
    def order(self) -> float | None:
        """The order `alpha` within a family of divergences, None outside such a family."""
        return None

    @property
    def name(self) -> str:
        """The name in paths and tables: label, order and all settings that are not the default."""
        order = "" if self.order is None else f"_{self.order:g}"
        return f"{self.label}{order}{self._suffix}"

    @property
    def family(self) -> str:
        """`name` without the order."""
        return f"{self.label}{self._suffix}"

    @property
    def _suffix(self) -> str:
        estimator = "" if self.estimator == "closed" else "_mc"
        prior = "" if isinstance(self.prior, GaussianPrior) else f"_{self.prior.label}"
        weight = "" if self.weight == 1 else f"_weight_{self.weight:g}"
        return f"{estimator}{prior}{weight}"

    @abstractmethod
    def between(self, q_loc: Tensor, q_scale: Tensor, p_loc: Tensor, p_scale: Tensor) -> Tensor:
        """D(Normal(q_loc, q_scale^2) || Normal(p_loc, p_scale^2)), element by element."""

    def partials(self, loc: Tensor, scale: Tensor, prior_precision: Tensor) -> Pair:
        """Derivatives of `between` for the prior `Normal(0, 1 / prior_precision)`.

        Uses autograd; divergences with closed-form derivatives override it for speed.
        """
        return slopes(lambda a, b: self._closed(a, b, prior_precision), loc, scale)

    def value(
        self, loc: Tensor, scale: Tensor, prior_precision: Tensor, epsilon: Tensor | None = None
    ) -> Tensor:
        """Return `weight` times the divergence, summed over the network's weights.

        Args:
            loc: `[R, P]`.
            scale: `[R, P]`, standard deviations.
            prior_precision: `[R, 1]`.
            epsilon: `[S, R or 1, P]`, standard normal: the samples are `loc + scale * epsilon`.
                Needed by `monte_carlo` only.

        Returns:
            `[R]`.
        """
        if self.estimator == "closed":
            return self.weight * self._closed(loc, scale, prior_precision).sum(1)
        return self.weight * self._sampled(loc, scale, prior_precision, epsilon).sum(1)

    def gradient(
        self, loc: Tensor, scale: Tensor, prior_precision: Tensor, epsilon: Tensor | None = None
    ) -> Pair:
        """Return the gradients of `value` with respect to `loc` and `scale`, `[R, P]` each."""
        if self.estimator == "closed":
            pair = self.partials(loc, scale, prior_precision)
        else:
            pair = slopes(lambda a, b: self._sampled(a, b, prior_precision, epsilon), loc, scale)
        return pair if self.weight == 1 else (self.weight * pair[0], self.weight * pair[1])

    def _closed(self, loc: Tensor, scale: Tensor, prior_precision: Tensor) -> Tensor:
        p_scale = prior_precision.rsqrt()
        return self.between(loc, scale, torch.zeros_like(p_scale), p_scale)

    def _sampled(
        self, loc: Tensor, scale: Tensor, prior_precision: Tensor, epsilon: Tensor | None
    ) -> Tensor:
        assert isinstance(self, RatioDivergence) and epsilon is not None
        weights = torch.addcmul(loc, scale, epsilon)
        log_q = -0.5 * epsilon.square() - scale.log() - LOG_ROOT_TWO_PI
        return self.estimate(log_q - self.prior.log_density(weights, prior_precision))


@dataclass(frozen=True, kw_only=True)
class RatioDivergence(Divergence):
    """A divergence that is an expectation of a function of q/p, so samples of q can estimate it.

    The gradient is taken through the samples (reparameterisation), so it is unbiased whenever the
    estimate is.
    """

    @abstractmethod
    def estimate(self, log_ratio: Tensor) -> Tensor:
        """Estimate the divergence of each weight from `log(q / p)` at samples of q.

        Args:
            log_ratio: `[S, R, P]`, nats.

        Returns:
            `[R, P]`.
        """


@dataclass(frozen=True, kw_only=True)
class AlphaDivergence(RatioDivergence):
    """A family of divergences of order `alpha`.

    Attributes:
        alpha: greater than 0.
    """

    alpha: Positive

    @property
    def order(self) -> float:
        return self.alpha


def slopes(function: Callable[[Tensor, Tensor], Tensor], loc: Tensor, scale: Tensor) -> Pair:
    """Return the derivatives of an element-wise function by autograd, even under `no_grad`."""
    if torch.compiler.is_compiling():  # only then: importing torch.func takes two seconds
        d_loc, d_scale = torch.func.grad(lambda a, b: function(a, b).sum(), (0, 1))(loc, scale)
        return d_loc, d_scale
    with torch.enable_grad():
        at = (loc.detach().requires_grad_(), scale.detach().requires_grad_())
        d_loc, d_scale = torch.autograd.grad(function(*at).sum(), at, materialize_grads=True)
    return d_loc, d_scale


def standardised(q_loc: Tensor, q_scale: Tensor, p_loc: Tensor, p_scale: Tensor) -> Pair:
    """Return the distance of the means in units of `p_scale`, and `log(q_scale / p_scale)`."""
    return (q_loc - p_loc) / p_scale, (q_scale / p_scale).log()
