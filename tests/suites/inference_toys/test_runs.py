"""Runs of all toys: answers, figures, and claims on original and modified tables."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from support.config import compose
from support.layout import small_texts
from support.quick import slow_except
from support.runs import with_columns
from support.user_errors import raises_user_error

from bnnbench.config.assemble import build
from bnnbench.experiment.run.execution import execute
from bnnbench.experiment.store.answer_tables import ANSWERS, Answer
from bnnbench.experiment.store.run_folder import RunFolder
from bnnbench.report.experiment_page import ExperimentPage
from bnnbench.results.claims.claims import NOT_JUDGED, check_claims
from bnnbench.results.claims.saved_run import SavedRun
from bnnbench.suites.inference_toys import clutter
from bnnbench.suites.inference_toys import conjugate_pairs as pairs
from bnnbench.suites.inference_toys import em_factory as factory
from bnnbench.suites.inference_toys import expectation_maximisation as em
from bnnbench.suites.inference_toys import gaussian_mixture as mixture
from bnnbench.suites.inference_toys import gradient_variance as gradients
from bnnbench.suites.inference_toys import kl_shapes as shapes
from bnnbench.suites.inference_toys.noise_precision import tables as noise
from bnnbench.suites.inference_toys.page import EXPERIMENT_PAGES

PAGES = {page.kind: page for page in EXPERIMENT_PAGES}

SETTINGS = {
    "clutter": "sizes=[20] draws=[2,50] repetitions=3 orders=10 data_sets=20",
    "gradient_variance": "draws=5000 rows=12",
    "kl_shapes": "separations=[0,3] orders=[-2,2,8]",
    "kl_shapes, few": "separations=[1] weights=[0.5] scales=[2] orders=[1]",
    "noise_precision": "gradient_steps=60 orders=5 powers=[0.001,0.5,1]",
}
"""Settings of runs by name; the others have the default settings."""

QUICK = ("conjugate_pairs", "em_factory", "expectation_maximisation", "kl_shapes, few")
"""Runs of the quick tests; those of the others take seconds."""

Folders = Callable[[str], RunFolder]
Runs = Callable[[str], SavedRun]


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Folders:
    """Return a function that executes a run when it is first needed."""

    @cache
    def folder_of(name: str) -> RunFolder:
        outputs: Path = tmp_path_factory.mktemp("outputs")
        words = [f"experiment.{word}" for word in SETTINGS.get(name, "").split()]
        words += [f"experiment={kind_of(name)}", "workers=1", f"outputs_dir={outputs}"]
        return execute(build(compose(*words)))

    return folder_of


@pytest.fixture(scope="module")
def runs(folders: Folders) -> Runs:
    return cache(lambda name: page_of(name).figures.read(folders(name)))


def kind_of(name: str) -> str:
    return name.partition(",")[0]


def page_of(name: str) -> ExperimentPage:
    return PAGES[kind_of(name)]


def verdicts(name: str, run: SavedRun) -> list[tuple[str, str]]:
    """Return the name of the function that checks each claim, and the verdict."""
    statements = page_of(name).statements
    checks = [rule.function.__name__ for _, _, rule in statements]
    results = [claim.verdict for claim in check_claims(statements, run)]
    return list(zip(checks, results, strict=True))


@pytest.mark.parametrize(
    ("name", "letters", "panels"),
    slow_except([
        ("clutter", "ynyuyyyy", [2, 2, 1]),
        ("conjugate_pairs", "ny", [8]),
        ("em_factory", "yyny", [6]),
        ("expectation_maximisation", "y", [1, 2]),
        ("gaussian_mixture", "yyyyyyyy", [2, 1]),
        ("gradient_variance", "nyyynn", [6, 1]),
        ("kl_shapes", "ynyyyyn", [8, 16, 1]),
        ("kl_shapes, few", "-nnyy-y", [1, 3, 1]),
        ("noise_precision", "nnyynynnyyynn", [3, 3, 2]),
    ], *QUICK),
)  # fmt: skip
def test_verdicts_and_figures(
    name: str, letters: str, panels: list[int], folders: Folders, runs: Runs
) -> None:
    """The letters stand for confirmed, contradicted, undecided and not judged."""
    letter = {"confirmed": "y", "contradicted": "n", "undecided": "u", NOT_JUDGED: "-"}
    assert "".join(letter[verdict] for _, verdict in verdicts(name, runs(name))) == letters
    figures = [draw(folders(name)) for draw in page_of(name).figures.values()]
    assert [len(figure.axes) for figure in figures] == panels
    assert [text for figure in figures for text in small_texts(figure)] == []
    assert all(axes.get_lines() or axes.patches for figure in figures for axes in figure.axes)


@pytest.mark.parametrize("name", ["em_factory", "expectation_maximisation"])
def test_claims_without_answers_are_not_judged(name: str, runs: Runs) -> None:
    other = pd.DataFrame([Answer("other", "none", 1.0).row()])
    without = replace(runs(name), tables={**runs(name).tables, ANSWERS: other})
    assert {verdict for _, verdict in verdicts(name, without)} == {NOT_JUDGED}


def quantity(name: str) -> tuple[str, str]:
    return ("quantity", name)


@pytest.mark.parametrize(
    ("name", "table", "where", "column", "value", "changed"),
    slow_except([
        ("clutter", ANSWERS, quantity(clutter.MEAN_STD), "value", 0.0, ["depends_on_order"]),
        ("clutter", ANSWERS, quantity(clutter.NEGATIVE_SITES), "value", 0, ["has_improper_sites"]),
        ("clutter", clutter.DATA_SETS, None, "exact", 0.1, ["overestimates_variance"]),
        ("clutter", clutter.DATA_SETS, None, "deviating_orders", 0, ["has_one_fixed_point"]),
        ("clutter", ANSWERS, quantity(clutter.SCALE), "exact", 0.3, ["underestimates_variance"]),
        ("clutter", clutter.ORDERS, None, "n_decreases", 0, ["energy_can_increase"]),
        ("clutter", clutter.PROGRESS, ("algorithm", clutter.EP), "mean_error", 9.0,
         ["is_most_accurate_per_work"]),
        ("clutter", clutter.PROGRESS, ("algorithm", clutter.VB), "work", 10**9,
         ["is_most_accurate_per_work"]),
        ("conjugate_pairs", ANSWERS, ("approximation", pairs.AS_PRINTED), "value", "exact",
         ["printed_equations_give_the_posterior"]),
        ("conjugate_pairs", ANSWERS, ("setting", "100 observations"), "value", 50.0,
         ["mle_and_map_converge"]),
        ("em_factory", ANSWERS, quantity("beta"), "value", 2.0, ["reaches_maximum"] * 2),
        ("em_factory", ANSWERS, quantity(factory.RATE), "value", 0.9, ["converges_geometrically"]),
        ("em_factory", ANSWERS, quantity(factory.RATE), "value", np.nan,
         ["converges_geometrically"]),
        ("expectation_maximisation", ANSWERS, quantity(em.LOG_LIKELIHOOD), "exact", 0.0,
         ["reaches_maximum"]),
        ("gaussian_mixture", ANSWERS, quantity(mixture.BEST_FRACTION), "value", 1.0,
         ["has_local_optima"]),
        ("gaussian_mixture", ANSWERS, quantity(mixture.GAP), "value", 0.2, ["fits_one_mode"]),
        ("gaussian_mixture", ANSWERS, quantity(mixture.LOWEST_MEAN_STD), "value", 0.6,
         ["underestimates_variance"]),
        ("gaussian_mixture", ANSWERS, quantity(mixture.LATE_DISTANCE), "value", 1e-9,
         ["converges_or_not"] * 2),
        ("gaussian_mixture", ANSWERS, quantity(mixture.LATE_DISTANCE), "value", 1e3,
         ["converges_or_not"]),
        ("gaussian_mixture", ANSWERS, quantity(mixture.PASSES), "value", 5.0,
         ["is_faster_than_cavi"]),
        ("gaussian_mixture", ANSWERS, quantity(mixture.PRIOR_VARIANCE), "value", 5.0,
         ["maximises_evidence"]),
        ("gradient_variance", ANSWERS, quantity("mean gradient w.r.t. the mean"), "value", 50.0,
         ["is_biased_by_logarithm"]),
        ("gradient_variance", gradients.VARIANCES, ("objective", gradients.OPTIMUM), "variance",
         0.0, ["has_zero_variance_at_posterior"]),
        ("noise_precision", noise.SIZES, None, "weight_std", "exact", ["approaches_power_ep"]),
        ("kl_shapes", shapes.FITS, None, "loc", 0.0,
         ["seeks_component", "has_optimum_per_component"]),
        ("kl_shapes", shapes.FITS, None, "mass_outside", 0.5, ["forces_zeros"]),
        ("kl_shapes", shapes.FITS, None, "min_component_mass", 0.0, ["covers_all_components"]),
    ], *QUICK),
)  # fmt: skip
def test_other_numbers_change_verdicts(
    name: str,
    table: str,
    where: tuple[str, Any] | None,
    column: str,
    value: Any,
    changed: list[str],
    runs: Runs,
) -> None:
    """Replace a column, or that of the rows where another column has a value."""
    run = runs(name)
    rows = run[table]
    is_other = rows[where[0]] == where[1] if where else pd.Series(True, rows.index)
    values = rows[value] if isinstance(value, str) else value
    other = with_columns(run, table, **{column: rows[column].mask(is_other, values)})
    before, after = verdicts(name, run), verdicts(name, other)
    assert [a[0] for a, b in zip(after, before, strict=True) if a != b] == changed


@pytest.mark.slow
def test_clutter(runs: Runs) -> None:
    run = runs("clutter")
    row = run.answer(clutter.EVIDENCE, clutter.EP, "20 observations")
    assert row["exact"] == pytest.approx(-43.3307, abs=5e-5)
    assert abs(row["value"] - row["exact"]) < 0.004
    assert run.value(clutter.NEGATIVE_SITES, clutter.EP) == 8
    assert run.value(clutter.PASSES, clutter.EP) == 11
    adf, means = run.answer(clutter.MEAN, clutter.ADF), run[clutter.ORDERS]["adf_mean"]
    assert adf["value"] == pytest.approx(means.mean())
    assert adf["standard_error"] == pytest.approx(means.sem())
    work = run[clutter.PROGRESS].groupby("algorithm")["work"]
    assert work.first().to_dict() == {
        clutter.EP: 20, clutter.VB: 20, clutter.LAPLACE: 20, clutter.IMPORTANCE: 40
    }  # fmt: skip
    assert work.get_group(clutter.IMPORTANCE).tolist() == [40, 1000]


def test_conjugate_pairs_as_printed_differ_from_the_closed_form(runs: Runs) -> None:
    rows = runs("conjugate_pairs")[ANSWERS]
    printed = rows[rows["approximation"] == pairs.AS_PRINTED]
    errors = (printed["value"] / printed["exact"] - 1).abs()
    assert len(printed) == 4 * 4 and len(rows) == 4 * (6 + 4 + 6) and errors.min() > 0.05


@pytest.mark.parametrize(("name", "count"), [("em_factory", 27), ("expectation_maximisation", 12)])
def test_answers_of_em_equal_the_exact_ones(name: str, count: int, runs: Runs) -> None:
    answers = runs(name)[ANSWERS].dropna(subset="exact")
    answers = answers[answers["approximation"] != factory.PRINTED]
    assert len(answers) == count
    assert answers["value"].to_numpy() == pytest.approx(answers["exact"].to_numpy(), rel=1e-4)


def test_the_closed_form_as_printed_is_not_the_maximum(runs: Runs) -> None:
    rows = runs("em_factory").rows(ANSWERS, approximation=factory.PRINTED).set_index("quantity")
    assert rows["value"]["beta"] == pytest.approx(1.793103, abs=1e-6)
    assert rows["exact"]["beta"] == pytest.approx(1.768116, abs=1e-6)
    assert rows["value"]["log-likelihood"] < rows["exact"]["log-likelihood"]


def test_a_collapsed_start_is_reported(folders: Folders) -> None:
    (note,) = PAGES["expectation_maximisation"].notes(folders("expectation_maximisation"))
    assert note.startswith("start on one point, start 0: component 1 collapsed")


@pytest.mark.slow
def test_gaussian_mixture(runs: Runs) -> None:
    run = runs("gaussian_mixture")
    evidence = run.answer(mixture.EVIDENCE, mixture.CAVI, mixture.FEW)
    assert evidence["exact"] == pytest.approx(-21.4499, abs=5e-5)
    assert evidence["value"] == pytest.approx(-22.1696, abs=5e-5)
    decreases = run.rows(ANSWERS, quantity=mixture.LARGEST_DECREASE)["value"]
    assert len(decreases) == 3 and (decreases < 1e-12).all()


@pytest.mark.slow
def test_means_and_variances_of_gradients_agree_with_exact_values(runs: Runs) -> None:
    """The book's A.1: every estimator is unbiased."""
    run = runs("gradient_variance")
    rows = run[ANSWERS][run[ANSWERS]["quantity"].str.startswith("variance")]
    rows = rows[rows["exact"] > 0]
    distance = (rows["value"] - rows["exact"]).abs() / rows["standard_error"]
    assert len(rows) == 18 + 4 + 2 and distance.max() < 5
    rows = run[gradients.VARIANCES]
    errors = rows["mean_error"].clip(lower=1e-9 * rows["gradient"].abs().clip(lower=1))
    assert ((rows["mean"] - rows["gradient"]).abs() / errors).max() < 5


