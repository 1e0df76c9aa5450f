"""The six losses of section 9.1: derivatives, lemmas, rounding, and the experiment."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from support.command import Command, result_folder

from bnnbench.results.answers import read_answers, value_of
from bnnbench.suites.lam_density_ratio.names import DIVERGENCES, ESTIMATORS
from bnnbench.suites.lam_density_ratio.theory import names
from bnnbench.suites.lam_density_ratio.theory.functionals import (
    ACTIVATIONS,
    FUNCTIONALS,
    derivatives,
    of_pre_activation,
    optimum,
)
from bnnbench.suites.lam_density_ratio.theory.pages import FUNCTIONALS_PAGE, read_functionals
from bnnbench.suites.lam_density_ratio.theory.parametrisations import (
    saturation_answers,
    saturation_slopes,
    slopes,
)

DENSITY = st.floats(0.01, 5)
PRE_ACTIVATION = st.floats(-5, 5, allow_subnormal=False)
UNHURRIED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
each_functional = pytest.mark.parametrize("key", FUNCTIONALS)


def one(value: float) -> torch.Tensor:
    return torch.tensor([value], dtype=torch.float64)


def test_the_first_panel_is_example_9_1_1() -> None:
    d = torch.linspace(0.05, 0.95, 19, dtype=torch.float64)
    half = torch.full_like(d, 0.5)
    printed = -(torch.log(d) + torch.log(1 - d)) / 2
    torch.testing.assert_close(FUNCTIONALS["gan", "class_probability"].loss(d, half, half), printed)


@each_functional
def test_the_optimal_loss_at_equal_densities(key: tuple[str, str]) -> None:
    """Remarks 4.1.3 and 4.2.4: log 4 and 1, for densities that integrate to one."""
    least = FUNCTIONALS[key].loss(optimum(key[1], one(1), one(1)), one(1), one(1)).item()
    assert least == pytest.approx(math.log(4) if key[0] == "gan" else 1, abs=1e-14)


@each_functional
@UNHURRIED
@given(q=DENSITY, p=DENSITY, pre_activation=PRE_ACTIVATION)
def test_the_printed_derivatives(
    key: tuple[str, str], q: float, p: float, pre_activation: float
) -> None:
    """Section 9.1.2."""
    functional, at = FUNCTIONALS[key], ACTIVATIONS[key[1]](one(pre_activation))
    slope, curvature = derivatives(functional.loss, at, one(q), one(p))
    close = {"rtol": 1e-9, "atol": 1e-9}
    torch.testing.assert_close(functional.slope(at, one(q), one(p)), slope, **close)
    torch.testing.assert_close(functional.curvature(at, one(q), one(p)), curvature, **close)


@each_functional
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
    at, densities = one(pre_activation), (one(q), one(p))
    for divergence in DIVERGENCES:
        losses = [of_pre_activation(divergence, name) for name in ESTIMATORS]
        first, *others = ((f(at, *densities), *derivatives(f, at, *densities)) for f in losses)
        for other in others:
            torch.testing.assert_close(other, first, rtol=1e-9, atol=1e-9)


@UNHURRIED
@given(q=DENSITY, p=DENSITY, share=st.floats(-0.999, 5, allow_subnormal=False))
def test_the_optimum_of_the_class_probability_moves_less_than_that_of_the_ratio(
    q: float, p: float, share: float
) -> None:
    """C15, lemma 9.1.2, for every nonzero change of q that leaves it positive."""
    assume(abs(share) > 1e-6)
    steps = {
        name: (optimum(name, one(q * (1 + share)), one(p)) - optimum(name, one(q), one(p))).abs()
        for name in ESTIMATORS
    }
    assert steps["class_probability"] < steps["ratio"]
    # The chain in its proof.
    printed = abs(q * share) / ((q * (1 + share) + p) * (q / p + 1))
    assert steps["class_probability"].item() == pytest.approx(printed, rel=1e-6)
    assert steps["log_ratio"].item() == pytest.approx(abs(math.log(1 + share)), rel=1e-6)


@UNHURRIED
@given(q=DENSITY, p=DENSITY, pre_activation=PRE_ACTIVATION)
def test_order_of_the_second_derivatives(q: float, p: float, pre_activation: float) -> None:
    """C16, section 9.1.2, at outputs that represent the same ratio."""
    at = {name: ACTIVATIONS[name](one(pre_activation)) for name in ESTIMATORS}
    size = {key: f.curvature(at[key[1]], one(q), one(p)) for key, f in FUNCTIONALS.items()}
    assert size["gan", "class_probability"] > size["gan", "ratio"]
    assert size["kl_posterior_prior", "ratio"] > size["gan", "ratio"]


@each_functional
def test_slopes_in_the_pre_activation_are_exact_in_double_precision(key: tuple[str, str]) -> None:
    pre_activation = torch.linspace(-12, 12, 97, dtype=torch.float64)
    found, exact = (slopes(key[0], name, pre_activation) for name in (key[1], names.EXACT))
    for side in names.SIDES:
        torch.testing.assert_close(found[side], exact[side], rtol=1e-9, atol=1e-10)


def test_where_slopes_are_wrong_in_single_precision() -> None:
    edges = {(a.approximation, a.setting): a.value for a in saturation_answers(saturation_slopes())}
    # `1 - 2^-25` rounds to one, and its logit is `25 log 2 = 17.3`; the grid has halves.
    for name in ("GAN, D, draws of p", "reverse KL, D, draws of q"):
        assert edges[name, "above"] == 17
    # The largest number of single precision is `exp(88.72)`.
    for name in ("GAN, T, draws of q", "GAN, T, draws of p", "reverse KL, T, draws of p"):
        assert edges[name, "above"] == 89
    # The programs use `r + 1e-18` for a ratio `r`, and `log 1e-18` is -41.4.
    for name in ("GAN, r, draws of q", "GAN, D, draws of q", "reverse KL, r, draws of q"):
        assert -41.5 < edges[name, "below"] < -35
    assert not any(", T, " in name for name, where in edges if where == "below")


@pytest.mark.usefixtures("without_figures")
def test_the_whole_experiment(command: Command) -> None:
    words = ("points=2000", "q=0.9", "p=0.3")
    overrides = [f"experiment.{word}" for word in words]
    code, out, errors = command("run", "experiment=estimator_parametrisations", *overrides)
    assert code == 0, errors
    folder = result_folder(out)
    answers = read_answers(folder)
    assert value_of(answers, "output of least loss", "GAN, D") == pytest.approx(0.75, abs=1e-12)
    assert value_of(answers, "output of least loss", "reverse KL, r") == pytest.approx(3, abs=1e-12)
    assert (answers["value"] - answers["exact"]).abs().max() < 1e-10
    assert value_of(answers, "largest ratio of the optima's steps", "D / r") < 1
    least = answers[answers["quantity"] == "smallest second derivative in the output"]
    concave = least.loc[least["value"] < 0, "approximation"]
    assert {*concave} == {"GAN, r", "reverse KL, D"}
    verdicts = [claim.verdict for claim in FUNCTIONALS_PAGE.claims(folder)]
    assert verdicts == ["confirmed", "not confirmed"]
    figure = FUNCTIONALS_PAGE.figures["loss_functionals"](folder)
    assert len(figure.axes) == 6 and len({axes.get_ylim() for axes in figure.axes}) == 1
    assert len(FUNCTIONALS_PAGE.figures["saturation"](folder).axes) == 4

    run = read_functionals(folder)
    changed = run.with_columns("answers", value=1 - run["answers"]["value"] * 0)
    assert FUNCTIONALS_PAGE.statements[1][2].check(changed)[0] is True
    changed = run.with_columns("answers", value=-1.0)
    assert FUNCTIONALS_PAGE.statements[0][2].check(changed)[0] is False
