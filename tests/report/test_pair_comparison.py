"""Every cell of the table that `bnnbench compare` prints equals one recomputed by scipy."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest
from support.recomputed import LOWER_IS_BETTER, METHODS, every_pair, read_scores, write_random_runs

from bnnbench.report.blocks import MISSING, TableBlock
from bnnbench.report.comparisons import pair_blocks
from bnnbench.report.sections.significance import OUTCOME_COLUMNS
from bnnbench.results.compare.outcomes import OUTCOMES
from bnnbench.results.metric_table import BY_KEY
from bnnbench.results.read.run_tables import read_runs

OPPOSITE = {"better": "worse", "worse": "better"}


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("outputs")
    write_random_runs(folder)
    return folder


def printed_tables(outputs: Path, metric: str) -> tuple[list[TableBlock], TableBlock]:
    """Return the tables of pairs by data set, and the table of outcomes."""
    blocks = pair_blocks([read_runs(outputs)], [BY_KEY[metric]], 0.01)
    tables = [block for block in blocks if isinstance(block, TableBlock)]
    return tables[:-1], tables[-1]


def plain(name: str) -> str:
    return name.partition(" ")[0]


@pytest.mark.parametrize("metric", LOWER_IS_BETTER)
def test_differences_intervals_and_p_values(outputs: Path, metric: str) -> None:
    scores = read_scores(outputs)
    for table in printed_tables(outputs, metric)[0]:
        titles = [column.title for column in table.columns]
        own = {method: scores[table.group, method] for method in sorted(METHODS)}
        expected = {(a, b): (test, p) for a, b, test, p, _ in every_pair(own, metric)}
        assert len(table.rows) == len(expected)
        for row in table.rows:
            cells = dict(zip(titles, row, strict=True))
            names = plain(cells["a"]), plain(cells["b"])
            sign = 1 if names in expected else -1
            test, p = expected[names] if sign > 0 else expected[names[::-1]]
            ends = (test.low, test.high) if sign > 0 else (-test.high, -test.low)
            numbers = re.findall(r"[-+]?\d[\d.]*", cells["a - b"])
            if test.lost_a or test.lost_b:  # lost, whatever the difference on the other splits
                assert numbers == ["1"] and "diverged" in cells["a - b"]
            else:
                for digits, number in zip(numbers, (sign * test.difference, *ends), strict=True):
                    assert_rounded(digits, number)
            if cells["Holm p"] == MISSING:
                assert test.lost_a or test.lost_b
            elif cells["Holm p"].startswith("<"):
                assert p < 0.001
            else:
                assert_rounded(cells["Holm p"], p)


@pytest.mark.parametrize("metric", LOWER_IS_BETTER)
def test_outcomes(outputs: Path, metric: str) -> None:
    scores = read_scores(outputs)
    counts: Counter[tuple[str, str]] = Counter()
    for dataset in ("boston", "wine"):
        own = {method: scores[dataset, method] for method in METHODS}
        for a, b, _, _, found in every_pair(own, metric):
            if dataset == "boston" or "sgld" not in (a, b):  # incomplete on wine, so not counted
                counts[a, found] += 1
                counts[b, OPPOSITE.get(found, found)] += 1
    table = printed_tables(outputs, metric)[1]
    titles = [column.title for column in table.columns]
    assert {found for _, found in counts} == {"better", "worse", "equivalent", "undecided"}
    printed: Counter[tuple[str, str]] = Counter()
    for row in table.rows:
        cells = dict(zip(titles, row, strict=True))
        for title, word in zip(OUTCOME_COLUMNS, OUTCOMES, strict=True):
            printed[plain(cells["Method"]), word] += int(cells[title])
    assert +printed == counts


def assert_rounded(digits: str, number: float) -> None:
    """Assert that a printed number is another one, rounded to its decimals."""
    decimals = len(digits.partition(".")[2])
    assert float(digits) == pytest.approx(number, abs=0.5001 * 10**-decimals)
