"""Pre-activations at which single precision makes the estimators differ."""

from __future__ import annotations

import pandas as pd
import pytest
import torch

from bnnbench.suites.lam_density_ratio.names import DIVERGENCES, ESTIMATORS
from bnnbench.suites.lam_density_ratio.theory.names import EXACT, SIDES
from bnnbench.suites.lam_density_ratio.theory.saturation import (
    saturation_answers,
    saturation_rows,
    slopes,
)


@pytest.fixture(scope="module")
def edges() -> dict[tuple[str, str], float]:
    answers = saturation_answers(pd.DataFrame(saturation_rows()))
    return {(answer.approximation, answer.setting): answer.value for answer in answers}


@pytest.mark.parametrize("divergence", DIVERGENCES)
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_all_slopes_are_exact_in_double_precision(divergence: str, estimator: str) -> None:
    pre_activation = torch.linspace(-12, 12, 97, dtype=torch.float64)
    found, exact = (slopes(divergence, name, pre_activation) for name in (estimator, EXACT))
    for side in SIDES:
        torch.testing.assert_close(found[side], exact[side], rtol=1e-9, atol=1e-10)


def test_a_class_probability_is_one_from_seventeen_on(edges: dict[tuple[str, str], float]) -> None:
    """`1 - 2^-25` rounds to one, and its logit is `25 log 2 = 17.3`; the grid has halves."""
    assert edges["GAN, D, draws of p", "above"] == 17
    assert edges["reverse KL, D, draws of q", "above"] == 17


def test_an_exponential_overflows_from_89_on(edges: dict[tuple[str, str], float]) -> None:
    """The largest number of single precision is `exp(88.72)`."""
    for name in ("GAN, T, draws of q", "GAN, T, draws of p", "reverse KL, T, draws of p"):
        assert edges[name, "above"] == 89


def test_the_constant_ends_the_slope_of_a_small_ratio(edges: dict[tuple[str, str], float]) -> None:
    """The programs use `r + 1e-18` for a ratio `r`, and `log 1e-18` is -41.4."""
    for name in ("GAN, r, draws of q", "GAN, D, draws of q", "reverse KL, r, draws of q"):
        assert -41.5 < edges[name, "below"] < -35
    assert not any(", T, " in name for name, where in edges if where == "below")
