"""Whole runs: answers, claims and figures of both targets."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support.config import compose
from support.refusals import assert_refused
from support.tiny_runs import no_page

from bnnbench.config.assemble import build
from bnnbench.experiment.execution import execute
from bnnbench.experiment.run_folder import RunFolder
from bnnbench.results.answers import ANSWERS
from bnnbench.suites.inference_toys.noise_precision import tables
from bnnbench.suites.inference_toys.noise_precision.page import EXPERIMENT_PAGE

QUICK = (
    "experiment=noise_precision",
    "experiment.gradient_steps=60",
    "experiment.orders=5",
    "experiment.powers=[0.001,0.5,1]",
)


def finished(outputs: Path, *overrides: str) -> RunFolder:
    return execute(build(compose(*QUICK, *overrides, f"outputs_dir={outputs}")), no_page)


@pytest.fixture(scope="module")
def joint(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    return finished(tmp_path_factory.mktemp("joint"))


@pytest.fixture(scope="module")
def factorised(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    return finished(tmp_path_factory.mktemp("factorised"), "target=factorised")


def verdicts(folder: RunFolder) -> str:
    """Return the first letters of all verdicts: confirmed, not confirmed, not tested."""
    letters = {"confirmed": "y", "not confirmed": "n", "not tested": "-"}
    return "".join(letters[claim.verdict] for claim in EXPERIMENT_PAGE.claims(folder))


def panels(folder: RunFolder) -> list[int]:
    """Return the number of panels of each figure."""
    return [len(draw(folder).axes) for draw in EXPERIMENT_PAGE.figures.values()]


def test_a_run_compares_every_algorithm_with_the_exact_posterior(joint: RunFolder) -> None:
    run = tables.read_run(joint)
    for approximation in (
        tables.CAVI, tables.ADF, tables.EP, tables.POWER_EP, tables.BLACK_BOX_ALPHA, tables.ADVI,
        tables.BLACK_BOX_VI,
    ):  # fmt: skip
        rows = run.rows(ANSWERS, approximation=approximation)
        assert set(tables.QUANTITIES[:6]) <= set(rows["quantity"]), approximation
    assert np.allclose(run.rows(ANSWERS, quantity=tables.MEAN)["exact"], 4.0645, atol=5e-5)
    for approximation, setting, mean in (
        (tables.CAVI, "", 4.0645),
        (tables.CAVI, tables.AS_PRINTED, 0.7107),
        (tables.EP, tables.GAUSSIAN_K, 4.1071),
    ):
        assert run.value(tables.MEAN, approximation, setting) == pytest.approx(mean, abs=5e-5)
    order = [tables.QUANTITIES.index(name) for name in run[ANSWERS]["quantity"]]
    assert order == sorted(order)


def test_as_printed_every_update_is_skipped(joint: RunFolder) -> None:
    run, setting = tables.read_run(joint), f"{tables.GAUSSIAN_K}, {tables.AS_PRINTED}"
    assert run.value(tables.MEAN, tables.ADF, setting) == pytest.approx(2)
    assert run.value(tables.SKIPPED, tables.ADF, setting) == 20
    # The estimate of the log evidence would be that of the prior.
    assert run.rows(ANSWERS, quantity=tables.EVIDENCE, setting=setting).empty


def test_verdicts_and_figures(joint: RunFolder, factorised: RunFolder) -> None:
    assert verdicts(joint) == "nnyynynnyyyn" and panels(joint) == [3, 3, 2, 2]
    assert verdicts(factorised) == "-n-ynnnnyn--" and panels(factorised) == [2, 1, 2, 2]


def test_densities_integrate_to_one(joint: RunFolder) -> None:
    for _, rows in tables.read_run(joint)[tables.DENSITIES].groupby(["approximation", "setting"]):
        assert np.trapezoid(rows["density"], rows["noise_precision"]) == pytest.approx(1, abs=0.01)


def test_the_printed_target_is_compared_with_the_posterior(factorised: RunFolder) -> None:
    run = tables.read_run(factorised)
    exact = run.answer(tables.MEAN, tables.EXACT)
    assert (exact["value"], exact["exact"]) == pytest.approx((3.5346, 4.0645), abs=5e-5)
    assert tables.exact_value(run, tables.MEAN) == pytest.approx(3.5346, abs=5e-5)
    assert tables.exact_value(run, tables.EVIDENCE) == pytest.approx(-26.6671, abs=5e-5)
    assert not tables.is_joint(run) and run[tables.POWERS].empty


def test_rows_change_the_run(factorised: RunFolder, tmp_path: Path) -> None:
    few = ("target=factorised", "experiment.orders=2", "rows=5")
    other = tables.read_run(finished(tmp_path, *few))
    means = [tables.exact_value(run, tables.MEAN) for run in (other, tables.read_run(factorised))]
    assert abs(means[0] - means[1]) > 0.1


@pytest.mark.parametrize("override", ["rows=1", "target=both", "experiment.powers=[0.5,1.1]"])
def test_an_invalid_setting_is_refused(override: str) -> None:
    assert_refused(["experiment=noise_precision", override], setting=override.partition("=")[0])
