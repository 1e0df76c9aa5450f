"""The contract of every divergence: values, derivatives, estimates and training."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch
from support.config import compose_only
from support.divergences import (
    DIVERGENCES,
    RATIOS,
    assert_close_on_average,
    divergence,
    monte_carlo,
)
from support.user_errors import raises_user_error
from torch import Tensor

from bnnbench.checking.divergence import DIVERGENCE, fit_with, is_weighted_once, trains
from bnnbench.config.instantiate import instantiate
from bnnbench.divergences.base import Divergence, RatioDivergence

BY_THEMSELVES = [check for check in DIVERGENCE if check.run is not trains]
"""The checks without training; below, all divergences and estimates are trained."""

every = pytest.mark.parametrize("one", DIVERGENCES, ids=lambda d: d.name)
every_ratio = pytest.mark.parametrize("one", RATIOS, ids=lambda d: d.name)


@pytest.mark.ci
@every
def test_the_contract_holds(one: Divergence) -> None:
    found = {check.name: check.run(one) for check in BY_THEMSELVES}
    assert {name: failure for name, failure in found.items() if failure} == {}


@every_ratio
def test_the_weight_multiplies_estimates_once(one: RatioDivergence) -> None:
    assert is_weighted_once(monte_carlo(one)) is None


def test_names_include_changed_settings() -> None:
    def name(*overrides: str) -> str:
        composed = compose_only("prior=gaussian", "divergence=renyi", *overrides)
        return str(instantiate("divergence", composed["divergence"]).name)

    assert divergence("kl").name == "kl"
    assert replace(divergence("kl"), weight=0.1).name == "kl_weight_0.1"
    assert name("divergence.alpha=2") == name("divergence.alpha=2.0") == "renyi_2"
    estimated = ("divergence.alpha=2", "divergence.estimator=monte_carlo")
    assert name(*estimated) == "renyi_2_mc"
    assert monte_carlo(divergence("renyi", alpha=2.0), "laplace").name == "renyi_2_mc_laplace"


# --- Monte Carlo estimates


def normal(*shape: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(4), dtype=torch.float64)


@every_ratio
def test_estimates_are_unbiased_except_for_renyi(one: RatioDivergence) -> None:
    loc, scale = torch.full((1, 1), 0.5).double(), torch.full((1, 1), 0.9).double()
    precision = torch.ones(1, 1).double()
    few = normal(2, 400_000, 1)  # two samples each of many independent weights
    ratios = monte_carlo(one)._sampled(loc, scale, precision, few)[:, 0]
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
    chosen = monte_carlo(divergence(name), prior)
    loc, scale = torch.full((1, 1), 0.4).double(), torch.full((1, 1), 0.5).double()
    precision = torch.full((1, 1), 1.5).double()
    z = torch.linspace(-9, 9, 40_001, dtype=torch.float64)
    weights = torch.exp(-0.5 * z.square())
    ratio = -0.5 * z.square() - scale.log() - 0.5 * math.log(2 * math.pi)
    ratio = ratio - chosen.prior.log_density(loc + scale * z, precision)
    by_node = chosen.estimate(ratio[None])  # one sample for each of as many weights
    expected = ((weights * by_node).sum() / weights.sum())[None]
    values = torch.stack([chosen.value(loc, scale, precision, e) for e in normal(40, 5000, 1, 1)])
    assert_close_on_average(values, expected)


@pytest.mark.parametrize(
    ("overrides", "setting", "code"),
    [("divergence=kl prior=laplace", "prior", None),
     ("divergence=renyi prior=scale_mixture", "prior", None),
     *((f"divergence={name} divergence.estimator=monte_carlo", "divergence.estimator",
        "not_a_density_ratio") for name in ("fisher", "tv_lower", "wasserstein2")),
     ("divergence=kl divergence.estimator=mc", "divergence.estimator", None),
     ("divergence=renyi divergence.alpha=0", "divergence.alpha", None),
     ("divergence=alpha_js divergence.alpha=1.5", "divergence.alpha", None),
     ("divergence=alpha_js divergence.alpha=1e-4", "divergence.alpha", None),
     ("divergence=kl +divergence.alpha=2", "divergence.alpha", "unknown_setting"),
     ("divergence=kl prior=scale_mixture prior.ratio=2", "prior.ratio", None),
     ("divergence=kl prior=scale_mixture prior.fraction=1", "prior.fraction", None)],
)  # fmt: skip
def test_invalid_settings(overrides: str, setting: str, code: str | None) -> None:
    chosen = overrides if "prior=" in overrides else f"prior=gaussian {overrides}"
    with raises_user_error(setting, code):
        instantiate("divergence", compose_only(*chosen.split())["divergence"])


# --- training


OTHER_PRIORS = [monte_carlo(d, p) for d in RATIOS[:6] for p in ("laplace", "scale_mixture")]
TRAINED = {"closed": DIVERGENCES, "monte_carlo": [*map(monte_carlo, RATIOS), *OTHER_PRIORS]}


@pytest.mark.parametrize("estimator", TRAINED)
def test_training_is_finite_and_depends_on_the_divergence(estimator: str) -> None:
    for chosen in TRAINED[estimator]:
        posterior, heavier = fit_with(chosen), fit_with(replace(chosen, weight=3.0))
        assert posterior.diverged.tolist() == [False, False, False], chosen.name
        assert all(value.isfinite().all() for value in posterior.state.values()), chosen.name
        assert not torch.equal(posterior.state["rho"], heavier.state["rho"]), chosen.name


def test_leaving_the_domain_is_reported_as_divergence() -> None:
    """The posterior starts with variance 0.1; the limit is twice the variance of the prior."""
    for chosen in (divergence("chi2"), divergence("renyi", alpha=2.0)):
        posterior = fit_with(chosen, precision=(1.0, 30.0, 19.0))
        assert posterior.diverged.tolist()[:2] == [False, True]
        assert all(value.isfinite().all() for value in posterior.state.values())