@pytest.mark.slow
def test_kl_shapes(runs: Runs) -> None:
    run, p = runs("kl_shapes"), "0.5 N(-3, 1) + 0.5 N(3, 1)"
    for name, value in {"reverse KL": 1.023, "Hellinger": 3.050, "forward KL": 3.162}.items():
        assert run.value(shapes.SCALE, name, p) == pytest.approx(value, abs=6e-4)
    assert run.value(shapes.MEAN, "reverse KL", p) == pytest.approx(2.984, abs=6e-4)
    exact = run[ANSWERS].dropna(subset="exact")
    assert (exact["value"] - exact["exact"]).abs().max() < 1e-5
    assert "0.5 N(0, 1) + 0.5 N(0, 1)" not in set(run[ANSWERS]["setting"])


@pytest.mark.slow
def test_noise_precision_compares_every_algorithm_with_the_exact_posterior(runs: Runs) -> None:
    run = runs("noise_precision")
    for approximation in (
        noise.CAVI, noise.ADF, noise.EP, noise.POWER_EP, noise.BLACK_BOX_ALPHA, noise.ADVI,
        noise.BLACK_BOX_VI,
    ):  # fmt: skip
        rows = run.rows(ANSWERS, approximation=approximation)
        assert set(noise.QUANTITIES[:6]) <= set(rows["quantity"]), approximation
    assert np.allclose(run.rows(ANSWERS, quantity=noise.MEAN)["exact"], 4.0645, atol=5e-5)
    for approximation, setting, mean in (
        (noise.CAVI, "", 4.0645),
        (noise.CAVI, noise.AS_PRINTED, 0.7107),
        (noise.EP, noise.GAUSSIAN_K, 4.1071),
    ):
        assert run.value(noise.MEAN, approximation, setting) == pytest.approx(mean, abs=5e-5)
    order = [noise.QUANTITIES.index(name) for name in run[ANSWERS]["quantity"]]
    assert order == sorted(order)
    for _, rows in run[noise.DENSITIES].groupby(["approximation", "setting"]):
        assert np.trapezoid(rows["density"], rows["noise_precision"]) == pytest.approx(1, abs=0.01)


