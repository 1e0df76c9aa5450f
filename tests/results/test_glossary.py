"""Every printed or saved number has a glossary entry, and links to entries work."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from support.rendered import Rendered

from bnnbench.report.sections.information_criteria import CRITERIA
from bnnbench.results.compare.published_scores import COLUMNS
from bnnbench.results.glossary import TERMS, term_of
from bnnbench.results.metric_table import BY_KEY
from bnnbench.results.score.calibration import CALIBRATION_METRICS

ROOT = Path(__file__).parents[2]
REPORTS = ROOT / "tests" / "report" / "expected"
TABLES = ("results", "comparisons", "calibration", "criteria", "curves", "orders", "ranks",
          "sigma", "time_against_score", "proper_scores", "intervals")  # fmt: skip
IDENTIFYING = {"order", "weight", "depth", "width", "final_epochs", "seed", "inputs", "synthetic",
              "score_training_rows", "initial_points", "points", "training.epochs",
              "training.final_epochs", "split"}  # fmt: skip
"""Numeric columns that identify a run."""


@pytest.mark.parametrize("metric", BY_KEY.values(), ids=lambda metric: metric.key)
def test_every_metric_has_its_own_entry(metric: object) -> None:
    key = metric.key  # type: ignore[attr-defined]
    found = term_of(key)
    assert found is not None and (found.key == key or key.endswith("_seconds"))


def test_every_calibration_metric_criterion_and_comparison_has_an_entry() -> None:
    published = [f"rmse_{column}" for column in COLUMNS]
    assert [n for n in (*CALIBRATION_METRICS, *CRITERIA, *published) if term_of(n) is None] == []


@pytest.mark.parametrize("name", TABLES)
def test_every_number_of_a_report_has_an_entry(name: str) -> None:
    table = pd.read_csv(REPORTS / f"{name}.csv").select_dtypes("number")
    assert [c for c in table if c not in IDENTIFYING and term_of(c) is None] == []
    assert term_of("no such column") is None


def test_a_mean_has_the_entry_of_its_metric_and_an_error_its_own() -> None:
    terms = map(term_of, ("rmse_mean", "rmse_std", "rmse_stderr", "rmse_z", "hp.x"))
    keys = [term.key if term else "" for term in terms]
    assert keys == ["rmse", "std", "stderr", "z", "units"]


def test_entries_are_complete_and_references_exist() -> None:
    keys = {term.key for term in TERMS}
    assert len(keys) == len({term.anchor for term in TERMS}) == len(TERMS)
    for term in TERMS:
        assert term.text and term.computed and term.where and term.source, term.key
        assert {*term.see} <= keys - {term.key}, term.key
        assert Rendered(f"## {term.name}").anchors == {term.anchor} and len(term.summary) < 140, (
            term.key
        )
