"""Whole runs: their answers, their claims, what is refused."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from support.config import compose
from support.refusals import assert_refused
from support.tiny_runs import no_page

from bnnbench.cli.build import build
from bnnbench.experiment.execution import Report, execute
from bnnbench.experiment.run_folder import RunFolder
from bnnbench.report.pages import write_page
from bnnbench.results.answers import CLAIMS, read_answers, value_of
from bnnbench.suites.inference_toys.noise_precision import tables as words
from bnnbench.suites.inference_toys.noise_precision.page import EXHIBIT
from bnnbench.suites.inference_toys.noise_precision.run_tables import read_run

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
    return finished(tmp_path_factory.mktemp("joint"), page=partial(write_page, figures="png"))


def verdicts(folder: RunFolder) -> list[str]:
    return [claim.verdict for claim in EXHIBIT.claims(folder)]


def test_a_run_leaves_every_algorithm_beside_the_exact_answer(joint: RunFolder) -> None:
    answers = read_answers(joint)
    for approximation in (
        words.CAVI, words.ADF, words.EP, words.POWER_EP, words.BLACK_BOX_ALPHA, words.ADVI,
        words.SCORE,
    ):  # fmt: skip
        own = answers[(answers["approximation"] == approximation)]
        assert set(words.QUANTITIES[:5]) <= set(own["quantity"]), approximation
    means = answers[answers["quantity"] == words.MEAN]
    assert np.allclose(means["exact"], 4.0645, atol=5e-5)
    assert value_of(answers, words.MEAN, words.CAVI) == pytest.approx(4.0645, abs=5e-5)
    assert value_of(answers, words.MEAN, words.EP, words.GAUSSIAN_K) == pytest.approx(
        4.1071, abs=5e-5
    )
    order = [words.QUANTITIES.index(name) for name in answers["quantity"]]
    assert order == sorted(order)
    assert (joint.root / "figures").is_dir()
    for name in ("densities", "objectives", "orders", "repeated"):
        assert joint.figure(name, "png").exists()


def test_its_claims_are_judged(joint: RunFolder) -> None:
    yes, no = "confirmed", "not confirmed"
    assert verdicts(joint) == [yes, yes, yes, yes, no, yes, no, no, yes, yes, yes, no]
    assert list(pd.read_csv(joint.table(CLAIMS))["verdict"]) == verdicts(joint)
    assert EXHIBIT.notes(joint) == []


def test_densities_are_those_of_distributions(joint: RunFolder) -> None:
    run = read_run(joint)
    for _, own in run.densities.groupby(["approximation", "setting"]):
        assert np.trapezoid(own["density"], own["noise_precision"]) == pytest.approx(1, abs=0.01)


def test_as_printed_the_bound_falls_and_everything_is_refused(tmp_path: Path) -> None:
    folder = finished(tmp_path, "reading=printed")
    answers, run = read_answers(folder), read_run(folder)
    assert value_of(answers, words.MEAN, words.CAVI) == pytest.approx(0.7107, abs=5e-5)
    assert value_of(answers, words.MEAN, words.ADF, words.GAUSSIAN_K) == pytest.approx(2)
    assert value_of(answers, words.REFUSED, words.ADF, words.GAUSSIAN_K) == 20
    assert np.isnan(value_of(answers, words.EVIDENCE, words.ADF, words.GAUSSIAN_K))
    assert run.stuck(words.EP, words.EXACT_K) and not run.stuck(words.CAVI, "")
    assert verdicts(folder)[:3] == ["not confirmed", "confirmed", "not confirmed"]
    assert set(verdicts(folder)[3:]) == {"not tested"}
    notes = EXHIBIT.notes(folder)
    assert notes[0].startswith("Updates refused") and "fell in 14 of 34 updates" in notes[1]


def panels(folder: RunFolder) -> list[int]:
    """How many each figure has."""
    return [len(draw(folder).axes) for draw in EXHIBIT.figures.values()]


def test_figures_have_the_panels_that_there_are_numbers_for(joint: RunFolder) -> None:
    assert panels(joint) == [3, 3, 2, 2]


@pytest.mark.parametrize("reading", ["corrected", "printed"])
def test_the_target_as_printed_says_how_far_off_it_is(tmp_path: Path, reading: str) -> None:
    folder = finished(tmp_path, "target=factorised", f"reading={reading}")
    answers, run = read_answers(folder), read_run(folder)
    off = answers[(answers["approximation"] == words.EXACT) & (answers["quantity"] == words.MEAN)]
    assert off[["value", "exact"]].to_numpy()[0] == pytest.approx([3.5346, 4.0645], abs=5e-5)
    assert run.exact(words.MEAN) == pytest.approx(3.5346, abs=5e-5)
    assert run.exact(words.EVIDENCE) == pytest.approx(-26.6671, abs=5e-5)
    assert words.CAVI not in set(answers["approximation"]) and run.powers.empty
    assert any("(3.48)" in note for note in EXHIBIT.notes(folder))
    assert panels(folder) == [2, 1, 2, 2]
    assert verdicts(folder).count("not tested") == (5 if reading == "corrected" else 12)


def test_other_data_are_other_runs(tmp_path: Path) -> None:
    few = ("target=factorised", "experiment.gradient_steps=1", "experiment.orders=2")
    folders = [finished(tmp_path, f"rows={rows}", *few) for rows in (5, 100)]
    means = [read_run(folder).exact(words.MEAN) for folder in folders]
    assert means == pytest.approx([2.6079, 4.2600], abs=5e-5)


@pytest.mark.parametrize(
    ("override", "words_said"),
    [
        ("target=both", ["target", "joint, factorised"]),
        ("reading=own", ["reading", "corrected, printed"]),
        ("rows=1", ["rows", "at least 2"]),
        ("rows=100000", ["rows", "at most 1000"]),
        ("experiment.prior_shape=1", ["experiment.prior_shape", "greater than 1"]),
        ("experiment.noise_precision=0", ["experiment.noise_precision"]),
        ("experiment.orders=1", ["experiment.orders", "at least 2"]),
        ("experiment.powers=[0,1]", ["experiment.powers", "above 0"]),
        ("experiment.powers=[1,0.5]", ["experiment.powers", "rising"]),
        ("experiment.powers=1", ["experiment.powers", "rising numbers"]),
        ("experiment.learning_rate=2", ["experiment.learning_rate"]),
        ("experiment.gradient_steps=0", ["experiment.gradient_steps"]),
        ("method=bbb", ["no use for method"]),
    ],
)
def test_what_is_refused(override: str, words_said: list[str]) -> None:
    assert_refused(["experiment=noise_precision", override], *words_said)
