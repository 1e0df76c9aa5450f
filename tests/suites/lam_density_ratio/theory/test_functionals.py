"""The six loss functionals: their derivatives, optima, and equivalence."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from bnnbench.suites.lam_density_ratio.names import DIVERGENCES, ESTIMATORS
from bnnbench.suites.lam_density_ratio.theory.functionals import (
    ACTIVATIONS,
    FUNCTIONALS,
    derivatives,
    of_pre_activation,
    optimum,
)

KEYS = [(divergence, name) for divergence in DIVERGENCES for name in ESTIMATORS]
DENSITY = st.floats(0.01, 5)
PRE_ACTIVATION = st.floats(-5, 5, allow_subnormal=False)
UNHURRIED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])


def one(value: float) -> torch.Tensor:
    return torch.tensor([value], dtype=torch.float64)


def test_the_first_panel_is_example_9_1_1() -> None:
    d = torch.linspace(0.05, 0.95, 19, dtype=torch.float64)
    half = torch.full_like(d, 0.5)
    printed = -(torch.log(d) + torch.log(1 - d)) / 2
    torch.testing.assert_close(FUNCTIONALS["gan", "class_probability"].loss(d, half, half), printed)


@pytest.mark.parametrize(
    ("divergence", "least"), [("gan", math.log(4)), ("kl_posterior_prior", 1.0)]
)
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_the_optimal_loss_at_equal_densities(divergence: str, least: float, estimator: str) -> None:
    """Remarks 4.1.3 and 4.2.4: log 4 and 1, for densities that integrate to one."""
    best = optimum(estimator, one(1), one(1))
    assert FUNCTIONALS[divergence, estimator].loss(best, one(1), one(1)).item() == pytest.approx(
        least, abs=1e-14
    )


@pytest.mark.parametrize("key", KEYS)
@UNHURRIED
@given(q=DENSITY, p=DENSITY, pre_activation=PRE_ACTIVATION)
def test_the_printed_derivatives(
    key: tuple[str, str], q: float, p: float, pre_activation: float
) -> None:
    functional, at = FUNCTIONALS[key], ACTIVATIONS[key[1]](one(pre_activation))
    slope, curvature = derivatives(functional.loss, at, one(q), one(p))
    close = {"rtol": 1e-9, "atol": 1e-9}
    torch.testing.assert_close(functional.slope(at, one(q), one(p)), slope, **close)
    torch.testing.assert_close(functional.curvature(at, one(q), one(p)), curvature, **close)


@pytest.mark.parametrize("key", KEYS)
@UNHURRIED
@given(q=DENSITY, p=DENSITY, away=st.floats(0.01, 3), below=st.booleans())
def test_every_other_output_costs_more_than_the_optimum(
    key: tuple[str, str], q: float, p: float, away: float, below: bool
) -> None:
    """Lemmas 4.1.1 and 4.2.2."""
    loss, best = of_pre_activation(*key), torch.log(one(q) / one(p))
    elsewhere = best - away if below else best + away
    assert loss(best, one(q), one(p)) < loss(elsewhere, one(q), one(p))
    at = optimum(key[1], one(q), one(p))
    slope = FUNCTIONALS[key].slope(at, one(q), one(p))
    torch.testing.assert_close(slope, torch.zeros(1).double(), rtol=0, atol=1e-9)


@UNHURRIED
@given(q=DENSITY, p=DENSITY, pre_activation=PRE_ACTIVATION)
def test_the_three_estimators_are_one_function_of_the_pre_activation(
    q: float, p: float, pre_activation: float
) -> None:
    for divergence in DIVERGENCES:
        found = [
            (
                of_pre_activation(divergence, name)(one(pre_activation), one(q), one(p)),
                *derivatives(
                    of_pre_activation(divergence, name), one(pre_activation), one(q), one(p)
                ),
            )
            for name in ESTIMATORS
        ]
        for other in found[1:]:
            torch.testing.assert_close(other, found[0], rtol=1e-9, atol=1e-9)


@UNHURRIED
@given(q=DENSITY, p=DENSITY, share=st.floats(-0.999, 5, allow_subnormal=False))
def test_the_optimum_of_the_class_probability_moves_less_than_that_of_the_ratio(
    q: float, p: float, share: float
) -> None:
    """Lemma 9.1.2, for every nonzero change of q that leaves it positive."""
    assume(abs(share) > 1e-6)
    steps = {
        name: (optimum(name, one(q * (1 + share)), one(p)) - optimum(name, one(q), one(p))).abs()
        for name in ("class_probability", "ratio", "log_ratio")
    }
    assert steps["class_probability"] < steps["ratio"]
    # The chain in its proof.
    printed = abs(q * share) / ((q * (1 + share) + p) * (q / p + 1))
    assert steps["class_probability"].item() == pytest.approx(printed, rel=1e-6)
    assert steps["log_ratio"].item() == pytest.approx(abs(math.log(1 + share)), rel=1e-6)


@UNHURRIED
@given(q=DENSITY, p=DENSITY, pre_activation=PRE_ACTIVATION)
def test_order_of_the_second_derivatives(q: float, p: float, pre_activation: float) -> None:
    """Section 9.1.2, at outputs that represent the same ratio."""
    at = {name: ACTIVATIONS[name](one(pre_activation)) for name in ESTIMATORS}
    size = {key: FUNCTIONALS[key].curvature(at[key[1]], one(q), one(p)) for key in KEYS}
    assert size["gan", "class_probability"] > size["gan", "ratio"]
    assert size["kl_posterior_prior", "ratio"] > size["gan", "ratio"]
