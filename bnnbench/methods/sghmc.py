"""Stochastic gradient Hamiltonian Monte Carlo, scale-adapted.

Chen, Fox & Guestrin, "Stochastic Gradient Hamiltonian Monte Carlo", ICML 2014; scale-adapted:
Springenberg, Klein, Falkner & Hutter, "Bayesian Optimization with Robust Bayesian Neural Networks",
NeurIPS 2016, section 4.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated

import torch

from bnnbench.constraints import Between, Positive, Whole
from bnnbench.identity import no_identity
from bnnbench.methods.shared.contract import FitTask, Posterior, State
from bnnbench.methods.shared.gradients import gradients
from bnnbench.methods.shared.minibatches import Batch, Noise
from bnnbench.methods.shared.sgmcmc import SGMCMC
from bnnbench.nn import MLP
from bnnbench.optim import NativeUpdate
from bnnbench.settings import Training
from bnnbench.types import Hyper

TINY = 1e-16


@dataclass(frozen=True, kw_only=True)
class SGHMC(SGMCMC):
    """One chain per replica of weights w with momenta p.

    U is the gradient of the negative log-posterior, `N g + prior_precision w` with the gradient g
    of a minibatch's mean loss. During burn-in, running averages with memory tau are updated; then
    they are fixed. Right-hand sides have the values before the step (eqs. 8 and 9):

        tau <- tau + 1 - tau m^2 / v
        m <- m + (U - m) / (tau + 1)
        v <- v + (U^2 - v) / (tau + 1)

    Every step then uses v as follows (eq. 10, where `eps v^-1/2 C` is the friction):

        p <- (1 - friction) p - eps^2 v^-1/2 U + Normal(0, 2 eps^2 friction v^-1/2 - eps^4)
        w <- w + p

    The last term of the noise variance compensates for the noise of U, assuming that v is the
    variance of that noise; the variance is at least 1e-16. However, v also includes the larger
    gradients early in burn-in, so the chain is too cold, by a fraction of up to
    `eps^2 v^1/2 / (2 friction)`. Where this exceeds 1, the noise of U cannot be compensated and the
    chain may be too hot. For a linear model (six weights, 400 epochs, noise precision 4, settings
    of `method=sghmc`) the ratio of the variances to the exact ones is 0.82 for 455 rows in
    minibatches of 32, and 0.42 for 7373 rows in minibatches of 128. Shorter steps converge more
    slowly: with a step size of 0.003 the chain of 455 rows has not converged.

    The `+ 1` next to tau and the initial values (1 for tau, m and v, 0 for p) are those of the
    authors' code (pybnn); the equations of the paper have `1 / tau`.

    Step size and friction are also from the code. It burns in for 3000 of 13000 steps and keeps
    every 100th network; here 3000 steps are half of the 6000 on Boston. Its networks have two
    layers of 50 tanh units and learn one noise precision, with minibatches of 20 rows and float64.
    Here networks have ReLUs and precisions are searched, as for all methods, with as many epochs as
    for `sgld`.

    Attributes:
        step_size: eps.
        friction: fraction of the momentum lost in a step.
        adaptation_steps: steps of burn-in; set by `fit`.
    """

    identity_name = "bnnbench.methods.sghmc.SGHMC"
    family = "sghmc"
    step_size: Positive = 0.01
    friction: Annotated[float, Between(0, 1)] = 0.05
    adaptation_steps: Annotated[int, Whole(0)] = no_identity(0)

    def fit(self, task: FitTask) -> Posterior:
        adaptation_steps = int(self.burn_in * self.n_steps(task))
        return SGMCMC.fit(replace(self, adaptation_steps=adaptation_steps), task)

    def init(self, task: FitTask) -> State:
        loc = task.mlp.initial(task.streams).expand(task.data.replicas, -1).clone()
        one = torch.ones_like(loc)
        return {"loc": loc, "momentum": torch.zeros_like(loc), "tau": one, "mean": one, "v": one}

    def update(
        self, mlp: MLP, training: Training, state: State, hyper: Hyper, batch: Batch, noise: Noise
    ) -> State:
        loc, tau, mean, v = state["loc"], state["tau"], state["mean"], state["v"]
        gradient = gradients(mlp, self.likelihood, loc[None], hyper, batch)[0]
        potential_gradient = batch.counts * gradient + hyper["prior_precision"] * loc
        rate = 1 / (tau + 1)
        adapting = batch.steps_taken < self.adaptation_steps
        new = {
            "tau": torch.where(adapting, tau + 1 - tau * (mean.square() / (v + TINY)), tau),
            "mean": torch.where(adapting, torch.lerp(mean, potential_gradient, rate), mean),
            "v": torch.where(adapting, torch.lerp(v, potential_gradient.square(), rate), v),
        }
        size = self.step_size**2 / (new["v"].sqrt() + TINY)
        variance = (2 * self.friction * size - self.step_size**4).clamp(min=TINY)
        momentum = (1 - self.friction) * state["momentum"] - size * potential_gradient
        momentum = torch.addcmul(momentum, variance.sqrt(), noise[0])
        return {"loc": loc + momentum, "momentum": momentum, **new}

    def native_update(self) -> NativeUpdate:
        constants = (self.step_size, self.friction, float(self.adaptation_steps))
        return NativeUpdate("sghmc", ("loc", "momentum", "tau", "mean", "v"), constants)
