"""The ascent of a bound, and runs of both toys on EM and of the Bayesian mixture."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from support.config import compose
from support.refusals import assert_refused
from support.tiny_runs import no_page

from bnnbench.config.assemble import build
from bnnbench.experiment.execution import execute
from bnnbench.experiment.run_folder import RunFolder
from bnnbench.results.answers import ANSWERS, Answer
from bnnbench.results.claims import check_claims
from bnnbench.results.saved_tables import SavedTables
from bnnbench.suites.inference_toys.em_factory import page as em_factory
from bnnbench.suites.inference_toys.em_factory import tables as factory_tables
from bnnbench.suites.inference_toys.expectation_maximisation import page as em
from bnnbench.suites.inference_toys.expectation_maximisation import tables as em_tables
from bnnbench.suites.inference_toys.gaussian_mixture import page as mixture
from bnnbench.suites.inference_toys.gaussian_mixture import tables
from bnnbench.suites.inference_toys.mixtures import Ascent, Degenerate, ascend, best_start

PAGES = {page.EXPERIMENT_PAGE.kind: page.EXPERIMENT_PAGE for page in (em_factory, em, mixture)}


def towards_one(value: float) -> float:
    if value < 0:
        raise Degenerate("negative", "negative in iteration {iteration}")
    return (1 + value) / 2


@pytest.mark.parametrize(
    ("start", "iterations", "status", "message", "steps"),
    [
        (0.0, 100, "converged", "converged after 10 iterations", 10),
        (0.0, 3, "unfinished", "not converged after 3 iterations", 3),
        (-1.0, 3, "negative", "negative in iteration 1", 0),
    ],
)
def test_an_ascent_ends(
    start: float, iterations: int, status: str, message: str, steps: int
) -> None:
    result = ascend(towards_one, start, lambda value: value, iterations, 1e-3)
    assert (result.status, result.message) == (status, message)
    assert len(result.states) == len(result.objective) == steps + 1
    assert result.is_usable == (status != "negative") and result.largest_decrease == 0


def test_the_best_start_is_not_degenerate() -> None:
    ends = {"collapsed": 9.0, "unfinished": 1.0, "converged": 2.0}
    ascents = [Ascent((0, 0), np.array([3.0, end]), name, "") for name, end in ends.items()]
    assert best_start(ascents) == 2 and ascents[1].largest_decrease == 2


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, RunFolder]:
    """Run every experiment with its default settings."""
    outputs = f"outputs_dir={tmp_path_factory.mktemp('outputs')}"
    words = {kind: [f"experiment={kind}", outputs, "workers=1"] for kind in PAGES}
    return {kind: execute(build(compose(*words[kind])), no_page) for kind in PAGES}


@pytest.fixture(scope="module")
def runs(folders: dict[str, RunFolder]) -> dict[str, SavedTables]:
    return {kind: PAGES[kind].figures.read(folder) for kind, folder in folders.items()}


def verdicts(kind: str, run: SavedTables) -> list[tuple[str, str]]:
    """Return the name of the function that checks each claim, and the verdict."""
    statements = PAGES[kind].statements
    checks = [rule.function.__name__ for _, _, rule in statements]
    results = [claim.verdict for claim in check_claims(statements, run)]
    return list(zip(checks, results, strict=True))


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("em_factory", ["reaches_maximum"]),  # (2.63) as printed
        ("expectation_maximisation", ["has_no_gradient_in_closed_form", "has_maximum"]),
        ("gaussian_mixture", []),
    ],
)
def test_claims_are_confirmed_but_for_some(
    kind: str, expected: list[str], runs: dict[str, SavedTables]
) -> None:
    found = verdicts(kind, runs[kind])
    assert [check for check, verdict in found if verdict == "not confirmed"] == expected
    other = pd.DataFrame([Answer("other", "none", 1.0).row()])
    without = SavedTables({**runs[kind].tables, ANSWERS: other})
    assert {verdict for _, verdict in verdicts(kind, without)} == {"not tested"}


@pytest.mark.parametrize(
    ("kind", "quantity", "column", "value", "changed"),
    [
        ("em_factory", "beta", "value", 2.0, ["reaches_maximum"] * 2),
        ("em_factory", factory_tables.RATE, "value", 0.9, ["converges_geometrically"]),
        ("em_factory", factory_tables.RATE, "value", np.nan, ["converges_geometrically"]),
        (em_tables.KIND, em_tables.LOG_LIKELIHOOD, "exact", 0.0, ["reaches_maximum"]),
        (em_tables.KIND, em_tables.GRADIENT_DIFFERENCE, "value", 0.1,
         ["has_no_gradient_in_closed_form"]),
        (em_tables.KIND, em_tables.SPIKE_LOG_LIKELIHOOD, "value", -1e3, ["has_maximum"]),
        (tables.KIND, tables.BEST_FRACTION, "value", 1.0, ["has_local_optima"]),
        (tables.KIND, tables.GAP, "value", 0.2, ["fits_one_mode"]),
        (tables.KIND, tables.LOWEST_MEAN_STD, "value", 0.6, ["underestimates_variance"]),
        (tables.KIND, tables.LATE_DISTANCE, "value", 1e-9, ["converges_or_not"] * 2),
        (tables.KIND, tables.LATE_DISTANCE, "value", 1e3, ["converges_or_not"]),
        (tables.KIND, tables.PASSES, "value", 5.0, ["is_faster_than_cavi"]),
        (tables.KIND, tables.PRIOR_VARIANCE, "value", 5.0, ["maximises_evidence"]),
    ],
)  # fmt: skip
def test_other_answers_change_verdicts(
    kind: str,
    quantity: str,
    column: str,
    value: float,
    changed: list[str],
    runs: dict[str, SavedTables],
) -> None:
    answers = runs[kind][ANSWERS]
    others = answers[column].where(answers["quantity"] != quantity, value)
    before = verdicts(kind, runs[kind])
    after = verdicts(kind, runs[kind].with_columns(ANSWERS, **{column: others}))
    assert [a[0] for a, b in zip(after, before, strict=True) if a != b] == changed


@pytest.mark.parametrize(
    ("kind", "panels"),
    [("em_factory", [6]), (em_tables.KIND, [1, 3]), (tables.KIND, [3, 1, 1])],
)
def test_figures_have_lines_or_bars_in_every_panel(
    kind: str, panels: list[int], folders: dict[str, RunFolder]
) -> None:
    figures = [draw(folders[kind]) for draw in PAGES[kind].figures.values()]
    assert [len(figure.axes) for figure in figures] == panels
    assert all(axes.get_lines() or axes.patches for figure in figures for axes in figure.axes)


@pytest.mark.parametrize("kind", ["em_factory", "expectation_maximisation"])
def test_answers_of_em_equal_the_exact_ones(kind: str, runs: dict[str, SavedTables]) -> None:
    answers = runs[kind].rows(ANSWERS).dropna(subset="exact")
    answers = answers[answers["approximation"] != factory_tables.PRINTED]
    assert len(answers) in (14, 27)
    assert answers["value"].to_numpy() == pytest.approx(answers["exact"].to_numpy(), rel=1e-4)


def test_the_closed_form_as_printed_is_not_the_maximum(runs: dict[str, SavedTables]) -> None:
    printed = runs["em_factory"].rows(ANSWERS, approximation=factory_tables.PRINTED)
    rows = printed.set_index("quantity")
    assert rows["value"]["beta"] == pytest.approx(1.793103, abs=1e-6)
    assert rows["exact"]["beta"] == pytest.approx(1.768116, abs=1e-6)
    assert rows["value"]["log-likelihood"] < rows["exact"]["log-likelihood"]


def test_a_collapsed_start_is_reported(folders: dict[str, RunFolder]) -> None:
    (note,) = em.EXPERIMENT_PAGE.notes(folders[em_tables.KIND])
    assert note.startswith("start on one point, start 0: component 1 collapsed")


def test_the_mixture_has_the_known_answers(runs: dict[str, SavedTables]) -> None:
    run = runs["gaussian_mixture"]
    evidence = run.answer(tables.EVIDENCE, tables.CAVI, tables.FEW)
    assert evidence["exact"] == pytest.approx(-21.4499, abs=5e-5)
    assert evidence["value"] == pytest.approx(-22.1696, abs=5e-5)
    many = run.rows(ANSWERS, setting=tables.MANY, quantity=tables.HELD_OUT)
    by_name = many.set_index("approximation")["value"]
    assert by_name["CAVI"] == pytest.approx(by_name["true means"], abs=0.01)
    decreases = run.rows(ANSWERS, quantity=tables.LARGEST_DECREASE)["value"]
    assert len(decreases) == 3 and (decreases < 1e-12).all()


@pytest.mark.parametrize(
    ("experiment", "overrides", "setting", "code"),
    [
        ("em_factory", ["experiment.rate_scale=0.01"], "experiment.data_seed", None),
        ("gaussian_mixture", ["experiment.few_points=16"], "experiment.few_points", "too_large"),
        ("gaussian_mixture", ["experiment.few_means=[1.0,2.0,3.0]", "experiment.few_points=11"],
         "experiment.few_points", "too_large"),
        ("gaussian_mixture", ["experiment.many_points=40"], "experiment.batch", "too_large"),
    ],
)  # fmt: skip
def test_settings_that_do_not_fit_each_other_are_refused(
    experiment: str, overrides: list[str], setting: str, code: str | None
) -> None:
    assert_refused([f"experiment={experiment}", *overrides], setting=setting, code=code)
