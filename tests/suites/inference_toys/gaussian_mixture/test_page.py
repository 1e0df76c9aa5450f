"""What a run on the mixture shows, and how its claims are judged."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from support.config import compose
from support.tiny_runs import no_page

from bnnbench.cli.build import build
from bnnbench.experiment.execution import execute
from bnnbench.experiment.run_folder import RunFolder
from bnnbench.report.pages import write_page
from bnnbench.results.answers import CLAIMS, Answer
from bnnbench.suites.inference_toys.gaussian_mixture import rules, tables
from bnnbench.suites.inference_toys.gaussian_mixture.experiment import GaussianMixture
from bnnbench.suites.inference_toys.gaussian_mixture.page import EXHIBIT
from bnnbench.types import UserError

FEW, CAVI, SVI = tables.FEW_POINTS, tables.ASCENT, tables.STOCHASTIC_VI


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    settings = ["many_points=60", "starts=2", "held_out=20", "batch=20", "passes=3"]
    outputs = f"outputs_dir={tmp_path_factory.mktemp('outputs')}"
    words = [f"experiment.{setting}" for setting in settings]
    run = build(compose("experiment=gaussian_mixture", *words, outputs, "workers=1"))
    return execute(run, no_page)


def answers(*rows: Answer) -> pd.DataFrame:
    """Rows as `read_answers` gives them."""
    return pd.DataFrame([Answer("other", "none", 1.0).row(), *(row.row() for row in rows)])


def falls(value: float) -> Answer:
    return Answer(tables.FALL, CAVI, value, FEW)


def near(schedule: str, early: float, late: float) -> tuple[Answer, Answer]:
    return (
        Answer(tables.EARLY_DISTANCE, SVI, early, schedule),
        Answer(tables.DISTANCE, SVI, late, schedule),
    )


def evidence(value: float, exact: float) -> Answer:
    return Answer(tables.EVIDENCE, CAVI, value, FEW, exact=exact)


def gap(value: float) -> tuple[Answer, Answer]:
    return Answer(tables.GAP, CAVI, value, FEW), Answer(tables.LABELLINGS, "K!", 0.69, FEW)


def share(value: float) -> Answer:
    return Answer(tables.BEST_SHARE, CAVI, value, tables.MANY_POINTS)


def spread(value: float) -> Answer:
    return Answer(tables.SPREAD, CAVI, value, FEW, exact=0.5)


def passes(ours: float) -> tuple[Answer, Answer]:
    return (
        Answer(tables.PASSES, SVI, ours, tables.DECREASING),
        Answer(tables.PASSES, CAVI, 4.0, tables.MANY_POINTS),
    )


def fitted(value: float) -> Answer:
    return Answer(tables.VARIANCE, tables.VARIATIONAL_EM, value, FEW, exact=4.0)


JUDGED = [
    (rules.NeverFalls(CAVI, (FEW,)), (falls(1e-12),), (falls(1e-6),)),
    (rules.BelowEvidence(), (evidence(-3.0, -2.0),), (evidence(-1.0, -2.0),)),
    (rules.OneMode(), gap(0.75), gap(0.2)),
    (rules.LocalOptima(), (share(0.8),), (share(1.0),)),
    (rules.TooNarrow(), (spread(0.4),), (spread(0.6),)),
    (
        rules.Converges(tables.DECREASING, True),
        near(tables.DECREASING, 0.1, 0.05),
        near(tables.DECREASING, 0.1, 0.09),
    ),
    (
        rules.Converges(tables.CONSTANT, False),
        near(tables.CONSTANT, 0.1, 0.11),
        near(tables.CONSTANT, 0.1, 0.01),
    ),
    (rules.Sooner(), passes(0.8), passes(5.0)),
    (rules.MaximisesEvidence(), (fitted(4.1),), (fitted(5.0),)),
]


@pytest.mark.parametrize(("check", "holding", "failing"), JUDGED, ids=lambda c: type(c).__name__)
def test_a_rule_holds_fails_or_was_not_run(
    check: rules.NeverFalls, holding: tuple[Answer, ...], failing: tuple[Answer, ...]
) -> None:
    assert check.find(answers(*holding))[0] is True
    assert check.find(answers(*failing))[0] is False
    assert check.find(answers())[0] is None
    assert check.rule


def test_the_page_is_that_of_the_experiments_kind() -> None:
    assert GaussianMixture.kind == EXHIBIT.kind


def test_figures_and_claims_are_written(folder: RunFolder) -> None:
    write_page(folder, "png")
    assert len(pd.read_csv(folder.table(CLAIMS))) == len(EXHIBIT.statements)
    for name in EXHIBIT.figures:
        assert folder.figure(name, "png").stat().st_size > 5000


@pytest.mark.parametrize("name", list(EXHIBIT.figures))
def test_figures_show_what_their_tables_hold(folder: RunFolder, name: str) -> None:
    figure = EXHIBIT.figures[name](folder)
    panels = {"densities": 4, "starts": 3, "stochastic": 1, "prior_variance": 1}
    assert len(figure.axes) == panels[name]
    assert all(axes.get_lines() for axes in figure.axes)


def test_a_table_that_is_gone_ends_in_a_sentence(folder: RunFolder, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"stochastic\.csv is missing"):
        EXHIBIT.figures["stochastic"](RunFolder(tmp_path))
