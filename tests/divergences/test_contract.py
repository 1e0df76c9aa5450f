"""What every divergence is held to: its values, its slopes, its estimates, its part in training."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import cache

import pytest
import torch
from support.config import compose_only
from support.divergences import (
    ALIASES,
    DIVERGENCES,
    RATIOS,
    Function,
    close_on_average,
    columns,
    divergence,
    pairs,
    sampled,
)
from support.user_errors import assert_one_sentence
from torch import Tensor

from bnnbench.checking.trial import SEEDS, training_set
from bnnbench.cli.make import make
from bnnbench.divergences.base import Divergence, RatioDivergence
from bnnbench.divergences.distances import fisher, wasserstein2
from bnnbench.divergences.jensen_shannon import js
from bnnbench.divergences.kl import jeffreys
from bnnbench.divergences.renyi import hellinger
from bnnbench.divergences.stacked import StackedDivergences
from bnnbench.divergences.total_variation import tv
from bnnbench.methods.bbb import BBB
from bnnbench.methods.shared.contract import FitTask, Posterior
from bnnbench.random_streams import Streams
from bnnbench.settings import Network, Training
from bnnbench.types import TrainingSet, UserError

every = pytest.mark.parametrize("one", DIVERGENCES, ids=lambda d: d.name)
every_ratio = pytest.mark.parametrize("one", RATIOS, ids=lambda d: d.name)


@pytest.mark.parametrize("function", [jeffreys, js, tv, hellinger, fisher, wasserstein2])
def test_symmetry(function: Function) -> None:
    q_loc, q_scale, p_loc, p_scale = columns(pairs())
    forth, back = function(q_loc, q_scale, p_loc, p_scale), function(p_loc, p_scale, q_loc, q_scale)
    torch.testing.assert_close(forth, back, rtol=1e-6, atol=1e-12)


@every
def test_float32_is_zero_at_equality_and_finite_and_positive_elsewhere(one: Divergence) -> None:
    between = one.between
    loc, scale = torch.tensor([0.0, 1.0, -3e4, 2e-6]), torch.tensor([1.0, 1e-6, 3e3, 7e-4])
    assert (between(loc, scale, loc, scale) == 0).all()
    nearly = torch.rand(2000, generator=torch.Generator().manual_seed(0)) * 1e-3
    assert (between(loc[0] + nearly, 1 + nearly.flip(0), loc[0], scale[0]) >= 0).all()
    ratio = torch.logspace(-6, 0, 200)
    apart = torch.linspace(0, 5, 200) * ratio
    value = between(apart, ratio, torch.zeros(200), torch.ones(200))
    assert value.isfinite().all() and (value >= 0).all()
    exact = between(*(x.double() for x in (apart, ratio, torch.zeros(200), torch.ones(200))))
    torch.testing.assert_close(value.double(), exact, rtol=2e-4, atol=1e-6)


@every
def test_gradient_against_finite_differences_and_autograd(one: Divergence) -> None:
    generator = torch.Generator().manual_seed(1)
    precision = torch.tensor([[0.3], [1.0], [4.0]]).double()
    loc = torch.randn(3, 50, generator=generator).double() * precision.rsqrt()
    scale = (0.05 + 1.2 * torch.rand(3, 50, generator=generator).double()) * precision.rsqrt()
    step = 1e-6
    ahead = [one._closed(loc + step, scale, precision), one._closed(loc, scale + step, precision)]
    behind = [one._closed(loc - step, scale, precision), one._closed(loc, scale - step, precision)]
    with torch.no_grad():
        ours = one.gradient(loc, scale, precision)
        automatic = Divergence.partials(one, loc, scale, precision)
    for gradient, auto, a, b in zip(ours, automatic, ahead, behind, strict=True):
        torch.testing.assert_close(gradient, (a - b) / (2 * step), rtol=1e-4, atol=1e-5)
        torch.testing.assert_close(gradient, auto, rtol=1e-5, atol=1e-7)


@every
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_gradient_vanishes_at_the_prior(one: Divergence, dtype: torch.dtype) -> None:
    """Also where there is a kink, and for a mean apart at equal scales it stays finite."""
    precision = torch.tensor([[1.0], [4.0]], dtype=dtype)
    scale = precision.rsqrt().expand(2, 3).clone()
    loc = torch.zeros_like(scale)
    for gradient in one.gradient(loc, scale, precision):
        torch.testing.assert_close(gradient, torch.zeros_like(gradient), rtol=0, atol=2e-6)
    for gradient in one.gradient(loc + 0.5, scale, precision):
        assert gradient.isfinite().all()


@pytest.mark.parametrize("one", [*DIVERGENCES, *map(sampled, RATIOS)], ids=lambda d: d.name)
def test_the_weight_multiplies_value_and_gradient_once(one: Divergence) -> None:
    loc, scale, precision = torch.ones(1, 3), torch.full((1, 3), 0.4), torch.ones(1, 1)
    epsilon = torch.randn(4, 1, 3, generator=torch.Generator().manual_seed(0))
    tenth = replace(one, weight=0.1)
    given = loc, scale, precision, epsilon
    torch.testing.assert_close(tenth.value(*given), 0.1 * one.value(*given))
    for a, b in zip(tenth.gradient(*given), one.gradient(*given), strict=True):
        torch.testing.assert_close(a, 0.1 * b)
    assert tenth.name == f"{one.name}_w0.1"


@pytest.mark.parametrize("alias", ALIASES)
def test_the_names_of_the_thesis(alias: str) -> None:
    named, meant = divergence(alias), divergence(ALIASES[alias])
    assert named.between.__func__ is meant.between.__func__  # type: ignore[attr-defined]
    assert named.name == meant.name


def test_a_name_says_what_was_set() -> None:
    def name(*overrides: str) -> str:
        composed = compose_only("prior=gaussian", "divergence=renyi", *overrides)
        return str(make("divergence", composed["divergence"]).name)

    assert divergence("kl").name == "kl"
    assert name("divergence.alpha=2") == name("divergence.alpha=2.0") == "renyi_2"
    estimated = ("divergence.alpha=2", "divergence.estimator=monte_carlo")
    assert name(*estimated) == "renyi_2_mc"
    assert sampled(divergence("renyi", alpha=2.0), "laplace").name == "renyi_2_mc_laplace"


# --- from samples


def normal(*shape: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(4), dtype=torch.float64)


@every_ratio
def test_estimates_and_their_gradients_converge_to_the_closed_form(one: RatioDivergence) -> None:
    loc, scale = torch.tensor([[0.3, -0.2]]).double(), torch.tensor([[0.85, 1.1]]).double()
    precision = torch.ones(1, 1).double()
    estimate, draws = sampled(one), normal(60, 20_000, 1, 2)
    values = torch.stack([estimate.value(loc, scale, precision, e) for e in draws])
    close_on_average(values, one.value(loc, scale, precision))
    gradients = [torch.cat(estimate.gradient(loc, scale, precision, e)) for e in draws]
    close_on_average(torch.stack(gradients), torch.cat(one.gradient(loc, scale, precision)))


@every_ratio
def test_a_few_samples_are_unbiased_except_for_renyi(one: RatioDivergence) -> None:
    loc, scale = torch.full((1, 1), 0.5).double(), torch.full((1, 1), 0.9).double()
    precision = torch.ones(1, 1).double()
    few = normal(2, 400_000, 1)  # two samples each of many independent weights
    ratios = sampled(one)._sampled(loc, scale, precision, few)[:, 0]
    error = ratios.std() / len(ratios) ** 0.5
    bias = (ratios.mean() - one.value(loc, scale, precision)[0]) / error
    if "renyi" in one.name and not one.name.endswith("_1"):
        # The logarithm of a mean is too small on average.
        assert (bias < -5) if float(one.name.split("_")[-1]) > 1 else (bias > 5)
    else:
        assert abs(bias) < 4


@pytest.mark.parametrize("prior", ["laplace", "scale_mixture"])
@pytest.mark.parametrize("name", ["kl", "js", "tv"])
def test_other_priors_against_numerical_integration(prior: str, name: str) -> None:
    chosen = sampled(divergence(name), prior)
    loc, scale = torch.full((1, 1), 0.4).double(), torch.full((1, 1), 0.5).double()
    precision = torch.full((1, 1), 1.5).double()
    z = torch.linspace(-9, 9, 40_001, dtype=torch.float64)
    weights = torch.exp(-0.5 * z.square())
    ratio = -0.5 * z.square() - scale.log() - 0.5 * math.log(2 * math.pi)
    ratio = ratio - chosen.prior.log_density(loc + scale * z, precision)
    by_node = chosen.over_samples(ratio[None])  # one sample for each of as many weights
    expected = ((weights * by_node).sum() / weights.sum())[None]
    values = torch.stack([chosen.value(loc, scale, precision, e) for e in normal(40, 5000, 1, 1)])
    close_on_average(values, expected)


@pytest.mark.parametrize(
    ("overrides", "words"),
    [("divergence=kl prior=laplace", ["prior=laplace", "monte_carlo"]),
     ("divergence=renyi prior=scale_mixture", ["prior=scale_mixture", "monte_carlo"]),
     ("divergence=fisher divergence.estimator=monte_carlo", ["divergence.estimator", "fisher"]),
     ("divergence=tv_lower divergence.estimator=monte_carlo", ["divergence.estimator", "tv_low"]),
     ("divergence=wasserstein2 divergence.estimator=monte_carlo", ["density ratio"]),
     ("divergence=kl divergence.estimator=mc", ["divergence.estimator", "monte_carlo"]),
     ("divergence=kl divergence.weight=0", ["divergence.weight", "0"]),
     ("divergence=renyi divergence.alpha=0", ["divergence.alpha", "greater than 0"]),
     ("divergence=alpha divergence.alpha=-1", ["divergence.alpha", "-1"]),
     ("divergence=alpha_renyi divergence.alpha=two", ["divergence.alpha", "two"]),
     ("divergence=renyi divergence.alpha=nan", ["divergence.alpha", "nan"]),
     ("divergence=alpha divergence.alpha=inf", ["divergence.alpha", "inf"]),
     ("divergence=alpha_js divergence.alpha=1.5", ["divergence.alpha", "at most 1", "1.5"]),
     ("divergence=alpha_js divergence.alpha=1e-4", ["divergence.alpha", "0.001", "0.0001"]),
     ("divergence=kl +divergence.alpha=2", ["divergence.alpha is not a setting"]),
     ("divergence=kl prior=scale_mixture prior.ratio=2", ["prior.ratio", "2"]),
     ("divergence=kl prior=scale_mixture prior.fraction=1", ["prior.fraction", "1"])],
)  # fmt: skip
def test_what_makes_no_sense_is_one_sentence(overrides: str, words: list[str]) -> None:
    chosen = overrides if "prior=" in overrides else f"prior=gaussian {overrides}"
    with pytest.raises(UserError) as refused:
        make("divergence", compose_only(*chosen.split())["divergence"])
    assert_one_sentence(refused, *words)


# --- in training


def fit(
    members: Sequence[Divergence], precision: tuple[float, ...] = (1.0, 1.0, 1.0)
) -> list[Posterior]:
    """Bayes by Backprop with each of them on the same three replicas, in one stack."""
    one, copies = training_set(), len(members)
    data = TrainingSet(
        one.inputs.repeat(copies, 1, 1), one.targets.repeat(copies, 1),
        one.counts * copies, one.groups * copies,
    )  # fmt: skip
    stack = StackedDivergences(tuple(members), one.replicas)
    method = BBB(label="bbb", divergence=stack)
    hyper = {"noise_precision": torch.full((data.replicas, 1), 5.0).double(),
             "prior_precision": torch.tensor(precision * copies).double()[:, None]}  # fmt: skip
    training = Training(batch_size=8, samples=3, dtype="float64")
    streams = Streams(SEEDS, data.groups, dtype=torch.float64)
    whole = method.fit(FitTask(data, hyper, Network(width=5), training, 5, streams))
    own = [slice(k * one.replicas, (k + 1) * one.replicas) for k in range(copies)]
    return [
        replace(whole, state={n: v[k] for n, v in whole.state.items()}, diverged=whole.diverged[k])
        for k in own
    ]


OTHER_PRIORS = [sampled(d, p) for d in RATIOS[:6] for p in ("laplace", "scale_mixture")]
STACKS = {
    "closed": DIVERGENCES,
    "monte_carlo": [*map(sampled, RATIOS), *OTHER_PRIORS],
}


@cache
def trained(estimator: str) -> dict[str, tuple[Posterior, Posterior]]:
    """With each divergence of an estimator, and with three times its weight."""
    members = STACKS[estimator]
    light = fit(members)
    heavy = fit([replace(member, weight=3.0) for member in members])
    pairs = zip(light, heavy, strict=True)
    return {member.name: pair for member, pair in zip(members, pairs, strict=True)}


@pytest.mark.parametrize("estimator", STACKS)
def test_training_ends_finite_and_the_divergence_takes_part(estimator: str) -> None:
    assert trained(estimator).keys() == {member.name for member in STACKS[estimator]}
    for name, (posterior, heavier) in trained(estimator).items():
        assert posterior.diverged.tolist() == [False, False, False], name
        assert all(value.isfinite().all() for value in posterior.state.values()), name
        assert not torch.equal(posterior.state["rho"], heavier.state["rho"]), name


def test_leaving_the_domain_is_reported_as_divergence() -> None:
    """The posterior starts with variance 0.1; twice the prior's is the limit."""
    members = [divergence("chi2"), divergence("renyi", alpha=2.0)]
    for posterior in fit(members, precision=(1.0, 30.0, 19.0)):
        assert posterior.diverged.tolist()[:2] == [False, True]
        assert all(value.isfinite().all() for value in posterior.state.values())
