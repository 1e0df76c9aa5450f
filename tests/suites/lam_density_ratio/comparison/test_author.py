"""The author's own repetitions, beside what his table prints."""

from __future__ import annotations

import pytest

from bnnbench.report.section import Paragraph
from bnnbench.suites.lam_density_ratio.comparison.author import author_blocks, author_repetitions
from bnnbench.suites.lam_density_ratio.comparison.evidence import Evidence
from bnnbench.suites.lam_density_ratio.comparison.published import Cell, printed
from bnnbench.suites.lam_density_ratio.comparison.statistics import Sample, welch

CELL = Cell("undertrained", "prior", "reverse_kl", "T")


def test_the_repetitions_are_not_what_the_table_prints() -> None:
    own = author_repetitions()[CELL]
    assert (own.size, own.mean, own.std) == pytest.approx((30, 1.38443, 0.04038), abs=1e-5)
    assert welch(own, printed()["9.1"][CELL]).p < 0.02


def test_the_sentence_stands_beside_its_table_alone() -> None:
    ours = Evidence({"9.1": {CELL: Sample(1.39, 0.02, 30)}})
    (block,) = author_blocks(ours, "9.1")
    assert isinstance(block, Paragraph)
    assert "1.3844 ± 0.0075" in block.text and "prints 1.3641 and 0.0141" in block.text
    assert "Ours less these: +0.0056" in block.text
    (alone,) = author_blocks(Evidence({}), "9.1")
    assert isinstance(alone, Paragraph) and "Ours" not in alone.text
    assert not list(author_blocks(ours, "8.1"))
