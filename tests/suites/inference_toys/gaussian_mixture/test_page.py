"""The page of a run on the mixture, and its claims."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from support.config import compose
from support.tiny_runs import no_page
from support.user_errors import assert_user_error

from bnnbench.config.assemble import build
from bnnbench.experiment.execution import execute
from bnnbench.experiment.run_folder import RunFolder
from bnnbench.report.run_output import write_run_output
from bnnbench.results.answers import CLAIMS, Answer
from bnnbench.suites.inference_toys.gaussian_mixture import claims, names
from bnnbench.suites.inference_toys.gaussian_mixture.experiment import GaussianMixture
from bnnbench.suites.inference_toys.gaussian_mixture.page import EXPERIMENT_PAGE
from bnnbench.types import UserError

FEW, CAVI, SVI = names.FEW_POINTS, names.CAVI, names.STOCHASTIC_VI


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    settings = ["many_points=60", "starts=2", "held_out=20", "batch=20", "passes=3"]
    outputs = f"outputs_dir={tmp_path_factory.mktemp('outputs')}"
    words = [f"experiment.{setting}" for setting in settings]
    run = build(compose("experiment=gaussian_mixture", *words, outputs, "workers=1"))
    return execute(run, no_page)


def answers(*rows: Answer) -> pd.DataFrame:
    """Return answers as `read_answers` returns them."""
    return pd.DataFrame([Answer("other", "none", 1.0).row(), *(row.row() for row in rows)])


def decrease(value: float) -> Answer:
    return Answer(names.LARGEST_DECREASE, names.VARIATIONAL_EM, value, FEW)


def distances(schedule: str, early: float, late: float) -> tuple[Answer, Answer]:
    return (
        Answer(names.EARLY_DISTANCE, SVI, early, schedule),
        Answer(names.LATE_DISTANCE, SVI, late, schedule),
    )


def evidence(value: float, exact: float) -> Answer:
    return Answer(names.EVIDENCE, CAVI, value, FEW, exact=exact)


def gap(value: float) -> tuple[Answer, Answer]:
    return Answer(names.GAP, CAVI, value, FEW), Answer(names.LABELLINGS, "K!", 0.69, FEW)


def best_fraction(value: float) -> Answer:
    return Answer(names.BEST_FRACTION, CAVI, value, names.MANY_POINTS)


def lowest_mean_std(value: float) -> Answer:
    return Answer(names.LOWEST_MEAN_STD, CAVI, value, FEW, exact=0.5)


def passes(stochastic: float) -> tuple[Answer, Answer]:
    return (
        Answer(names.PASSES, SVI, stochastic, names.DECREASING),
        Answer(names.PASSES, CAVI, 4.0, names.MANY_POINTS),
    )


def fitted(value: float) -> Answer:
    return Answer(names.PRIOR_VARIANCE, names.VARIATIONAL_EM, value, FEW, exact=4.0)


CASES = [
    (
        "Variational EM increases the ELBO in every iteration",
        (decrease(1e-12),),
        (decrease(1e-6),),
    ),
    (
        "The ELBO is a lower bound of the log evidence",
        (evidence(-3.0, -2.0),),
        (evidence(-1.0, -2.0),),
    ),
    ("The approximation matches a single mode of the posterior", gap(0.75), gap(0.2)),
    ("Coordinate ascent reaches a local optimum", (best_fraction(0.8),), (best_fraction(1.0),)),
    (
        "The approximation underestimates the marginal variances",
        (lowest_mean_std(0.4),),
        (lowest_mean_std(0.6),),
    ),
    (
        "Stochastic VI converges if step sizes have an infinite sum and a finite sum of squares",
        distances(names.DECREASING, 0.1, 0.05),
        distances(names.DECREASING, 0.1, 0.09),
    ),
    (
        "Stochastic VI does not converge without a finite sum of squares: constant steps",
        distances(names.CONSTANT, 0.1, 0.11),
        distances(names.CONSTANT, 0.1, 0.01),
    ),
    (
        "Stochastic VI is faster than processing all data in each iteration",
        passes(0.8),
        passes(5.0),
    ),
    (
        "Maximising the ELBO over a parameter approximates maximising the evidence",
        (fitted(4.1),),
        (fitted(5.0),),
    ),
]


@pytest.mark.parametrize(("text", "holding", "failing"), CASES, ids=[text for text, *_ in CASES])
def test_a_claim_holds_fails_or_is_not_tested(
    text: str, holding: tuple[Answer, ...], failing: tuple[Answer, ...]
) -> None:
    (rule,) = (rule for claim, _, rule in claims.claims if claim == text)
    assert rule.check(answers(*holding))[0] is True
    assert rule.check(answers(*failing))[0] is False
    assert rule.check(answers())[0] is None
    assert rule.rule


def test_the_page_belongs_to_the_experiment() -> None:
    assert GaussianMixture.kind == EXPERIMENT_PAGE.kind


def test_figures_and_claims_are_written(folder: RunFolder) -> None:
    write_run_output(folder, "png")
    assert len(pd.read_csv(folder.table(CLAIMS))) == len(EXPERIMENT_PAGE.statements)
    for name in EXPERIMENT_PAGE.figures:
        assert folder.figure(name, "png").stat().st_size > 5000


@pytest.mark.parametrize("name", list(EXPERIMENT_PAGE.figures))
def test_figures_have_the_right_panels(folder: RunFolder, name: str) -> None:
    figure = EXPERIMENT_PAGE.figures[name](folder)
    panels = {"densities": 4, "starts": 3, "stochastic": 1, "prior_variance": 1}
    assert len(figure.axes) == panels[name]
    assert all(axes.get_lines() for axes in figure.axes)


def test_a_missing_table_is_reported(folder: RunFolder, tmp_path: Path) -> None:
    with pytest.raises(UserError) as error:
        EXPERIMENT_PAGE.figures["stochastic"](RunFolder(tmp_path))
    assert_user_error(error, "stochastic.csv", "damaged")
