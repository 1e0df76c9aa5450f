"""Stochastic gradient Langevin dynamics: minibatch gradient steps with noise, kept as samples.

Welling & Teh, "Bayesian Learning via Stochastic Gradient Langevin Dynamics", ICML 2011; GVI thesis,
section 3.3.1. Preconditioned: Li et al., "Preconditioned Stochastic Gradient Langevin Dynamics for
Deep Neural Networks", AAAI 2016.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

from bnnbench.checks import check_between, check_bool
from bnnbench.methods.shared.contract import FitTask
from bnnbench.methods.shared.gradients import gradients
from bnnbench.methods.shared.kept_chain import KeptChain
from bnnbench.methods.shared.trainer import Batch, Noise, State
from bnnbench.nn import MLP
from bnnbench.optim import Rule
from bnnbench.random_streams import Streams
from bnnbench.settings import Training
from bnnbench.types import Hyper, UserError

TYPICAL_PRECISION = 10.0  # where networks predict their noise: 7 to 14 on four UCI sets, 2 on wine


@dataclass(frozen=True, kw_only=True)
class SGLD(KeptChain):
    """One chain per replica: half a step up the log-posterior's slope, and noise of a step's size.

        w <- w - eps_t / 2 G (N g + prior_precision w) + Normal(0, eps_t G)
        eps_t = step_size / N min(1, minibatch_factor B / N) (step_offset + t)^-step_decay

    g is the gradient of the mean negative log-likelihood of a minibatch's B rows, so `N g` is that
    of all N rows, and t counts the steps taken before. `0.5 < step_decay <= 1` is Robbins and
    Monro's condition: the step sizes add up to infinity and their squares do not.

    `N g` is noisy, and its noise heats the chain: where the posterior's precision is P, the
    variance of independent minibatches comes out too large by the share `eps G P N / (4 B)`. So
    steps are the shorter the smaller a minibatch is, as far as `minibatch_factor` says. In a linear
    model (six weights, 400 epochs, the steps of `method=sgld` and `method=psgld`) variances are, as
    a share of the exact ones, with these steps and with those that full batches bear:

        rows, minibatch    noise precision    plain             preconditioned
        455, 32            4                  1.01, was 1.23    1.01, was 1.23
        455, 32            100                1.01, was 1.23    1.06, was 3.99
        7373, 128          4                  0.97, was 1.41    0.97, was 2.29

    After 40 epochs, with the longer steps, 455 rows give 1.82; with the shorter ones chains are not
    there yet, so that the search takes as many epochs as the final fit. Full batches of 40 rows
    give 1.05 in 2000 steps.

    G is `1 / noise_precision`: the slope grows with the noise precision, so that one step size
    does for every value that a search tries. A likelihood without it counts as TYPICAL_PRECISION.

    With `preconditioned`, G is `1 / (floor + sqrt(V))`, V being the running mean of `g^2` with the
    decay `training.betas[1]` (0.99, as in the paper), freed as in Adam of its start at zero. The
    term for the change of G with w is left out, as in the paper's experiments: the shorter the
    average, the wider the posterior comes out. In a linear model with full batches the variances
    are 40 % too large with a decay of 0.9, 11 % with 0.99, and 2 to 8 % with 0.999; of minibatches
    V is mostly the noise, which does not change with w.

    The default steps start at `14 / 1000^0.55 = 0.31` and fall slowly in their first 1000. With
    0.45, full batches of a toy of 40 points diverged, with 2 minibatches of boston.
    Preconditioned steps are about those of RMSprop: `method=psgld` has a tenth.

    Kept networks count alike in predictions, where Welling & Teh weigh each by its `eps_t`, which
    by default falls by a third over the kept half of 6000 steps.

    Attributes:
        step_size: see above.
        step_offset: steps after which the step size begins to fall.
        step_decay: the power of its fall.
        minibatch_factor: how much longer than its share of the rows a minibatch's step may be.
        preconditioned: whether G follows the gradients.
        floor: keeps G finite where they vanish.
    """

    step_size: float = 14.0
    step_offset: float = 1000.0
    step_decay: float = 0.55
    minibatch_factor: float = 6.0
    preconditioned: bool = False
    floor: float = 0.01

    def __post_init__(self) -> None:
        super().__post_init__()
        check_between("method.step_size", self.step_size, 0)
        check_between("method.step_offset", self.step_offset, 0)
        check_between("method.step_decay", self.step_decay, 0)
        if not 0.5 < self.step_decay <= 1:
            raise UserError(
                "method.step_decay must be greater than 0.5 and at most 1, so that the steps add "
                f"up to infinity and their squares do not (Robbins-Monro), not {self.step_decay!r}."
            )
        check_between("method.minibatch_factor", self.minibatch_factor, 0)
        check_bool("method.preconditioned", self.preconditioned)
        check_between("method.floor", self.floor, 0)

    def init(self, task: FitTask) -> State:
        loc = task.mlp.initial(task.streams).expand(task.data.replicas, -1).clone()
        square = {"square": torch.zeros_like(loc)} if self.preconditioned else {}
        return {"loc": loc, **square}

    def sample_noise(self, mlp: MLP, batch: int, samples: int, streams: Streams) -> Noise:
        return (streams.normal(1, mlp.n_weights)[0],)

    def update(
        self, mlp: MLP, training: Training, state: State, hyper: Hyper, batch: Batch, noise: Noise
    ) -> State:
        loc, new = state["loc"], {}
        gradient = gradients(mlp, self.likelihood, loc[None], hyper, batch)[0]
        rows = (batch.weights > 0).to(loc.dtype).sum(1, keepdim=True)
        size = self.step_size * (self.step_offset + batch.taken) ** -self.step_decay
        size = size * (self.minibatch_factor * rows / batch.counts).clamp(max=1)
        if self.preconditioned:
            decay = training.betas[1]
            new["square"] = torch.lerp(gradient.square(), state["square"], decay)
            size = size / ((new["square"] * batch.unbias[1]).sqrt() + self.floor)
        else:
            size = size / hyper.get("noise_precision", TYPICAL_PRECISION)
        # The 1/N of the step is taken into the bracket: N g would be large for float32.
        slope = torch.addcmul(gradient, hyper["prior_precision"] / batch.counts, loc)
        drifted = torch.addcmul(loc, size, slope, value=-0.5)
        return {**new, "loc": torch.addcmul(drifted, (size / batch.counts).sqrt(), noise[0])}

    def rule(self) -> Rule | None:
        steps = (self.step_size, self.step_offset, self.step_decay, self.minibatch_factor)
        if self.preconditioned:
            return Rule("psgld", ("loc", "square"), (*steps, self.floor))
        return Rule("sgld", ("loc",), (*steps, TYPICAL_PRECISION))
