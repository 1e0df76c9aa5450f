"""Variational inference by Rényi's bound, with as many weight samples as it takes to weigh them.

Li & Turner, "Rényi Divergence Variational Inference", NIPS 2016, and the program of its regression
experiments, github.com/YingzhenLi/VRbound (`BayesianNN`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import torch
from torch import Tensor

from bnnbench.checks import check_between, check_choice
from bnnbench.methods.shared.contract import LEARNT, FitTask, Posterior
from bnnbench.methods.shared.gaussian import VariationalMethod
from bnnbench.methods.shared.trainer import Batch, Noise, State
from bnnbench.nn import MLP, backward, forward
from bnnbench.optim import Rule, adam_on
from bnnbench.random_streams import Streams
from bnnbench.settings import Training
from bnnbench.types import Hyper, UserError

NOISE = "noise_precision"


@dataclass(frozen=True, kw_only=True)
class RenyiVI(VariationalMethod):
    """Diagonal Gaussian posterior q that maximises Rényi's bound of order `alpha`.

    With weights `w_k = loc + scale e_k`, k = 1 to K, of all rows of a minibatch of B,

        bound = 1 / (1 - alpha) log mean_k R_k^(1 - alpha)              (their sections 3 and 4)
        log R_k = N mean_b log p(y_b | w_k) + log p(w_k) - log q(w_k)
        slope = sum_k s_k d log R_k,    s_k = R_k^(1 - alpha) / sum_j R_j^(1 - alpha)

    K samples leave the bound too low on average. The order decides whose slopes count:

        1       all alike: the evidence lower bound, its divergence to the prior in closed form
        0       by their importance weights (IWAE, Burda et al. 2016)
        -inf    that of the greatest R_k alone: their VR-max
        inf     that of the least

    Rényi's divergence is theirs, D_alpha(q || posterior), as in `divergence=renyi`, which puts it
    in place of KL(q || prior) and leaves the expected log-likelihood: another objective but for 1.
    BB-alpha's and Li & Gal's (2017) alpha runs the other way, with variational inference at 0, and
    acts on each data point's factor apart.

    q is a Gaussian factor times the prior, `precision = exp(-log_variance) + prior_precision` and
    `loc = u exp(-log_variance) / precision`: never wider than the prior. Adam descends on
    `u`, which the state calls `loc`, and `log_variance`, per data point: it does not see a factor.

    The text and the program of the authors disagree, and `method=renyi_vi_2016` follows the text
    where it says something: 50 hidden units (program 100), 20 splits (50). Only the program says
    how weights start, `start=normal`, and that the noise does at variance 1, and it has no
    `alpha=inf` of its own: from `1 - 1e-3` on its orders are 1. Text and program share the K weight
    vectors of a step among the rows: the bound is of their product, so that samples drawn row by
    row, as by local reparameterisation, are none of it.

    The objective that a fit records is that of order 1, whatever `alpha` is.

    Attributes:
        alpha: order of the divergence, any number, `-inf` and `inf` among them.
        prior_precision: of the weights, standardised units; None is searched.
        noise_precision: the same of the observations, for a likelihood that has it; or `learnt`,
            by the bound, from 1 on.
        initial_precision: of the factor, to which the prior's comes; theirs is e^10.
        start: `fan_in` starts `u` as the weights of other methods; `normal` at 0.1 times standard
            normal numbers, and the factor's log variances that far from their own.
    """

    alpha: float = 0.5
    prior_precision: float | None = None
    noise_precision: float | str | None = None
    initial_precision: float = math.exp(10)
    start: str = "fan_in"
    own_hyper_names: ClassVar[tuple[str, ...]] = ("prior_precision",)
    variants: ClassVar[tuple[Mapping[str, Any], ...]] = (
        {"alpha": 1.0, "noise_precision": LEARNT, "start": "normal"},
        {"alpha": -math.inf},
    )

    def __post_init__(self) -> None:
        if isinstance(self.noise_precision, str):
            check_choice("method.noise_precision", self.noise_precision, (LEARNT,))
        super().__post_init__()
        number = isinstance(self.alpha, int | float) and not isinstance(self.alpha, bool)
        if not number or math.isnan(self.alpha):
            raise UserError(f"method.alpha must be a number, -inf or inf, not {self.alpha!r}.")
        check_between("method.initial_precision", self.initial_precision, 0)
        check_choice("method.start", self.start, ("fan_in", "normal"))

    @property
    def hyper_names(self) -> tuple[str, ...]:
        return tuple(name for name in super().hyper_names if not (name == NOISE and self.learns))

    @property
    def learns(self) -> bool:
        """Whether a fit learns the noise precision."""
        return self.noise_precision == LEARNT

    def init(self, task: FitTask) -> State:
        replicas, streams, size = task.data.replicas, task.streams, task.mlp.n_weights
        log_variance = task.data.inputs.new_full(
            (replicas, size), -math.log(self.initial_precision)
        )
        if self.start == "normal":
            start = 0.1 * streams.normal(1, size)[0]
            log_variance = log_variance + 0.1 * streams.normal(1, size)[0]
        else:
            start = task.mlp.initial(streams)
        state = {"loc": start.expand(replicas, -1).clone(), "log_variance": log_variance}
        if self.learns:
            state["log_noise"] = log_variance.new_zeros(replicas, 1)
        zeros = {mean: torch.zeros_like(v) for name, v in state.items() for mean in _means_of(name)}
        return {**state, **zeros}

    def hyper_of(self, state: State, hyper: Hyper) -> Hyper:
        return {**hyper, NOISE: (-state["log_noise"]).exp()} if self.learns else hyper

    def sample_noise(self, mlp: MLP, batch: int, samples: int, streams: Streams) -> Noise:
        return (streams.normal(samples, mlp.n_weights),)

    def update(
        self, mlp: MLP, training: Training, state: State, hyper: Hyper, batch: Batch, noise: Noise
    ) -> State:
        known, prior = self.hyper_of(state, hyper), hyper["prior_precision"]
        loc, scale, part = _posterior(state, prior)
        weights = torch.addcmul(loc, scale, noise[0])
        outputs, tape = forward(mlp, weights, batch.inputs)
        losses = self.likelihood.value(outputs, batch.targets, known) * batch.weights
        log_ratios = (
            0.5 * noise[0].square().sum(2)
            - 0.5 * prior[:, 0] * weights.square().sum(2)
            - batch.counts[:, 0] * losses.sum(2)
        )
        shares, pull = shares_of(log_ratios, self.alpha), prior / batch.counts
        slopes = self.likelihood.gradient(outputs, batch.targets, batch.weights, known)
        found, of_loc, of_scale = backward(tape, slopes), pull * loc, pull * scale
        if self.alpha != 1:
            found, of_loc, of_scale = torch.addcmul(found, pull, weights), 0 * loc, 0 * scale
        found = shares[:, :, None] * found
        of_loc = of_loc + found.sum(0)
        of_scale = of_scale + (found * noise[0]).sum(0) - 1 / (batch.counts * scale)
        of_log = part * (0.5 * scale * of_scale - (1 - part) * state["loc"] * of_loc)
        new = {
            **adam_on("loc", state, part * of_loc, batch.unbias, training),
            **adam_on("log_variance", state, of_log, batch.unbias, training),
        }
        if self.learns:
            error = outputs.squeeze(3) - batch.targets
            _, of_deviation = self.likelihood.loss.slopes(error, known[NOISE], batch.weights)
            of_noise = 0.5 * (shares * of_deviation.sum(2)).sum(0)[:, None]
            new |= adam_on("log_noise", state, of_noise, batch.unbias, training)
        return new

    def rule(self) -> Rule:
        names = ["loc", "log_variance", *_means_of("loc"), *_means_of("log_variance")]
        names += ["log_noise", *_means_of("log_noise")] if self.learns else []
        return Rule("renyi_vi", tuple(names), own=(1 - self.alpha,))

    def fit(self, task: FitTask) -> Posterior:
        fitted = super().fit(task)
        if not self.learns:
            return fitted
        learnt = fitted.hyper[NOISE][:, 0].masked_fill(fitted.diverged, torch.nan)
        return replace(fitted, diagnostics={"learnt_noise_precision": learnt})

    def parameters(self, mlp: MLP) -> int:
        return super().parameters(mlp) + self.learns

    def moments(self, posterior: Posterior) -> tuple[Tensor, Tensor]:
        return _posterior(posterior.state, posterior.hyper["prior_precision"])[:2]


def shares_of(log_ratios: Tensor, alpha: float) -> Tensor:
    """What each sample counts for in the slope of Rényi's bound.

    Args:
        log_ratios: `[S, R]`, `log p(w, data) / q(w)` of each, but for a constant.
        alpha: the order.

    Returns:
        `[S, R]`, adding up to one over the samples.
    """
    if math.isfinite(alpha):
        return ((1 - alpha) * log_ratios).softmax(0)
    chosen = (log_ratios if alpha < 0 else -log_ratios).argmax(0, keepdim=True)
    return torch.zeros_like(log_ratios).scatter(0, chosen, 1.0)


def _means_of(name: str) -> tuple[str, str]:
    """Adam's of an entry of the state."""
    return f"{name}_first", f"{name}_second"


def _posterior(state: Mapping[str, Tensor], prior: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Means, standard deviations and the factor's part of the precision, `[R, P]` each."""
    factor = (-state["log_variance"]).exp()
    precision = factor + prior
    part = factor / precision
    return part * state["loc"], precision.rsqrt(), part