@pytest.mark.slow
def test_as_printed_every_update_of_the_noise_precision_is_skipped(runs: Runs) -> None:
    run, setting = runs("noise_precision"), f"{noise.GAUSSIAN_K}, {noise.AS_PRINTED}"
    assert run.value(noise.MEAN, noise.ADF, setting) == pytest.approx(2)
    assert run.value(noise.SKIPPED, noise.ADF, setting) == 20
    # The estimate of the log evidence would be that of the prior.
    assert run.rows(ANSWERS, quantity=noise.EVIDENCE, setting=setting).empty


@pytest.mark.slow
def test_the_printed_target_is_compared_with_the_posterior(runs: Runs) -> None:
    exact = runs("noise_precision").answer(noise.MEAN, noise.EXACT)
    assert (exact["value"], exact["exact"]) == pytest.approx((3.5346, 4.0645), abs=5e-5)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_numbers_out_of_range_are_an_error(tmp_path: Path) -> None:
    words = ["experiment=clutter", "experiment.theta=1e300", "experiment.sizes=[20]"]
    run = build(compose(*words, f"outputs_dir={tmp_path}", "workers=1"))
    with raises_user_error("experiment", "out_of_range"):
        execute(run)


@pytest.mark.slow
def test_a_competitor_that_is_never_as_cheap_is_not_judged(runs: Runs) -> None:
    progress = runs("clutter")[clutter.PROGRESS]
    work = progress["work"].mask(progress["algorithm"] == clutter.VB, 10**9)
    other = with_columns(runs("clutter"), clutter.PROGRESS, work=work)
    assert ("is_most_accurate_per_work", NOT_JUDGED) in verdicts("clutter", other)
