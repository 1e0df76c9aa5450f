"""Whole runs: answers, claims, invalid settings."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from support.config import compose
from support.refusals import assert_refused
from support.tiny_runs import no_page

from bnnbench.config.assemble import build
from bnnbench.experiment.execution import Report, execute
from bnnbench.experiment.run_folder import RunFolder
from bnnbench.report.run_output import write_run_output
from bnnbench.results.answers import CLAIMS, read_answers, value_of
from bnnbench.suites.inference_toys.noise_precision import names
from bnnbench.suites.inference_toys.noise_precision.page import EXPERIMENT_PAGE
from bnnbench.suites.inference_toys.noise_precision.saved_run import read_run

QUICK = (
    "experiment=noise_precision",
    "experiment.gradient_steps=60",
    "experiment.orders=5",
    "experiment.powers=[0.001,0.5,1]",
)


def finished(outputs: Path, *overrides: str, page: Report = no_page) -> RunFolder:
    run = build(compose(*QUICK, *overrides, f"outputs_dir={outputs}"))
    return execute(run, page)


@pytest.fixture(scope="module")
def joint(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    return finished(tmp_path_factory.mktemp("joint"), page=partial(write_run_output, figures="png"))


def verdicts(folder: RunFolder) -> list[str]:
    return [claim.verdict for claim in EXPERIMENT_PAGE.claims(folder)]


def test_a_run_compares_every_algorithm_with_the_exact_posterior(joint: RunFolder) -> None:
    answers = read_answers(joint)
    for approximation in (
        names.CAVI, names.ADF, names.EP, names.POWER_EP, names.BLACK_BOX_ALPHA, names.ADVI,
        names.BLACK_BOX_VI,
    ):  # fmt: skip
        rows = answers[(answers["approximation"] == approximation)]
        assert set(names.QUANTITIES[:5]) <= set(rows["quantity"]), approximation
    means = answers[answers["quantity"] == names.MEAN]
    assert np.allclose(means["exact"], 4.0645, atol=5e-5)
    assert value_of(answers, names.MEAN, names.CAVI) == pytest.approx(4.0645, abs=5e-5)
    assert value_of(answers, names.MEAN, names.EP, names.GAUSSIAN_K) == pytest.approx(
        4.1071, abs=5e-5
    )
    order = [names.QUANTITIES.index(name) for name in answers["quantity"]]
    assert order == sorted(order)
    assert (joint.root / "figures").is_dir()
    for name in ("densities", "objectives", "orders", "repeated"):
        assert joint.figure(name, "png").exists()


def test_verdicts(joint: RunFolder) -> None:
    yes, no = "confirmed", "not confirmed"
    assert verdicts(joint) == [yes, yes, yes, yes, no, yes, no, no, yes, yes, yes, no]
    assert list(pd.read_csv(joint.table(CLAIMS))["verdict"]) == verdicts(joint)
    assert EXPERIMENT_PAGE.notes(joint) == []


def test_densities_integrate_to_one(joint: RunFolder) -> None:
    run = read_run(joint)
    for _, rows in run.densities.groupby(["approximation", "setting"]):
        assert np.trapezoid(rows["density"], rows["noise_precision"]) == pytest.approx(1, abs=0.01)


def test_as_printed_the_bound_decreases_and_every_update_is_skipped(tmp_path: Path) -> None:
    folder = finished(tmp_path, "reading=printed")
    answers, run = read_answers(folder), read_run(folder)
    assert value_of(answers, names.MEAN, names.CAVI) == pytest.approx(0.7107, abs=5e-5)
    assert value_of(answers, names.MEAN, names.ADF, names.GAUSSIAN_K) == pytest.approx(2)
    assert value_of(answers, names.SKIPPED, names.ADF, names.GAUSSIAN_K) == 20
    assert np.isnan(value_of(answers, names.EVIDENCE, names.ADF, names.GAUSSIAN_K))
    assert run.skipped_all_updates(names.EP, names.EXACT_K) and not run.skipped_all_updates(
        names.CAVI, ""
    )
    assert verdicts(folder)[:3] == ["not confirmed", "confirmed", "not confirmed"]
    assert set(verdicts(folder)[3:]) == {"not tested"}
    notes = EXPERIMENT_PAGE.notes(folder)
    assert len(notes) == 2 and "14 of 34 updates" in notes[1]


def panels(folder: RunFolder) -> list[int]:
    """Return the number of panels of each figure."""
    return [len(draw(folder).axes) for draw in EXPERIMENT_PAGE.figures.values()]


def test_figures_have_the_right_panels(joint: RunFolder) -> None:
    assert panels(joint) == [3, 3, 2, 2]


@pytest.mark.parametrize("reading", ["corrected", "printed"])
def test_the_printed_target_is_compared_with_the_posterior(tmp_path: Path, reading: str) -> None:
    folder = finished(tmp_path, "target=factorised", f"reading={reading}")
    answers, run = read_answers(folder), read_run(folder)
    exact = answers[(answers["approximation"] == names.EXACT) & (answers["quantity"] == names.MEAN)]
    assert exact[["value", "exact"]].to_numpy()[0] == pytest.approx([3.5346, 4.0645], abs=5e-5)
    assert run.exact(names.MEAN) == pytest.approx(3.5346, abs=5e-5)
    assert run.exact(names.EVIDENCE) == pytest.approx(-26.6671, abs=5e-5)
    assert names.CAVI not in set(answers["approximation"]) and run.powers.empty
    assert any("(3.48)" in note for note in EXPERIMENT_PAGE.notes(folder))
    assert panels(folder) == [2, 1, 2, 2]
    assert verdicts(folder).count("not tested") == (5 if reading == "corrected" else 12)


def test_rows_change_the_run(tmp_path: Path) -> None:
    few = ("target=factorised", "experiment.gradient_steps=1", "experiment.orders=2")
    folders = [finished(tmp_path, f"rows={rows}", *few) for rows in (5, 100)]
    means = [read_run(folder).exact(names.MEAN) for folder in folders]
    assert means == pytest.approx([2.6079, 4.2600], abs=5e-5)


@pytest.mark.parametrize(
    ("override", "code"),
    [
        ("target=both", None),
        ("reading=other", None),
        ("rows=1", None),
        ("rows=100000", "too_large"),
        ("experiment.prior_shape=1", None),
        ("experiment.noise_precision=0", None),
        ("experiment.orders=1", None),
        ("experiment.powers=[0,1]", "out_of_range"),
        ("experiment.powers=[1,0.5]", "not_increasing"),
        ("experiment.powers=1", "not_increasing"),
        ("experiment.learning_rate=2", None),
        ("experiment.gradient_steps=0", None),
        ("method=bbb", "no_effect"),
    ],
)
def test_an_invalid_setting_is_refused(override: str, code: str | None) -> None:
    setting = override.partition("=")[0]
    assert_refused(["experiment=noise_precision", override], setting=setting, code=code)
