"""Runs of EM: answers, claims, figures, units and invalid settings."""

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
from bnnbench.experiment.unit_store import UnitStore
from bnnbench.report.run_output import write_run_output
from bnnbench.results.answers import CLAIMS, Answer, read_answers, value_of
from bnnbench.suites.inference_toys.expectation_maximisation import claims, names
from bnnbench.suites.inference_toys.expectation_maximisation.page import EXPERIMENT_PAGE
from bnnbench.types import UserError

EXPERIMENT = "experiment=expectation_maximisation"
SYNTHETIC = names.SETTINGS[names.SYNTHETIC]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    """Return the default run, but with fewer starts."""
    outputs = f"outputs_dir={tmp_path_factory.mktemp('outputs')}"
    run = build(compose(EXPERIMENT, "experiment.starts=4", outputs, "workers=1"))
    return execute(run, no_page)


def test_answers_agree_with_exact_ones(folder: RunFolder) -> None:
    answers = read_answers(folder)
    known = answers[answers["exact"].notna()]
    assert set(known["setting"]) == set(claims.FITTED_SETTINGS) and len(known) == 14
    assert known["value"].to_numpy() == pytest.approx(known["exact"].to_numpy(), rel=1e-4)
    assert (answers.loc[answers["quantity"] == names.PARAMETER_DIFFERENCE, "value"] < 1e-10).all()
    assert value_of(answers, names.COLLAPSED_FRACTION, names.EM, "start on one point") == 1


def test_claims_that_the_numbers_contradict_are_not_confirmed(folder: RunFolder) -> None:
    verdicts = {claim.text: claim.verdict for claim in EXPERIMENT_PAGE.claims(folder)}
    contradicted = {text for text, verdict in verdicts.items() if verdict != "confirmed"}
    assert contradicted == {
        "Gradients of the log-likelihood have no closed form",
        "The likelihood has a maximum",
    }


def test_a_collapsed_start_is_reported(folder: RunFolder) -> None:
    (note,) = EXPERIMENT_PAGE.notes(folder)
    assert note.startswith(f"{names.SETTINGS[names.COLLAPSING_START]}, start 0: ")
    assert "component 1" in note
    starts = pd.read_csv(folder.table(names.STARTS)).set_index("part")
    assert starts.loc[names.COLLAPSING_START, "status"] == "collapsed"
    assert set(starts.loc[names.SYNTHETIC, "status"]) == {"converged"}


def test_each_bound_is_maximal_where_the_next_one_is_tight(folder: RunFolder) -> None:
    table = pd.read_csv(folder.table(names.BOUNDS))
    assert (table["bound"] <= table["log_likelihood"] + 1e-9).all()
    contacts = table.groupby("iteration")["current_mean"].first()
    for iteration, rows in table.groupby("iteration"):
        maximum = rows.loc[rows["bound"].idxmax(), "mean"]
        if iteration + 1 in contacts:  # type: ignore[operator]
            following = contacts[iteration + 1]  # type: ignore[operator]
            assert maximum == pytest.approx(following, abs=0.02)


def test_figures_and_claims_are_written(folder: RunFolder) -> None:
    write_run_output(folder, "png")
    assert len(pd.read_csv(folder.table(CLAIMS))) == len(EXPERIMENT_PAGE.statements)
    for name in EXPERIMENT_PAGE.figures:
        assert folder.figure(name, "png").stat().st_size > 5000


def test_a_unit_does_not_depend_on_the_other_units(folder: RunFolder, tmp_path: Path) -> None:
    run = build(compose(EXPERIMENT, "experiment.starts=4", f"outputs_dir={tmp_path}"))
    alone = UnitStore(RunFolder(tmp_path / "alone"))
    for unit in reversed(run.experiment.units()):
        run.experiment.run(unit, alone)
        expected = UnitStore(folder).file(unit, "json").read_bytes()
        assert alone.file(unit, "json").read_bytes() == expected


def answers(*rows: Answer) -> pd.DataFrame:
    """Return a table like the result of `read_answers`."""
    return pd.DataFrame([Answer("other", "none", 1.0).row(), *(row.row() for row in rows)])


def fitted(quantity: str, approximation: str, value: float, exact: float = 0) -> list[Answer]:
    return [Answer(quantity, approximation, value, s, exact=exact) for s in claims.FITTED_SETTINGS]


def spike(value: float) -> list[Answer]:
    end = Answer(names.LOG_LIKELIHOOD, names.EM, -5.0, SYNTHETIC)
    return [end, Answer(names.SPIKE_LOG_LIKELIHOOD, "variance 1e-99", value)]


CASES = [
    (
        "No iteration decreases the log-likelihood",
        fitted(names.LARGEST_DECREASE, names.EM, 1e-12),
        fitted(names.LARGEST_DECREASE, names.EM, 1e-3),
    ),
    (
        "The steps of the pseudo-code are those of EM in other software",
        fitted(names.PARAMETER_DIFFERENCE, names.SKLEARN, 1e-12),
        fitted(names.PARAMETER_DIFFERENCE, names.SKLEARN, 1e-3),
    ),
    (
        "Maximising the simpler objective maximises the likelihood",
        fitted(names.LOG_LIKELIHOOD, names.EM, -7.0, exact=-7.0),
        fitted(names.LOG_LIKELIHOOD, names.EM, -7.0, exact=-6.0),
    ),
    (
        "Gradients of the log-likelihood have no closed form",
        [Answer(names.GRADIENT_DIFFERENCE, names.FISHER, 0.1)],
        [Answer(names.GRADIENT_DIFFERENCE, names.FISHER, 1e-9)],
    ),
    ("The likelihood has a maximum", spike(-9.0), spike(3.0)),
]


@pytest.mark.parametrize(("text", "holding", "failing"), CASES, ids=[text for text, *_ in CASES])
def test_a_claim_holds_fails_or_is_not_tested(
    text: str, holding: list[Answer], failing: list[Answer]
) -> None:
    (rule,) = (rule for claim, _, rule in claims.claims if claim == text)
    assert rule.check(answers(*holding))[0] is True
    assert rule.check(answers(*failing))[0] is False
    assert rule.check(answers())[0] is None
    assert rule.rule


@pytest.mark.parametrize(
    ("override", "code"),
    [
        ("experiment.weight=1", None),
        ("experiment.loc=[1.0]", "not_a_list"),
        ("experiment.loc=3", "not_a_list"),
        ("experiment.scale=[1.0,0.0]", None),
        ("experiment.points=4", None),
        ("experiment.starts=0", None),
        ("experiment.iterations=0", None),
        ("experiment.tolerance=-1", None),
        ("experiment.min_variance=2", None),
        ("seed=-1", None),
    ],
)
def test_an_invalid_setting_is_refused(override: str, code: str | None, tmp_path: Path) -> None:
    with pytest.raises(UserError) as error:
        build(compose(EXPERIMENT, override, f"outputs_dir={tmp_path}"))
    assert_user_error(error, override.partition("=")[0], code)
    assert not list(tmp_path.iterdir())
