"""EM as a run: its answers, its parts, its figures, what it refuses."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from support.config import compose
from support.tiny_runs import no_page

from bnnbench.cli.build import build
from bnnbench.experiment.execution import execute
from bnnbench.experiment.run_folder import RunFolder
from bnnbench.experiment.unit_store import UnitStore
from bnnbench.report.pages import write_page
from bnnbench.results.answers import CLAIMS, Answer, read_answers, value_of
from bnnbench.suites.inference_toys.expectation_maximisation import rules, tables
from bnnbench.suites.inference_toys.expectation_maximisation.page import EXHIBIT
from bnnbench.types import UserError

EXPERIMENT = "experiment=expectation_maximisation"
MADE = tables.SETTINGS[tables.MADE]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    """The run as its file has it, with fewer starts."""
    outputs = f"outputs_dir={tmp_path_factory.mktemp('outputs')}"
    run = build(compose(EXPERIMENT, "experiment.starts=4", outputs, "workers=1"))
    return execute(run, no_page)


def test_answers_agree_with_exact_ones(folder: RunFolder) -> None:
    answers = read_answers(folder)
    beside = answers[answers["exact"].notna()]
    assert set(beside["setting"]) == set(rules.FITTED) and len(beside) == 14
    assert beside["value"].to_numpy() == pytest.approx(beside["exact"].to_numpy(), rel=1e-4)
    assert (answers.loc[answers["quantity"] == tables.APART, "value"] < 1e-10).all()
    assert value_of(answers, tables.COLLAPSED_SHARE, tables.EM, "start on one point") == 1


def test_claims_that_the_numbers_contradict_are_not_confirmed(folder: RunFolder) -> None:
    verdicts = {claim.text: claim.verdict for claim in EXHIBIT.claims(folder)}
    contradicted = {text for text, verdict in verdicts.items() if verdict != "confirmed"}
    assert contradicted == {
        "Gradients of the log-likelihood have no closed form",
        "There is a theta with the highest likelihood",
    }


def test_a_start_that_collapsed_is_named(folder: RunFolder) -> None:
    (note,) = EXHIBIT.notes(folder)
    assert note.startswith("start on one point, start 0: component 1 collapsed onto y = ")
    starts = pd.read_csv(folder.table(tables.STARTS)).set_index("part")
    assert starts.loc[tables.COLLAPSE, "status"] == "collapsed"
    assert set(starts.loc[tables.MADE, "status"]) == {"converged"}


def test_bounds_touch_and_their_tops_are_where_the_next_one_touches(folder: RunFolder) -> None:
    table = pd.read_csv(folder.table(tables.TOUCH))
    assert (table["bound"] <= table["log_likelihood"] + 1e-9).all()
    touches = table.groupby("iteration")["touches_at"].first()
    for iteration, own in table.groupby("iteration"):
        top = own.loc[own["bound"].idxmax(), "mean"]
        if iteration + 1 in touches:  # type: ignore[operator]
            assert top == pytest.approx(touches[iteration + 1], abs=0.02)  # type: ignore[operator]


def test_figures_and_claims_are_written(folder: RunFolder) -> None:
    write_page(folder, "png")
    assert len(pd.read_csv(folder.table(CLAIMS))) == len(EXHIBIT.statements)
    for name in EXHIBIT.figures:
        assert folder.figure(name, "png").stat().st_size > 5000


def test_a_part_is_the_same_alone(folder: RunFolder, tmp_path: Path) -> None:
    run = build(compose(EXPERIMENT, "experiment.starts=4", f"outputs_dir={tmp_path}"))
    alone = UnitStore(RunFolder(tmp_path / "alone"))
    for unit in reversed(run.experiment.units()):
        run.experiment.run(unit, alone)
        kept = UnitStore(folder).file(unit, "json").read_bytes()
        assert alone.file(unit, "json").read_bytes() == kept


def answers(*rows: Answer) -> pd.DataFrame:
    """Rows as `read_answers` gives them."""
    return pd.DataFrame([Answer("other", "none", 1.0).row(), *(row.row() for row in rows)])


def fitted(quantity: str, approximation: str, value: float, exact: float = 0) -> list[Answer]:
    return [Answer(quantity, approximation, value, s, exact=exact) for s in rules.FITTED]


def spike(value: float) -> list[Answer]:
    end = Answer(tables.LIKELIHOOD, tables.EM, -5.0, MADE)
    return [end, Answer(tables.SPIKE, "variance 1e-99", value)]


JUDGED = [
    (
        rules.AtMostRounding(tables.FALL),
        fitted(tables.FALL, tables.EM, 1e-12),
        fitted(tables.FALL, tables.EM, 1e-3),
    ),
    (
        rules.AsElsewhere(),
        fitted(tables.APART, tables.SKLEARN, 1e-12),
        fitted(tables.APART, tables.SKLEARN, 1e-3),
    ),
    (
        rules.ReachesMaximum(),
        fitted(tables.LIKELIHOOD, tables.EM, -7.0, exact=-7.0),
        fitted(tables.LIKELIHOOD, tables.EM, -7.0, exact=-6.0),
    ),
    (
        rules.NoClosedForm(),
        [Answer(tables.SLOPE, tables.FISHER, 0.1)],
        [Answer(tables.SLOPE, tables.FISHER, 1e-9)],
    ),
    (rules.MaximumExists(), spike(-9.0), spike(3.0)),
]


@pytest.mark.parametrize(("check", "holding", "failing"), JUDGED, ids=lambda c: type(c).__name__)
def test_a_rule_holds_fails_or_was_not_run(
    check: rules.AsElsewhere, holding: list[Answer], failing: list[Answer]
) -> None:
    assert check.find(answers(*holding))[0] is True
    assert check.find(answers(*failing))[0] is False
    assert check.find(answers())[0] is None
    assert check.rule


@pytest.mark.parametrize(
    ("overrides", "words"),
    [
        (["experiment.weight=1"], ["experiment.weight", "less than 1"]),
        (["experiment.loc=[1.0]"], ["experiment.loc", "two numbers"]),
        (["experiment.loc=3"], ["experiment.loc", "two numbers"]),
        (["experiment.scale=[1.0,0.0]"], ["experiment.scale", "greater than 0"]),
        (["experiment.points=4"], ["experiment.points", "at least 5"]),
        (["experiment.starts=0"], ["experiment.starts"]),
        (["experiment.iterations=0"], ["experiment.iterations"]),
        (["experiment.tolerance=-1"], ["experiment.tolerance"]),
        (["experiment.least_variance=2"], ["experiment.least_variance"]),
        (["seed=-1"], ["seed"]),
    ],
)
def test_what_is_refused(overrides: list[str], words: list[str], tmp_path: Path) -> None:
    with pytest.raises(UserError) as error:
        build(compose(EXPERIMENT, *overrides, f"outputs_dir={tmp_path}"))
    assert all(word in str(error.value) for word in words)
    assert not list(tmp_path.iterdir())
