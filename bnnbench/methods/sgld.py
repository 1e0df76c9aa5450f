"""Stochastic gradient Langevin dynamics: noisy minibatch gradient steps as posterior samples.

Welling & Teh, "Bayesian Learning via Stochastic Gradient Langevin Dynamics", ICML 2011; GVI thesis,
section 3.3.1. Preconditioned: Li et al., "Preconditioned Stochastic Gradient Langevin Dynamics for
Deep Neural Networks", AAAI 2016.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import torch

from bnnbench.constraints import Between, Positive
from bnnbench.methods.shared.contract import FitTask, State
from bnnbench.methods.shared.gradients import gradients
from bnnbench.methods.shared.minibatches import Batch, Noise
from bnnbench.methods.shared.sgmcmc import SGMCMC
from bnnbench.nn import MLP
from bnnbench.optim import NativeUpdate
from bnnbench.settings import Training
from bnnbench.types import Hyper

# Used as the noise precision if networks predict the noise: 7 to 14 on four UCI sets, 2 on wine.
TYPICAL_PRECISION = 10.0


@dataclass(frozen=True, kw_only=True)
class SGLD(SGMCMC):
    """One chain per replica: a gradient step on the log-posterior, plus Gaussian noise.

        w <- w - eps_t / 2 G (N g + prior_precision w) + Normal(0, eps_t G)
        eps_t = step_size / N min(1, minibatch_factor B / N) (step_offset + t)^-step_decay

    g is the gradient of the mean negative log-likelihood of a minibatch's B rows, so `N g` is that
    of all N rows, and t is the number of previous steps. `0.5 < step_decay <= 1` is the condition
    of Robbins and Monro: the sum of the step sizes diverges and the sum of their squares converges.

    The noise of `N g` heats the chain: for a posterior precision P and independent minibatches,
    the variance is too large by the fraction `eps G P N / (4 B)`. Steps are therefore shorter for
    smaller minibatches, up to `minibatch_factor`. For a linear model (six weights, 400 epochs, step
    sizes of `method=sgld` and `method=psgld`), the ratios of the variances to the exact ones are as
    follows, in brackets for the longer steps that suit only full batches:

        rows, minibatch    noise precision    plain             preconditioned
        455, 32            4                  1.01 (1.23)       1.01 (1.23)
        455, 32            100                1.01 (1.23)       1.06 (3.99)
        7373, 128          4                  0.97 (1.41)       0.97 (2.29)

    After 40 epochs the longer steps give 1.82 for 455 rows, and the shorter ones have not
    converged; the search therefore uses as many epochs as the final fit. Full batches of 40 rows
    give 1.05 in 2000 steps.

    G is `1 / noise_precision`: the gradient is proportional to the noise precision, so one step
    size suits all values that a search tries. For a likelihood without a noise precision,
    `TYPICAL_PRECISION` is used.

    With `preconditioned`, G is `1 / (damping + sqrt(V))`. V is the running mean of `g^2` with decay
    `training.betas[1]` (0.99, as in the paper), with the bias correction of Adam. The term for the
    change of G with w is omitted, as in the paper's experiments, which widens the posterior: for a
    linear model with full batches the variances are 40 % too large with a decay of 0.9, 11 % with
    0.99, and 2 to 8 % with 0.999. With minibatches, V is mostly gradient noise, which does not
    change with w.

    The default step size starts at `14 / 1000^0.55 = 0.31` and decays slowly over the first 1000
    steps. With 0.45, chains diverged on a toy problem with a full batch of 40 points and on Boston
    with 2 minibatches. Preconditioned steps are comparable to those of RMSprop; `method=psgld`
    uses a tenth of the step size.

    All kept networks have the same weight in predictions. Welling & Teh weight them by `eps_t`,
    which by default decreases by a third over the second half of 6000 steps.

    Attributes:
        step_size: see above.
        step_offset: number of steps after which the step size starts to decay.
        step_decay: exponent of the decay.
        minibatch_factor: maximum step size of a minibatch, relative to its fraction of the rows.
        preconditioned: whether G adapts to the gradients.
        damping: of the preconditioner, keeps G finite for vanishing gradients.
    """

    identity_name = "bnnbench.methods.sgld.SGLD"
    family = "sgld"
    step_size: Positive = 14.0
    step_offset: Positive = 1000.0
    step_decay: Annotated[float, Between(0.5, 1, high_included=True)] = 0.55
    minibatch_factor: Positive = 6.0
    preconditioned: bool = False
    damping: Positive = 0.01

    def init(self, task: FitTask) -> State:
        loc = task.mlp.initial(task.streams).expand(task.data.replicas, -1).clone()
        square = {"square": torch.zeros_like(loc)} if self.preconditioned else {}
        return {"loc": loc, **square}

    def update(
        self, mlp: MLP, training: Training, state: State, hyper: Hyper, batch: Batch, noise: Noise
    ) -> State:
        loc, new = state["loc"], {}
        gradient = gradients(mlp, self.likelihood, loc[None], hyper, batch)[0]
        rows = (batch.weights > 0).to(loc.dtype).sum(1, keepdim=True)
        size = self.step_size * (self.step_offset + batch.steps_taken) ** -self.step_decay
        size = size * (self.minibatch_factor * rows / batch.counts).clamp(max=1)
        if self.preconditioned:
            decay = training.betas[1]
            new["square"] = torch.lerp(gradient.square(), state["square"], decay)
            size = size / ((new["square"] * batch.bias_correction[1]).sqrt() + self.damping)
        else:
            size = size / hyper.get("noise_precision", TYPICAL_PRECISION)
        # The 1/N of the step size multiplies the gradient, since N g can be too large for float32.
        gradient = torch.addcmul(gradient, hyper["prior_precision"] / batch.counts, loc)
        mean = torch.addcmul(loc, size, gradient, value=-0.5)
        return {**new, "loc": torch.addcmul(mean, (size / batch.counts).sqrt(), noise[0])}

    def native_update(self) -> NativeUpdate | None:
        steps = (self.step_size, self.step_offset, self.step_decay, self.minibatch_factor)
        if self.preconditioned:
            return NativeUpdate("psgld", ("loc", "square"), (*steps, self.damping))
        return NativeUpdate("sgld", ("loc",), (*steps, TYPICAL_PRECISION))
