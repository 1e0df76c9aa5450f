"""The six losses of section 9.1: derivatives, lemmas, rounding, and the experiment."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from support.command import Command, result_folder
from support.runs import with_columns

from bnnbench.results.claims.claims import NOT_JUDGED
from bnnbench.results.claims.saved_run import read_answers
from bnnbench.suites.lam_density_ratio.estimator_parametrisations import (
    ACTIVATIONS,
    FUNCTIONALS,
    derivatives,
    of_pre_activation,
    optimum,
)
from bnnbench.suites.lam_density_ratio.names import DIVERGENCES, ESTIMATORS
from bnnbench.suites.lam_density_ratio.parametrisations_page import (
    EXPERIMENT_PAGE,
    read_functionals,
)

DENSITY = st.floats(0.01, 5)
PRE_ACTIVATION = st.floats(-5, 5, allow_subnormal=False)
UNHURRIED = settings(max_examples=15)
each_functional = pytest.mark.parametrize("key", FUNCTIONALS)


def one(value: float) -> torch.Tensor:
    return torch.tensor([value], dtype=torch.float64)


@each_functional
def test_the_printed_derivatives(key: tuple[str, str]) -> None:
    """Section 9.1.2."""
    torch.manual_seed(0)
    q, p, pre_activation = torch.rand(3, 50, dtype=torch.float64) * 5
    functional, at = FUNCTIONALS[key], ACTIVATIONS[key[1]](pre_activation - 2.5)
    slope, curvature = derivatives(functional.loss, at, q, p)
    torch.testing.assert_close(functional.slope(at, q, p), slope, rtol=1e-9, atol=1e-9)
    torch.testing.assert_close(functional.curvature(at, q, p), curvature, rtol=1e-9, atol=1e-9)


@each_functional
def test_every_other_output_costs_more_than_the_optimum(key: tuple[str, str]) -> None:
    """Lemmas 4.1.1 and 4.2.2."""
    torch.manual_seed(0)
    q, p = 0.01 + 5 * torch.rand(2, 50, dtype=torch.float64)
    loss, best = of_pre_activation(*key), torch.log(q / p)
    for away in (-3, -0.1, 0.1, 3):
        assert (loss(best, q, p) < loss(best + away, q, p)).all()
    slope = FUNCTIONALS[key].slope(optimum(key[1], q, p), q, p)
    torch.testing.assert_close(slope, 0 * slope, rtol=0, atol=1e-9)


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


@pytest.mark.slow
@pytest.mark.usefixtures("without_figures")
def test_the_whole_experiment(command: Command) -> None:
    words = ("points=2000", "q=0.9", "p=0.3")
    overrides = [f"experiment.{word}" for word in words]
    code, out, errors = command("run", "experiment=estimator_parametrisations", *overrides)
    assert code == 0, errors
    folder = result_folder(out)
    answers = read_answers(folder)
    assert (answers["value"] - answers["exact"]).abs().max() < 1e-10
    run = read_functionals(folder)
    assert run.value("largest ratio of the optima's steps", "D / r") < 1
    least = answers[answers["quantity"] == "smallest second derivative in the output"]
    concave = least.loc[least["value"] < 0, "approximation"]
    assert {*concave} == {"GAN, r", "reverse KL, D"}
    assert {claim.verdict for claim in EXPERIMENT_PAGE.claims(folder)} == {NOT_JUDGED}
    verdicts = [rule.check(run)[0] for _, _, rule in EXPERIMENT_PAGE.statements]
    assert verdicts == ["confirmed", "contradicted"]
    figure = EXPERIMENT_PAGE.figures["loss_functionals"](folder)
    assert len(figure.axes) == 6 and len({axes.get_ylim() for axes in figure.axes}) == 1

    changed = with_columns(run, "answers", value=1 - run["answers"]["value"] * 0)
    assert EXPERIMENT_PAGE.statements[1][2].check(changed)[0] == "confirmed"
    changed = with_columns(run, "answers", value=-1.0)
    assert EXPERIMENT_PAGE.statements[0][2].check(changed)[0] == "contradicted"
