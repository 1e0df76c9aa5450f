"""The lower bounds of section 4.2: theorems, estimates from samples, and the experiment."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.command import Command, result_folder

from bnnbench.results.answers import read_answers
from bnnbench.suites.lam_density_ratio.theory import bounds, names
from bnnbench.suites.lam_density_ratio.theory.bounds import (
    BOUNDS,
    DIVERGENCES,
    DensityPair,
    gaussian,
    powers,
    shifts,
)
from bnnbench.suites.lam_density_ratio.theory.divergence_bounds import AT_EXACT, PAIRS
from bnnbench.suites.lam_density_ratio.theory.pages import BOUNDS_PAGE

PAIR = st.builds(
    lambda loc, scale, other: DensityPair(gaussian(loc, scale), gaussian(0.0, other)),
    st.floats(-2, 2, allow_subnormal=False),
    st.floats(0.4, 1.5),
    st.floats(0.6, 2),
)

UNHURRIED = settings(max_examples=15)


@UNHURRIED
@given(pair=PAIR)
def test_the_divergence_of_two_gaussians(pair: DensityPair) -> None:
    (m,), (s,), (t,) = pair.q.loc, pair.q.scale, pair.p.scale
    closed = math.log(t / s) + (s**2 + m**2) / (2 * t**2) - 0.5
    assert bounds.kl_posterior_prior(pair) == pytest.approx(closed, abs=1e-11)


def test_the_gan_divergence_of_equal_and_of_distant_densities() -> None:
    """`f(1) = -log 4`, where a divergence should have zero (section 4.2.4)."""
    equal = DensityPair(gaussian(1, 2), gaussian(1, 2))
    assert bounds.gan(equal) == pytest.approx(-math.log(4), abs=1e-12)
    distant = DensityPair(gaussian(40, 1), gaussian(0, 1))
    assert bounds.gan(distant) == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("divergence", BOUNDS)
@pytest.mark.parametrize("name", PAIRS)
def test_the_bound_is_the_divergence_at_the_exact_ratio(divergence: str, name: str) -> None:
    """Theorem 4.2.1 and section 4.2.4."""
    pair, truth = PAIRS[name], DIVERGENCES[divergence](PAIRS[name])
    for exact in (powers(pair, np.ones(1)), shifts(pair, np.zeros(1))):
        assert BOUNDS[divergence](pair, exact)[0] == pytest.approx(truth, abs=1e-12)


@UNHURRIED
@given(
    pair=PAIR,
    divergence=st.sampled_from(list(BOUNDS)),
    power=st.floats(0, 1.5, allow_subnormal=False).filter(lambda c: abs(c - 1) > 1e-3),
    shift=st.floats(1e-3, 10),
)
def test_the_bound_is_below_the_divergence_elsewhere(
    pair: DensityPair, divergence: str, power: float, shift: float
) -> None:
    truth, bound = DIVERGENCES[divergence](pair), BOUNDS[divergence]
    # For almost equal densities a power changes nothing.
    if DIVERGENCES["kl_posterior_prior"](pair) > 1e-4:
        assert bound(pair, powers(pair, np.array([power])))[0] < truth
    assert bound(pair, shifts(pair, np.array([shift])))[0] < truth


@pytest.mark.slow
@pytest.mark.usefixtures("without_figures")
def test_the_whole_experiment(command: Command) -> None:
    quick = {"training_steps": 20, "repetitions": 2, "kl_values": "[0.5,8]", "sample_sets": 3}
    words = [f"experiment.{name}={value}" for name, value in {**quick, "samples": 50}.items()]
    code, out, errors = command("run", "experiment=divergence_bounds", *words, "workers=1")
    assert code == 0, errors
    folder = result_folder(out)
    answers = read_answers(folder)
    exact = answers[answers["approximation"] == AT_EXACT]
    np.testing.assert_allclose(exact["value"], exact["exact"], atol=1e-12)
    gaps = answers[answers["quantity"].str.startswith("smallest gap")]
    assert len(gaps) == 6 and (gaps["value"] > 0).all()
    spread = answers[answers["quantity"] == names.RATIO_MEAN_STD].set_index("setting")["value"]
    means = np.exp(np.random.default_rng(0).standard_normal((20_000, 50)) - 0.5).mean(1)
    assert spread["KL = 0.5"] == pytest.approx(means.std(), rel=0.05)
    assert len(pd.read_csv(folder.table(names.ESTIMATES))) == 2 * 2 * 3 * 2 * 2
    (note,) = BOUNDS_PAGE.notes(folder)
    assert "8 nats" in note and "%" in note and "KL(q || p)" in out
    panels = {name: len(draw(folder).axes) for name, draw in BOUNDS_PAGE.figures.items()}
    assert panels == {"families": 4, "estimates": 3}
