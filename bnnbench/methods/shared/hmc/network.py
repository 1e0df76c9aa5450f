"""The posterior of stacked networks as a density for the sampler, and what is conjugate in it.

Two parts of the energy: the loss of all rows, and half the squared length of the weights, whose
factor is the prior precision. Where the likelihood is a Gaussian of one noise precision, that is
the factor of the loss, which is half the sum of squared errors then.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from bnnbench.likelihoods.base import Likelihood
from bnnbench.likelihoods.gaussian import Gaussian
from bnnbench.losses.nll import NLL
from bnnbench.methods.shared.hmc.leapfrog import Ended, Flow, Target, flow_of
from bnnbench.methods.shared.hmc.metric import Metric
from bnnbench.native.moments import covers
from bnnbench.native.trajectories import trajectories
from bnnbench.nn import MLP, backward, forward
from bnnbench.types import Hyper, TrainingSet

LOSS, PRIOR = 0, 1
"""Places of the two parts."""

LEAST = 2.0**-25
"""Half of what tells two uniform numbers apart: no quantile of zero is asked for."""


def plain_noise(likelihood: Likelihood) -> bool:
    """Whether the noise precision is a factor of the loss, and so conjugate to a Gamma."""
    return isinstance(likelihood, Gaussian) and type(likelihood.loss) is NLL


def unit_noise(likelihood: Likelihood, hyper: Hyper, like: Tensor) -> Hyper:
    """The hyper-parameters, with a noise precision of 1 where that is a factor of the loss."""
    return {"noise_precision": like.new_ones(1, 1)} if plain_noise(likelihood) else hyper


def posterior_flow(mlp: MLP, likelihood: Likelihood, data: TrainingSet, hyper: Hyper) -> Flow:
    """How networks move in the posterior: by native code where there is some, else by torch."""
    if not covers(likelihood, data.inputs):
        return flow_of(posterior(mlp, likelihood, data, hyper))

    def flow(
        position: Tensor,
        momentum: Tensor,
        factors: Tensor,
        size: Tensor,
        steps: Tensor,
        metric: Metric | None = None,
    ) -> Ended:
        roots = metric.flat() if metric else None
        return Ended(*trajectories(mlp, data, position, momentum, factors, size, steps, roots))

    return flow


def posterior(mlp: MLP, likelihood: Likelihood, data: TrainingSet, hyper: Hyper) -> Target:
    """The density in torch, as the equations read.

    Args:
        mlp: the shape.
        likelihood: with its loss.
        data: R training sets.
        hyper: `[R, 1]` each, for a likelihood whose loss is no multiple of its noise precision.
    """
    inputs, targets = data.inputs, data.targets
    real = data.real.to(inputs.dtype)
    plain, unit = plain_noise(likelihood), unit_noise(likelihood, hyper, inputs)

    def target(weights: Tensor, factors: Tensor) -> tuple[Tensor, Tensor]:
        outputs, tape = forward(mlp, weights, inputs)
        if plain:
            values = 0.5 * (outputs.squeeze(3) - targets).square()
        else:
            values = likelihood.value(outputs, targets, unit)
        loss = (real * values).sum(2, dtype=torch.float64)
        squares = 0.5 * weights.double().square().sum(2)
        slope = backward(tape, likelihood.gradient(outputs, targets, real, unit))
        of_loss, of_prior = factors.to(weights.dtype)[..., None].unbind()
        return torch.stack([loss, squares]), torch.addcmul(of_prior * weights, of_loss, slope)

    return target


@dataclass(frozen=True)
class Precision:
    """A Gamma prior over a factor of the energy, and how often its root is in the density.

    Attributes:
        part: place of the factor.
        shape: of the prior.
        rate: of the prior.
        count: `[R]`, how many Gaussians have the precision: rows, or weights.
    """

    part: int
    shape: float
    rate: float
    count: Tensor

    def drawn(self, parts: Tensor, uniform: Tensor) -> Tensor:
        """From `Gamma(shape + count / 2, rate + E)`, by the inverse of its distribution function.

        Args:
            parts: of the energy, `[K, C, R]`.
            uniform: `[C, R]`, on [0, 1).

        Returns:
            `[C, R]`, float64.
        """
        from scipy.special import gammaincinv

        shape = (self.shape + 0.5 * self.count.double()).expand_as(uniform).cpu().numpy()
        quantile = torch.from_numpy(gammaincinv(shape, uniform.cpu().numpy() + LEAST))
        rate = self.rate + parts[self.part].nan_to_num(0, 0, 0)
        return quantile.to(rate.device) / rate
