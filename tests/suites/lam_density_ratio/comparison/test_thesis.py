"""The thesis's tables and settings, tests of its numbers, and scores of exact posterior draws."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from support.sprinkler_runs import sprinkler

from bnnbench.experiment.store.answer_tables import Sample
from bnnbench.report.blocks import Paragraph
from bnnbench.results.claims.mean_tests import welch
from bnnbench.suites.lam_density_ratio.comparison import thesis
from bnnbench.suites.lam_density_ratio.comparison.evidence import SprinklerEvidence
from bnnbench.suites.lam_density_ratio.comparison.section import author_blocks
from bnnbench.suites.lam_density_ratio.comparison.thesis import ThesisCell, printed_tables
from bnnbench.suites.lam_density_ratio.names import RELU_RATIO
from bnnbench.suites.lam_density_ratio.sprinkler import OBSERVATIONS, log_evidence

AUTHOR = ThesisCell("undertrained", "prior", "kl_posterior_prior", "log_ratio")


def test_all_rows_of_all_tables() -> None:
    tables, values = printed_tables(), thesis.published_values()
    assert [len(rows) for rows in tables.values()] == [4, 4, 6, 6, 6, 6]
    assert len(values) == 2 * 6 * 2 + 2
    assert all(own.size == 30 and own.std > 0 for own in values.values())
    # Both printed values of the classifier of chapter 5 are kept.
    cell = ThesisCell("optimal", "joint", "gan", "class_probability")
    assert (tables["5.1"][cell].mean, tables["8.2"][cell].mean) == (1.3688, 1.3648)
    assert values[cell].mean == 1.3648
    # Chapter 6 repeats the ReLU of chapter 5.
    relus = [cell for cell in tables["6.1"] if cell.estimator == RELU_RATIO]
    assert [tables["6.1"][c] for c in relus] == [tables["5.1"][c] for c in relus]
    assert [cell.contrast for cell in tables["6.1"]] == ["prior", "prior", "joint", "joint"]


def test_scores_of_exact_draws() -> None:
    settings = {"contrast": "prior", "data": [*OBSERVATIONS], "observations": "data"}
    known = thesis.exact_scores(settings)
    evidence = -np.mean([log_evidence(x) for x in OBSERVATIONS])
    assert known["nelbo"] == pytest.approx(evidence, abs=1e-5)
    floor = known["average_kl"]
    assert floor - (evidence - math.log(4 * math.pi)) == pytest.approx(0.0041, abs=5e-4)
    assert all(own.mean > floor for own in thesis.published_values().values())
    other = thesis.exact_scores({**settings, "data": [0.0, 5.0]})
    assert math.isnan(other["average_kl"]) and math.isnan(other["nelbo"])
    joint = {**settings, "contrast": "joint"}
    assert math.isinf(thesis.exact_scores(joint)["nelbo"])
    assert thesis.exact_scores({**joint, "observations": "model"})["nelbo"] == 0


@pytest.mark.parametrize(
    ("setting", "overrides", "expected"),
    [
        ("undertrained", ["schedule=undertrained"], []),
        ("undertrained", ["schedule=undertrained", "samples=200"], []),  # as in the text
        ("optimal", ["schedule=published", "contrast=joint"], []),
        ("undertrained", ["schedule=undertrained", "iterations=50"], ["iterations 50"]),
        ("undertrained", ["schedule=undertrained", "data=[0,5]"], ["data 0/5"]),
        ("optimal", ["schedule=optimal"], [
            "pre-training steps 1000", "draws per observation 100", "rates fall from fraction 0.5",
            "estimator steps 10", "iterations 4000", "estimator rate 0.0003",
            "posterior rate 0.0003",
        ]),
    ],
)  # fmt: skip
def test_deviations(
    tmp_path: Path, setting: str, overrides: list[str], expected: list[str]
) -> None:
    metadata = sprinkler(tmp_path, *overrides).experiment.metadata()
    assert list(thesis.deviating_settings(metadata, setting)) == expected


def test_the_author_s_repetitions_differ_from_his_table() -> None:
    own = thesis.author_repetitions()[AUTHOR]
    assert (own.size, own.mean, own.std) == pytest.approx((30, 1.38443, 0.04038), abs=1e-5)
    assert welch(own, printed_tables()["9.1"][AUTHOR]).p < 0.02
    ours = SprinklerEvidence({"9.1": {AUTHOR: Sample(1.39, 0.02, 30)}})
    (block,) = author_blocks(ours, "9.1")
    assert isinstance(block, Paragraph)
    assert all(words in block.text for words in ("1.3844 ± 0.0075", "1.3641", "0.0141", "+0.0056"))
    (alone,) = author_blocks(SprinklerEvidence({}), "9.1")
    assert isinstance(alone, Paragraph) and "Ours" not in alone.text
    assert not list(author_blocks(ours, "8.1"))
