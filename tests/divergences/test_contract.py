"""What every divergence is held to: its values, its slopes, its estimates, its part in training."""

from __future__ import annotations

import math
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

from bnnbench.checking.divergence import DIVERGENCE, fits_with, trains, weighted_once
from bnnbench.cli.make import make
from bnnbench.divergences.base import Divergence, RatioDivergence
from bnnbench.divergences.distances import fisher, wasserstein2
from bnnbench.divergences.jensen_shannon import js
from bnnbench.divergences.kl import jeffreys
from bnnbench.divergences.renyi import hellinger
from bnnbench.divergences.total_variation import tv
from bnnbench.methods.shared.contract import Posterior
from bnnbench.types import UserError

BY_THEMSELVES = [check for check in DIVERGENCE if check.find is not trains]
"""A fit with each is made below, with all of them in one stack."""

every = pytest.mark.parametrize("one", DIVERGENCES, ids=lambda d: d.name)
every_ratio = pytest.mark.parametrize("one", RATIOS, ids=lambda d: d.name)


@pytest.mark.parametrize("function", [jeffreys, js, tv, hellinger, fisher, wasserstein2])
def test_symmetry(function: Function) -> None:
    q_loc, q_scale, p_loc, p_scale = columns(pairs())
    forth, back = function(q_loc, q_scale, p_loc, p_scale), function(p_loc, p_scale, q_loc, q_scale)
    torch.testing.assert_close(forth, back, rtol=1e-6, atol=1e-12)


@every
def test_it_holds_every_clause(one: Divergence) -> None:
    found = {check.name: check.find(one) for check in BY_THEMSELVES}
    assert {name: fault for name, fault in found.items() if fault} == {}


@every_ratio
def test_the_weight_multiplies_estimates_once(one: RatioDivergence) -> None:
    assert weighted_once(sampled(one)) is None


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
    assert replace(divergence("kl"), weight=0.1).name == "kl_w0.1"
    assert name("divergence.alpha=2") == name("divergence.alpha=2.0") == "renyi_2"
    estimated = ("divergence.alpha=2", "divergence.estimator=monte_carlo")
    assert name(*estimated) == "renyi_2_mc"
    assert sampled(divergence("renyi", alpha=2.0), "laplace").name == "renyi_2_mc_laplace"


# --- from samples


def normal(*shape: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(4), dtype=torch.float64)


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


OTHER_PRIORS = [sampled(d, p) for d in RATIOS[:6] for p in ("laplace", "scale_mixture")]
STACKS = {
    "closed": DIVERGENCES,
    "monte_carlo": [*map(sampled, RATIOS), *OTHER_PRIORS],
}


@cache
def trained(estimator: str) -> dict[str, tuple[Posterior, Posterior]]:
    """With each divergence of an estimator, and with three times its weight."""
    members = STACKS[estimator]
    light = fits_with(members)
    heavy = fits_with([replace(member, weight=3.0) for member in members])
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
    for posterior in fits_with(members, precision=(1.0, 30.0, 19.0)):
        assert posterior.diverged.tolist()[:2] == [False, True]
        assert all(value.isfinite().all() for value in posterior.state.values())
