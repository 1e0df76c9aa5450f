"""Runs next to published scores of single splits."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from support.blocks import blocks, tables
from support.published_methods import DROPOUT
from support.runs import make_run

from bnnbench.report.blocks import Style, TableBlock
from bnnbench.report.sections import leaderboard
from bnnbench.results.published.values import published_splits

WAVE = np.tile([0.3, -0.3, 0.2, -0.2], 5)
INTERVAL = re.compile(r"\[(\S+), (\S+)\]$")


def published_pairs(path: Path, shift: np.ndarray, lost: int = 0) -> TableBlock:
    """Return the table of a run whose RMSE is a published one plus a shift, with lost splits."""
    rows = published_splits()
    rows = rows[(rows["dataset"] == "boston") & (rows["method"] == DROPOUT)]
    rmse = np.where(np.arange(20) < lost, np.nan, rows["rmse"] + shift)
    scores = {"rmse": rmse, "crps": rmse, "log_likelihood_joint": -rmse,
              "log_likelihood_gaussian": -rmse, "log_likelihood": -rmse}  # fmt: skip
    rest = {"split": range(20), "at_bound": "", "diverged": np.isnan(rmse).astype(int)}
    make_run(path, method="mine", fingerprint=rows["fingerprint"].to_numpy(), **scores, **rest)
    return tables(blocks(leaderboard.section, path, Style(all_published=True)))[-1]


@pytest.mark.parametrize(
    ("shift", "lost", "outcome"),
    [
        (1 + WAVE, 0, "worse"),
        (WAVE - 1, 0, "better"),
        (0.001 * WAVE, 0, "equivalent"),
        (WAVE, 0, "undecided"),
        (WAVE, 1, "diverged"),
        (WAVE - 1, 1, "diverged"),
    ],
)
def test_outcomes_agree_with_the_intervals_next_to_them(
    tmp_path: Path, shift: np.ndarray, lost: int, outcome: str
) -> None:
    """A run that diverged on a split is worse, which the other splits do not show."""
    table = published_pairs(tmp_path, shift, lost)
    titles = [column.title for column in table.columns]
    rows = [dict(zip(titles, row, strict=True)) for row in table.rows]
    own = [row for row in rows if row["Metric"] == "RMSE" and "original" in row["Published"]]
    assert [row["Ours"] for row in own] == [outcome]
    for row in rows:
        found = INTERVAL.search(row["Ours - published"])
        contains_zero = found is None or float(found[1]) <= 0 <= float(found[2])
        assert not (contains_zero and row["Ours"] in ("better", "worse")), row
