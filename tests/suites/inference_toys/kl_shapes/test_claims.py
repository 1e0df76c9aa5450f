"""Runs on KL shapes: answers, figures and claims."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.toy_runs import refuted, toy_run

from bnnbench.results.answers import ANSWERS
from bnnbench.suites.inference_toys.kl_shapes import claims
from bnnbench.suites.inference_toys.kl_shapes.page import EXPERIMENT_PAGE
from bnnbench.suites.inference_toys.kl_shapes.tables import FITS, MEAN, SCALE, read_run


def test_three_claims_do_not_hold(tmp_path: Path) -> None:
    small = ("separations=[0,3]", "orders=[-2,2,8]")
    folder = toy_run(EXPERIMENT_PAGE, tmp_path, *small)
    assert set(refuted(EXPERIMENT_PAGE, folder).items()) == {
        ("As the modes move apart, reverse KL selects the mode of the highest density",
         "not confirmed"),
        ("For any two components, the width of q increases with alpha", "not confirmed"),
        ("Mean field captures any marginal density", "not confirmed"),
    }  # fmt: skip
    run = read_run(folder)
    mixture = "0.5 N(-3, 1) + 0.5 N(3, 1)"
    for name, value in {"reverse KL": 1.023, "Hellinger": 3.050, "forward KL": 3.162}.items():
        assert run.value(SCALE, name, mixture) == pytest.approx(value, abs=6e-4)
    assert run.value(MEAN, "reverse KL", mixture) == pytest.approx(2.984, abs=6e-4)
    exact = run[ANSWERS].dropna(subset="exact")
    assert (exact["value"] - exact["exact"]).abs().max() < 1e-5
    assert "0.5 N(0, 1) + 0.5 N(0, 1)" not in set(run[ANSWERS]["setting"])
    far = run.with_columns(FITS, loc=0.0, mass_outside=0.5, min_component_mass=0.0)
    assert claims.seeks_component(far, "mass")[0] is False
    for check in (
        claims.has_optimum_per_component, claims.forces_zeros, claims.covers_all_components
    ):  # fmt: skip
        assert check(far)[0] is False


def test_claims_without_evidence_are_not_tested(tmp_path: Path) -> None:
    few = ("separations=[1]", "weights=[0.5]", "scales=[2]", "orders=[1]")
    folder = toy_run(EXPERIMENT_PAGE, tmp_path, *few)
    verdicts = refuted(EXPERIMENT_PAGE, folder)
    assert [text for text, verdict in verdicts.items() if verdict == "not tested"] == [
        text for text, _, rule in claims.claims if "larger weight" in rule.rule
        or "two equal components" in rule.rule
    ]  # fmt: skip
