"""The author's own repetitions compared with his table."""

from __future__ import annotations

import pytest

from bnnbench.report.blocks import Paragraph
from bnnbench.suites.lam_density_ratio.comparison.author import author_blocks, author_repetitions
from bnnbench.suites.lam_density_ratio.comparison.evidence import Evidence
from bnnbench.suites.lam_density_ratio.comparison.published import Cell, printed_tables
from bnnbench.suites.lam_density_ratio.comparison.statistics import Sample, welch

CELL = Cell("undertrained", "prior", "kl_posterior_prior", "log_ratio")


def test_the_repetitions_differ_from_the_table() -> None:
    own = author_repetitions()[CELL]
    assert (own.size, own.mean, own.std) == pytest.approx((30, 1.38443, 0.04038), abs=1e-5)
    assert welch(own, printed_tables()["9.1"][CELL]).p < 0.02


def test_the_sentence_appears_only_with_its_table() -> None:
    ours = Evidence({"9.1": {CELL: Sample(1.39, 0.02, 30)}})
    (block,) = author_blocks(ours, "9.1")
    assert isinstance(block, Paragraph)
    assert all(number in block.text for number in ("1.3844 ± 0.0075", "1.3641", "0.0141"))
    assert "+0.0056" in block.text
    (alone,) = author_blocks(Evidence({}), "9.1")
    assert isinstance(alone, Paragraph) and "Ours" not in alone.text
    assert not list(author_blocks(ours, "8.1"))
