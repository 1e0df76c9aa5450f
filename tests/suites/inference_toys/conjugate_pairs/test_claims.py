"""A run of the conjugate pairs: its answers, figures and claims."""

from __future__ import annotations

import pytest
from support.toy_runs import refuted, toy_run

from bnnbench.experiment.run_folder import RunFolder
from bnnbench.results.answers import ANSWERS
from bnnbench.results.saved_tables import SavedTables
from bnnbench.suites.inference_toys.conjugate_pairs import claims, model
from bnnbench.suites.inference_toys.conjugate_pairs.page import EXPERIMENT_PAGE
from bnnbench.suites.inference_toys.conjugate_pairs.tables import DECISIONS, LOSSES, read_run


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    return toy_run(EXPERIMENT_PAGE, tmp_path_factory.mktemp("out"), "sizes=[1,3,10,100]")


@pytest.fixture
def run(folder: RunFolder) -> SavedTables:
    return read_run(folder)


def test_all_claims_hold_but_the_printed_equations(folder: RunFolder) -> None:
    printed, *_ = (text for text, _, _ in claims.claims)
    assert refuted(EXPERIMENT_PAGE, folder) == {printed: "not confirmed"}


def test_the_answers_agree_with_quadrature_except_those_as_printed(run: SavedTables) -> None:
    rows = run[ANSWERS]
    errors = (rows["value"] / rows["exact"] - 1).abs()
    printed = rows["approximation"] == model.AS_PRINTED
    assert printed.sum() == 4 * 4 and len(rows) == 4 * (6 + 4 + 6 + 1)
    assert errors[~printed].max() < 1e-5 < 0.05 < errors[printed].min()


def test_claims_can_fail(run: SavedTables) -> None:
    rows = run[ANSWERS]
    is_map = rows["quantity"].str.endswith(model.MAP)
    last = is_map & (rows["setting"] == "100 observations")
    distant = run.with_columns(ANSWERS, value=rows["value"].where(~last, 50.0))
    assert claims.mle_and_map_converge(distant)[0] is False
    exact = run.with_columns(ANSWERS, value=rows["exact"])
    assert claims.printed_equations_give_the_posterior(exact)[0] is True
    assert claims.is_invariant_or_not(run, model.MLE, False)[0] is False
    assert claims.is_invariant_or_not(run, model.MAP, True)[0] is False
    shifted = run.with_columns(DECISIONS, minimiser=run[DECISIONS]["minimiser"] + 0.5)
    for loss in LOSSES:
        assert claims.estimate_minimises(shifted, loss)[0] is False
