"""Stochastic gradient Hamiltonian Monte Carlo with scales that adapt themselves.

Chen, Fox & Guestrin, "Stochastic Gradient Hamiltonian Monte Carlo", ICML 2014; scale-adapted:
Springenberg, Klein, Falkner & Hutter, "Bayesian Optimization with Robust Bayesian Neural Networks",
NeurIPS 2016, section 4.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch

from bnnbench.checks import check_between
from bnnbench.identity import no_identity
from bnnbench.methods.shared.contract import FitTask, Posterior
from bnnbench.methods.shared.gradients import gradients
from bnnbench.methods.shared.kept_chain import KeptChain
from bnnbench.methods.shared.trainer import Batch, Noise, State
from bnnbench.nn import MLP
from bnnbench.optim import Rule
from bnnbench.random_streams import Streams
from bnnbench.settings import Training
from bnnbench.types import Hyper

TINY = 1e-16


@dataclass(frozen=True, kw_only=True)
class SGHMC(KeptChain):
    """One chain per replica, of weights w that carry a momentum p through the log-posterior.

    U is the gradient of minus the log-posterior, `N g + prior_precision w` with g that of a
    minibatch's mean loss. While the chain burns in, averages of memory tau follow it; then they
    stay. All right sides are those before the step (eqs. 8 and 9):

        tau <- tau + 1 - tau m^2 / v
        m <- m + (U - m) / (tau + 1)
        v <- v + (U^2 - v) / (tau + 1)

    and with these v, at every step (eq. 10, where `eps v^-1/2 C` is the friction),

        p <- (1 - friction) p - eps^2 v^-1/2 U + Normal(0, 2 eps^2 friction v^-1/2 - eps^4)
        w <- w + p

    The last term of the noise's variance makes up for the noise that U has by itself, if v is all
    of that; the variance is never less than 1e-16. But v also remembers the way down, on which U
    was larger, so that the chain is too cold, by a share of up to `eps^2 v^1/2 / (2 friction)`;
    where that is over 1 nothing is left to make up with, and it may be too hot. In a linear model
    (six weights, 400 epochs, noise precision 4, the settings of `method=sghmc`) variances are, as a
    share of the exact ones, 0.82 with 455 rows in minibatches of 32, and 0.42 with 7373 in 128;
    shorter steps are slower to arrive: with 0.003 the chain of 455 rows is not there yet.

    Beside tau the `+ 1`, its start at 1 with m and v, and the momentum's at 0 are the public
    program's (pybnn); the paper's equations have `1 / tau`.

    Of the program are the step size and the friction. It burns in for 3000 of 13000 steps and keeps
    one network in 100; 3000 are half of Boston's 6000 here. Its networks have two layers of 50 tanh
    units and learn one noise precision, and it takes minibatches of 20 rows and float64; here
    networks are ReLU, and precisions are searched as for all methods, over as many epochs as for
    `sgld`.

    Attributes:
        step_size: eps.
        friction: share of the momentum that a step loses.
        adapted: steps that burn in; a fit finds it.
    """

    step_size: float = 0.01
    friction: float = 0.05
    adapted: int = no_identity(0)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_between("method.step_size", self.step_size, 0)
        check_between("method.friction", self.friction, 0, 1)

    def fit(self, task: FitTask) -> Posterior:
        adapted = int(self.burn_in * self.steps(task))
        return KeptChain.fit(replace(self, adapted=adapted), task)

    def init(self, task: FitTask) -> State:
        loc = task.mlp.initial(task.streams).expand(task.data.replicas, -1).clone()
        one = torch.ones_like(loc)
        return {"loc": loc, "momentum": torch.zeros_like(loc), "tau": one, "mean": one, "v": one}

    def sample_noise(self, mlp: MLP, batch: int, samples: int, streams: Streams) -> Noise:
        return (streams.normal(1, mlp.n_weights)[0],)

    def update(
        self, mlp: MLP, training: Training, state: State, hyper: Hyper, batch: Batch, noise: Noise
    ) -> State:
        loc, tau, mean, v = state["loc"], state["tau"], state["mean"], state["v"]
        gradient = gradients(mlp, self.likelihood, loc[None], hyper, batch)[0]
        slope = batch.counts * gradient + hyper["prior_precision"] * loc
        share = 1 / (tau + 1)
        adapts = batch.taken < self.adapted
        new = {
            "tau": torch.where(adapts, tau + 1 - tau * (mean.square() / (v + TINY)), tau),
            "mean": torch.where(adapts, torch.lerp(mean, slope, share), mean),
            "v": torch.where(adapts, torch.lerp(v, slope.square(), share), v),
        }
        size = self.step_size**2 / (new["v"].sqrt() + TINY)
        variance = (2 * self.friction * size - self.step_size**4).clamp(min=TINY)
        pushed = (1 - self.friction) * state["momentum"] - size * slope
        momentum = torch.addcmul(pushed, variance.sqrt(), noise[0])
        return {"loc": loc + momentum, "momentum": momentum, **new}

    def rule(self) -> Rule:
        own = (self.step_size, self.friction, float(self.adapted))
        return Rule("sghmc", ("loc", "momentum", "tau", "mean", "v"), own)
