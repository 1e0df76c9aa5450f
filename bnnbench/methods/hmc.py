"""Full-batch Hamiltonian Monte Carlo over all weights of a network.

Neal, *Bayesian Learning for Neural Networks*, 1996. Used as a reference for other methods:
Izmailov et al., "What Are Bayesian Neural Network Posteriors Really Like?", ICML 2021.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated

import torch
from torch import Tensor

from bnnbench.constraints import Between, Count, OneOf, Positive, Whole, Word
from bnnbench.methods.shared.chains import NOISE, WEIGHTS, ChainsMethod
from bnnbench.methods.shared.contract import (
    FitTask,
    Posterior,
    ShapeAndRate,
    check_noise_precision,
)
from bnnbench.methods.shared.hmc.adaptation import ChEES, QuarterPeriods, TrajectoryLength
from bnnbench.methods.shared.hmc.metric import Curvatures, network_curvatures
from bnnbench.methods.shared.hmc.network import (
    LOSS,
    PRIOR,
    PrecisionPrior,
    has_conjugate_noise,
    posterior_integrator,
    with_unit_noise,
)
from bnnbench.methods.shared.hmc.sampler import Chains, ChainSchedule, GibbsStep, sample
from bnnbench.native.networks import are_supported, replaced_part
from bnnbench.types import UserError

TYPICAL_LEAPFROGS = 300
"""Steps per trajectory: 200 to 450 on the small data sets, depending on their noise."""

SAMPLED = "sampled"
SampledPrecision = Annotated[float | str | None, Word(SAMPLED, Between(0))]
"""A precision: `sampled`, a number, or None to search it."""


@dataclass(frozen=True, kw_only=True)
class HMC(ChainsMethod):
    """C chains per replica; predicts with an equally weighted mixture of all kept networks.

    An epoch is one transition of every chain; every leapfrog uses all training rows:

        p ~ Normal(0, I)
        p <- p - s/2 B U'(w),  w <- w + s B p,  p <- p - s/2 B U'(w),  repeated
        U(w) = noise_precision |e|^2 / 2 + prior_precision |w|^2 / 2

    with the errors e of n rows and the P weights and biases w, whose prior is `Normal(0, 1 /
    prior_precision)`. The end of a trajectory is accepted with probability `min(1, exp(-d))`, where
    d is the change of `U + |p|^2 / 2`. During warm-up each chain adapts its own step size s, and
    the chains of a replica jointly adapt B (`shared/hmc/metric.py`), which has one matrix per layer
    and shrinks steep directions. The papers above use B = I, where the steepest direction limits
    the step size: on Boston a leapfrog then yields a tenth of the effective draws.

    A precision that is `sampled` has the prior `Gamma(shape, rate)`, starts at its mean and is
    resampled after every transition (Gibbs):

        noise_precision ~ Gamma(shape + n / 2, rate + |e|^2 / 2)
        prior_precision ~ Gamma(shape + P / 2, rate + |w|^2 / 2)

    The default priors are those of Liu & Wang 2016. Neal uses a separate precision for each layer.
    Izmailov et al. fix it and let the network predict the noise (`likelihood=heteroscedastic`). Bui
    et al. 2016, whose scores on the public splits we compare with, do not state theirs.

    Attributes:
        prior_precision: of the weights, standardised units: `sampled`, a number, or None to search
            it.
        noise_precision: of the observations, for a likelihood that has it: as `prior_precision`.
        prior_gamma: shape and rate of the prior of a sampled `prior_precision`.
        noise_gamma: shape and rate of the prior of a sampled `noise_precision`.
        warm_up: epochs of adaptation at the start, which are discarded; at most half of all epochs.
        target_acceptance: mean acceptance probability that step sizes are adapted to.
        metric: `curvature` estimates B from the curvature during the first half of the warm-up;
            `identity` fixes B = I.
        trajectory: `prior` uses a length of `trajectory_quarter_periods` times `pi / 2` standard
            deviations of the prior, along directions on which the data are uninformative; `chees`
            starts there and adapts one length for all chains of a replica during warm-up.
        trajectory_quarter_periods: see `trajectory`; Izmailov et al. use 1 and the identity.
        jitter: relative half-width of the uniform jitter of `prior` trajectories.
        max_leapfrogs: per trajectory.
        init_from: `prior` starts chains at draws from the prior; `map` at MAP networks, trained
            like those of a deep ensemble by `map_steps` full-batch steps of Adam with
            `training.learning_rate` and the initial precisions; `inflated` doubles the weights of
            every second of these networks; `dispersed` trains every second one from a draw from the
            prior, instead of from the usual, much smaller initial weights.
    """

    identity_name = "bnnbench.methods.hmc.HMC"
    family = "hmc"
    compared_settings = ("network.depth", "network.width", "training.final_epochs", "search")
    prior_precision: SampledPrecision = SAMPLED
    noise_precision: SampledPrecision = SAMPLED
    prior_gamma: ShapeAndRate = (1.0, 0.1)
    noise_gamma: ShapeAndRate = (1.0, 0.1)
    warm_up: Annotated[int, Whole(0)] = 500
    target_acceptance: Annotated[float, Between(0, 1)] = 0.8
    metric: Annotated[str, OneOf("curvature", "identity")] = "curvature"
    trajectory: Annotated[str, OneOf("prior", "chees")] = "prior"
    trajectory_quarter_periods: Positive = 8.0
    jitter: Annotated[float, Between(0, 1, low_included=True)] = 0.5
    max_leapfrogs: Count = 1000
    init_from: Annotated[str, OneOf("prior", "map", "inflated", "dispersed")] = "prior"
    variants = (
        {"prior_precision": None, "noise_precision": None, "trajectory": "chees",
         "init_from": "map", "map_steps": 5},
        {"metric": "identity", "trajectory_quarter_periods": 1.0},
    )  # fmt: skip

    def check(self) -> None:
        if self.trajectory == "chees" and self.chains < 2:
            raise UserError(
                "method.trajectory=chees compares chains, so method.chains must be at least 2.",
                setting="method.chains",
            )
        if self.noise_precision != SAMPLED:
            check_noise_precision(self.likelihood, self.noise_precision)
        has_noise_precision = NOISE in self.likelihood.hyper_names
        sampled = has_noise_precision and self.noise_precision == SAMPLED
        if sampled and not has_conjugate_noise(self.likelihood):
            replaced = replaced_part(self.likelihood, self.likelihood.loss)
            raise UserError(
                "method.noise_precision=sampled requires "
                + (f"a Gaussian density, but {replaced}" if replaced else "loss=nll")
                + "; give a number, or null to search it.",
                setting="method.noise_precision",
                code="loss",
            )

    @property
    def hyper_names(self) -> tuple[str, ...]:
        """The hyper-parameters that are not sampled."""
        names = (*self.likelihood.hyper_names, WEIGHTS)
        return tuple(name for name in names if getattr(self, name) != SAMPLED)

    @property
    def native_parts(self) -> tuple[object, ...]:
        parts = (self.likelihood, self.likelihood.loss)
        return parts if are_supported(*parts) else ()

    @property
    def gradients_per_epoch(self) -> int:
        return self.chains * min(self.max_leapfrogs, TYPICAL_LEAPFROGS)

    def fit(self, task: FitTask) -> Posterior:
        task = replace(task, outputs=self.likelihood.outputs)
        warm_up = min(self.warm_up, task.epochs // 2)
        draws = task.epochs - warm_up
        schedule = ChainSchedule(warm_up, draws, self.target_acceptance, self.max_leapfrogs)
        sampled = self._sampled_precisions(task)
        factors = self._initial_factors(task, sampled)
        position = self._initial_position(task, factors)
        integrator = posterior_integrator(task.mlp, self.likelihood, task.data, task.hyper)
        chains = sample(
            integrator, position, factors, self._trajectory(factors), schedule, task.streams,
            _gibbs(sampled) if sampled else None, self._curvatures(task),
        )  # fmt: skip
        return self._posterior(task, chains, sampled)

    def _sampled_precisions(self, task: FitTask) -> dict[str, PrecisionPrior]:
        """Return the priors of sampled precisions, by name."""
        like = task.data.inputs
        rows = like.new_tensor(task.data.counts)
        weights = torch.full_like(rows, task.mlp.n_weights)
        priors = {}
        if has_conjugate_noise(self.likelihood) and self.noise_precision == SAMPLED:
            priors[NOISE] = PrecisionPrior(LOSS, *self.noise_gamma, rows)
        if self.prior_precision == SAMPLED:
            priors[WEIGHTS] = PrecisionPrior(PRIOR, *self.prior_gamma, weights)
        return priors

    def _initial_factors(self, task: FitTask, sampled: Mapping[str, PrecisionPrior]) -> Tensor:
        """Return given precisions and the prior means of sampled ones, `[2, C, R]`."""
        one = task.data.inputs.new_ones(self.chains, task.data.replicas, dtype=torch.float64)
        fixed = {name: task.hyper[name].double()[:, 0] for name in task.hyper}
        initial = {name: prior.shape / prior.rate for name, prior in sampled.items()} | fixed
        noise = initial[NOISE] if has_conjugate_noise(self.likelihood) else 1.0
        return torch.stack([one * noise, one * initial[WEIGHTS]])

    def _initial_position(self, task: FitTask, factors: Tensor) -> Tensor:
        """Return initial networks `[C, R, P]`, drawn from the prior or MAP estimates."""
        if self.init_from == "prior":
            return self._prior_draws(task, factors)
        networks = self.initial_networks(task)
        if self.init_from == "dispersed":
            networks[1::2] = self._prior_draws(task, factors)[1::2]
        networks = self.trained(task, networks, factors)
        if self.init_from == "inflated":
            networks[1::2] *= 2
        return networks

    def _prior_draws(self, task: FitTask, factors: Tensor) -> Tensor:
        networks = task.streams.normal(self.chains, task.mlp.n_weights)
        return factors[PRIOR].rsqrt()[..., None].to(networks.dtype) * networks

    def _trajectory(self, factors: Tensor) -> TrajectoryLength:
        part = PRIOR if self.metric == "identity" else None
        from_prior = QuarterPeriods(self.jitter, part, self.trajectory_quarter_periods)
        if self.trajectory == "prior":
            return from_prior
        lengths = from_prior.lengths(factors, torch.full_like(factors[PRIOR], 0.5))
        return ChEES.from_length(lengths.mean(0))

    def _curvatures(self, task: FitTask) -> Curvatures | None:
        if self.metric == "identity":
            return None
        unit = with_unit_noise(self.likelihood, task.hyper, task.data.inputs)
        return network_curvatures(task.mlp, self.likelihood, task.data, unit)

    def _posterior(
        self, task: FitTask, chains: Chains, sampled: Mapping[str, PrecisionPrior]
    ) -> Posterior:
        like = task.data.inputs
        state = {"chain": chains.draws.flatten(1, 2)}
        for name, prior in sampled.items():
            state[name] = chains.factors[prior.part].flatten(1, 2).to(like.dtype)
        diverged = ~chains.energies.isfinite().flatten(1).all(1)
        values = {
            "acceptance": chains.acceptance.mean(1),
            "divergences": chains.divergent.sum(1),
            "divergence_rate": chains.divergent.mean(1) / chains.draws.shape[2],
            "leapfrogs": chains.leapfrogs.mean(1),
            "step_size": chains.step_size.mean(1),
        }
        diagnostics = {n: value.masked_fill(diverged, torch.nan) for n, value in values.items()}
        counts = like.new_tensor(task.data.counts)[:, None]
        return Posterior(state, task.hyper, task.mlp, counts, diverged, diagnostics=diagnostics)


def _gibbs(sampled: Mapping[str, PrecisionPrior]) -> GibbsStep:
    def step(factors: Tensor, parts: Tensor, uniform: Tensor) -> Tensor:
        new = factors.clone()
        for k, prior in enumerate(sampled.values()):
            new[prior.part] = prior.sample(parts, uniform[..., k])
        return new

    return step
