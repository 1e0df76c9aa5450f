"""Every number that is printed or written has an entry, and every entry can be found."""

from __future__ import annotations

import re
from pathlib import Path

import pandas as pd
import pytest

from bnnbench.report.renderers import markdown
from bnnbench.results import glossary
from bnnbench.results.calibration import QUALITIES
from bnnbench.results.glossary import TERMS, term_of
from bnnbench.results.information_criteria import CRITERIA
from bnnbench.results.metrics import METRICS
from bnnbench.results.with_published import COLUMNS

ROOT = Path(__file__).parents[2]
REPORTS = ROOT / "tests" / "report" / "expected"
OF_EVERY_RUN = ("results", "comparisons", "calibration", "criteria", "curves", "orders", "ranks",
                "sigma", "time_against_score")  # fmt: skip
NO_MEASURE = {"order", "weight", "depth", "width", "final_epochs", "seed", "inputs", "made",
              "training_part", "initial_points", "points", "training.epochs",
              "training.final_epochs"}  # fmt: skip
"""Numbers that name a run."""

HEADING = re.compile(r"^#+ (.+)$", re.M)


def slug(heading: str) -> str:
    """The anchor that GitHub gives a heading."""
    kept = "".join(c for c in heading.lower() if c.isalnum() or c in " -_")
    return kept.replace(" ", "-")


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.key)
def test_every_metric_has_its_own_entry(metric: object) -> None:
    key = metric.key  # type: ignore[attr-defined]
    found = term_of(key)
    assert found is not None and (found.key == key or key.endswith("_seconds"))


def test_every_quality_criterion_and_comparison_has_one() -> None:
    beside = [f"rmse_{column}" for column in COLUMNS]
    assert [n for n in (*QUALITIES, *CRITERIA, *beside) if term_of(n) is None] == []


@pytest.mark.parametrize("name", OF_EVERY_RUN)
def test_every_number_of_a_report_has_one(name: str) -> None:
    table = pd.read_csv(REPORTS / f"{name}.csv").select_dtypes("number")
    left = [column for column in table if column not in NO_MEASURE and term_of(column) is None]
    assert left == []
    assert term_of("no such column") is None


def test_a_spread_is_one_and_a_mean_is_what_it_is_the_mean_of() -> None:
    found = {c: term_of(c) for c in ("rmse_mean", "rmse_std", "rmse_stderr", "rmse_z", "hp.x")}
    keys = [term.key if term else "" for term in found.values()]
    assert keys == ["rmse", "std", "stderr", "z", "units"]


def test_entries_are_whole_and_name_each_other() -> None:
    assert len({term.key for term in TERMS}) == len({term.anchor for term in TERMS}) == len(TERMS)
    for term in TERMS:
        assert term.text and term.computed and term.where and term.source, term.key
        assert {*term.see} <= glossary.BY_KEY.keys() - {term.key}, term.key
        assert term.anchor == slug(term.name) and len(term.summary) < 140, term.key


def test_links_lead_to_headings() -> None:
    """Those inside the page, and those of other pages to it."""
    page = markdown.glossary_page(TERMS)
    anchors = {slug(heading) for heading in HEADING.findall(page)}
    links = re.findall(r"\]\(#([^)]+)\)", page)
    for path in (ROOT / "README.md", *(ROOT / "docs").rglob("*.md")):
        links += re.findall(r"glossary\.md#([^)]+)\)", path.read_text())
    assert len(links) > 20 and {*links} <= anchors
