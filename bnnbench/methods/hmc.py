"""Hamiltonian Monte Carlo over all weights, with the whole training part at every step.

Neal, *Bayesian Learning for Neural Networks*, 1996; as a gold standard for other methods Izmailov
et al., "What Are Bayesian Neural Network Posteriors Really Like?", ICML 2021.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import torch
from torch import Tensor

from bnnbench.checks import check_between, check_choice, check_int
from bnnbench.likelihoods.base import Likelihood
from bnnbench.likelihoods.gaussian import Gaussian
from bnnbench.methods.shared.contract import Diagnosis, FitTask, Method, Posterior
from bnnbench.methods.shared.hmc.diagnostics import diagnosis, mixing
from bnnbench.methods.shared.hmc.metric import Curvatures, curvatures_of
from bnnbench.methods.shared.hmc.network import (
    LOSS,
    PRIOR,
    Precision,
    plain_noise,
    posterior,
    posterior_flow,
    unit_noise,
)
from bnnbench.methods.shared.hmc.sampler import Chains, Gibbs, Schedule, sample
from bnnbench.methods.shared.hmc.start import most_probable
from bnnbench.methods.shared.hmc.trajectory import ChEES, QuarterTurn, Trajectory
from bnnbench.methods.shared.pieces import put_out, spread
from bnnbench.native.moments import covers
from bnnbench.random_streams import Streams
from bnnbench.types import Prediction, UserError

TYPICAL_LEAPFROGS = 300
"""Of a trajectory: some 200 to 450 on the small sets, by their noise."""

SAMPLED = "sampled"
NOISE, WEIGHTS = "noise_precision", "prior_precision"


@dataclass(frozen=True, kw_only=True)
class HMC(Method):
    """C chains of each replica; predicts the equally weighted mixture of all kept networks.

    An epoch is one transition of every chain, which sees all rows at each of its leapfrogs:

        p ~ Normal(0, I)
        p <- p - s/2 B U'(w),  w <- w + s B p,  p <- p - s/2 B U'(w),  as often as it takes
        U(w) = noise_precision |e|^2 / 2 + prior_precision |w|^2 / 2

    with the errors e of n rows and the P weights and biases w, under `Normal(0, 1 /
    prior_precision)`. Where that leads is accepted with the probability `exp(-gain)`, at most one,
    by what `U + |p|^2 / 2` gained. Each chain finds its own step size s while it warms up, and the
    chains of a replica find B together (`shared/hmc/metric.py`): a matrix for each layer that
    shrinks steep directions. The papers above have B = I, with steps that fit the steepest
    direction of all: on Boston a leapfrog is then worth a tenth as many effective draws.

    A precision that is `sampled` has the prior `Gamma(shape, rate)`, begins at its mean and is
    drawn anew after every transition (Gibbs):

        noise_precision ~ Gamma(shape + n / 2, rate + |e|^2 / 2)
        prior_precision ~ Gamma(shape + P / 2, rate + |w|^2 / 2)

    The default priors are those of Liu & Wang 2016. Neal shares no precision between layers, and
    Izmailov et al. fix it and have the network predict the noise (`likelihood=heteroscedastic`);
    of Bui et al. 2016, whose scores on the public splits stand beside ours, nothing is known.

    Attributes:
        likelihood: what the outputs say about a target, and what a target then costs.
        prior_precision: standardised units: `sampled`, a number, or None to search it.
        noise_precision: the same of the observations, for a likelihood that has it.
        prior_gamma: shape and rate.
        noise_gamma: shape and rate.
        chains: C.
        warm_up: epochs, from the start, that find step sizes and are not kept: at most half.
        acceptance: mean probability of acceptance that the step sizes lead to.
        metric: B is made of the `curvature` that chains meet in the first half of their warm-up,
            or is the `identity`.
        trajectory: `prior` has trajectories of `quarter_turns` times `pi / 2` standard deviations
            of the prior, in directions that the data say nothing of; `chees` finds one length for
            all chains of a replica while they warm up, from there.
        quarter_turns: see `trajectory`; Izmailov et al. have 1, with the identity.
        jitter: the former are longer or shorter by up to this share, uniformly.
        most_leapfrogs: of a trajectory.
        start: chains begin at draws from the `prior`, or at `map`, networks as a deep ensemble's:
            `map_steps` steps of Adam over all rows at `training.learning_rate`, with the precisions
            of the start.
        map_steps: see `start`.
    """

    likelihood: Likelihood = field(default_factory=Gaussian)
    prior_precision: float | str | None = SAMPLED
    noise_precision: float | str | None = SAMPLED
    prior_gamma: tuple[float, float] = (1.0, 0.1)
    noise_gamma: tuple[float, float] = (1.0, 0.1)
    chains: int = 4
    warm_up: int = 500
    acceptance: float = 0.8
    metric: str = "curvature"
    trajectory: str = "prior"
    quarter_turns: float = 8.0
    jitter: float = 0.5
    most_leapfrogs: int = 1000
    start: str = "prior"
    map_steps: int = 1000
    variants: ClassVar[tuple[Mapping[str, Any], ...]] = (
        {"prior_precision": None, "noise_precision": None, "trajectory": "chees", "start": "map",
         "map_steps": 5},
        {"metric": "identity", "quarter_turns": 1.0},
    )  # fmt: skip

    def __post_init__(self) -> None:
        for name in (NOISE, WEIGHTS):
            value = getattr(self, name)
            if isinstance(value, str):
                check_choice(f"method.{name}", value, (SAMPLED,))
        super().__post_init__()
        for name in ("noise_gamma", "prior_gamma"):
            for value in getattr(self, name):
                check_between(f"method.{name}", value, 0)
        check_int("method.chains", self.chains)
        check_int("method.warm_up", self.warm_up, least=0)
        check_between("method.acceptance", self.acceptance, 0, 1)
        check_choice("method.metric", self.metric, ("curvature", "identity"))
        check_between("method.quarter_turns", self.quarter_turns, 0)
        check_choice("method.trajectory", self.trajectory, ("prior", "chees"))
        if self.trajectory == "chees" and self.chains < 2:
            raise UserError(
                "method.trajectory=chees compares chains: method.chains must be 2 or more."
            )
        check_choice("method.start", self.start, ("prior", "map"))
        check_int("method.map_steps", self.map_steps)
        check_between("method.jitter", self.jitter, 0, 1, low_included=True)
        check_int("method.most_leapfrogs", self.most_leapfrogs)
        own = NOISE in self.likelihood.hyper_names
        if not own and isinstance(self.noise_precision, (int, float)):
            raise UserError(
                f"method.noise_precision={self.noise_precision!r} does not go with "
                f"likelihood={self.likelihood.label}, which predicts the noise of each point."
            )
        if own and self.noise_precision == SAMPLED and not plain_noise(self.likelihood):
            raise UserError(
                "method.noise_precision=sampled goes with loss=nll alone: give a number, or null "
                "to search it."
            )

    @property
    def hyper_names(self) -> tuple[str, ...]:
        """Those that are not sampled."""
        names = (*self.likelihood.hyper_names, WEIGHTS)
        return tuple(name for name in names if getattr(self, name) != SAMPLED)

    @property
    def draws(self) -> bool:
        return False

    @property
    def native(self) -> bool:
        return covers(self.likelihood, torch.zeros(1))

    @property
    def gradients(self) -> int:
        return self.chains * min(self.most_leapfrogs, TYPICAL_LEAPFROGS)

    def fit(self, task: FitTask) -> Posterior:
        task = replace(task, outputs=self.likelihood.outputs)
        warm_up = min(self.warm_up, task.epochs // 2)
        schedule = Schedule(warm_up, task.epochs - warm_up, self.acceptance, self.most_leapfrogs)
        sampled = self._sampled(task)
        factors = self._first_factors(task, sampled)
        position = self._start(task, factors)
        flow = posterior_flow(task.mlp, self.likelihood, task.data, task.hyper)
        chains = sample(
            flow, position, factors, self._trajectory(factors), schedule, task.streams,
            _gibbs(sampled) if sampled else None, self._curvatures(task),
        )  # fmt: skip
        return self._posterior(task, chains, sampled)

    def _sampled(self, task: FitTask) -> dict[str, Precision]:
        """The precisions that are drawn, by name."""
        like = task.data.inputs
        rows = like.new_tensor(task.data.counts)
        weights = torch.full_like(rows, task.mlp.n_weights)
        found = {}
        if plain_noise(self.likelihood) and self.noise_precision == SAMPLED:
            found[NOISE] = Precision(LOSS, *self.noise_gamma, rows)
        if self.prior_precision == SAMPLED:
            found[WEIGHTS] = Precision(PRIOR, *self.prior_gamma, weights)
        return found

    def _first_factors(self, task: FitTask, sampled: Mapping[str, Precision]) -> Tensor:
        """`[2, C, R]`: known precisions, and means of the priors of those that are drawn."""
        one = task.data.inputs.new_ones(self.chains, task.data.replicas, dtype=torch.float64)
        known = {name: task.hyper[name].double()[:, 0] for name in task.hyper}
        first = {name: own.shape / own.rate for name, own in sampled.items()} | known
        noise = first[NOISE] if plain_noise(self.likelihood) else 1.0
        return torch.stack([one * noise, one * first[WEIGHTS]])

    def _start(self, task: FitTask, factors: Tensor) -> Tensor:
        """Networks `[C, R, P]`, drawn from the prior or most probable."""
        if self.start == "prior":
            drawn = task.streams.normal(self.chains, task.mlp.n_weights)
            return factors[PRIOR].rsqrt()[..., None].to(drawn.dtype) * drawn
        drawn = torch.stack([task.mlp.initial(task.streams) for _ in range(self.chains)])
        target = posterior(task.mlp, self.likelihood, task.data, task.hyper)
        begun = drawn.expand(-1, task.data.replicas, -1).contiguous()
        how = task.training.learning_rate, task.training.betas
        return most_probable(target, begun, factors, self.map_steps, *how)

    def _trajectory(self, factors: Tensor) -> Trajectory:
        part = PRIOR if self.metric == "identity" else None
        turn = QuarterTurn(self.jitter, part, self.quarter_turns)
        if self.trajectory == "prior":
            return turn
        return ChEES.start(turn.lengths(factors, torch.full_like(factors[PRIOR], 0.5)).mean(0))

    def _curvatures(self, task: FitTask) -> Curvatures | None:
        if self.metric == "identity":
            return None
        unit = unit_noise(self.likelihood, task.hyper, task.data.inputs)
        return curvatures_of(task.mlp, self.likelihood, task.data, unit)

    def _posterior(
        self, task: FitTask, chains: Chains, sampled: Mapping[str, Precision]
    ) -> Posterior:
        like = task.data.inputs
        state = {"chain": chains.draws.flatten(1, 2)}
        for name, own in sampled.items():
            state[name] = chains.factors[own.part].flatten(1, 2).to(like.dtype)
        lost = ~chains.energies.isfinite().flatten(1).all(1)
        found = {
            "acceptance": chains.acceptance.mean(1),
            "divergences": chains.divergent.sum(1),
            "leapfrogs": chains.leapfrogs.mean(1),
            "step_size": chains.step_size.mean(1),
        }
        diagnostics = {name: value.masked_fill(lost, torch.nan) for name, value in found.items()}
        counts = like.new_tensor(task.data.counts)[:, None]
        return Posterior(state, task.hyper, task.mlp, counts, lost, diagnostics=diagnostics)

    def sample_weights(self, posterior: Posterior, samples: int, streams: Streams) -> Tensor:
        """At most `samples` of the kept networks, evenly spaced over all chains, `[S, R, P]`."""
        return spread(samples, posterior.state["chain"].transpose(0, 1))

    def predict(
        self, posterior: Posterior, inputs: Tensor, samples: int, streams: Streams
    ) -> Prediction:
        """One component per network."""
        outputs = self._outputs(posterior, self.sample_weights(posterior, samples, streams), inputs)
        if NOISE not in posterior.state:
            return self.likelihood.prediction(outputs, posterior.hyper)
        noise = 1 / spread(samples, posterior.state[NOISE].T)[..., None]
        return Prediction(outputs.squeeze(3), torch.zeros_like(noise), noise)

    def diagnose(self, posterior: Posterior, inputs: Tensor, rows: Sequence[int]) -> Diagnosis:
        """Of the networks' first outputs, the means that they predict; R-hat of precisions, too."""
        networks = posterior.state["chain"].transpose(0, 1)
        means = self._outputs(posterior, networks, inputs)[..., 0]
        found = diagnosis(means.unflatten(0, (self.chains, -1)), rows)
        precisions = {
            f"r_hat_{name}": mixing(value.T.unflatten(0, (self.chains, -1)))["r_hat"]
            for name, value in posterior.state.items()
            if name in (NOISE, WEIGHTS)
        }
        return replace(found, summary={**found.summary, **precisions})

    def _outputs(self, posterior: Posterior, networks: Tensor, inputs: Tensor) -> Tensor:
        """Of networks `[S, R, P]`, `[S, R, M, O]`."""
        outputs = inputs.new_empty(len(networks), *inputs.shape[:2], self.likelihood.outputs)
        return put_out(posterior.mlp, networks, inputs, outputs)


def _gibbs(sampled: Mapping[str, Precision]) -> Gibbs:
    def drawn(factors: Tensor, parts: Tensor, uniform: Tensor) -> Tensor:
        new = factors.clone()
        for k, own in enumerate(sampled.values()):
            new[own.part] = own.drawn(parts, uniform[..., k])
        return new

    return drawn
