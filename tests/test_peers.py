"""The comparison with other libraries: scores, settings of bnnbench, and the table."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from benchmarks import peer_programs
from benchmarks.peers import COMPARISONS, Comparison, scores
from scipy.stats import norm

TOOLS = Path(__file__).parents[1] / "docs" / "tools"


def test_mixtures_are_scored_by_their_density_and_mean() -> None:
    generator = np.random.default_rng(0)
    targets, mean = generator.normal(size=6), generator.normal(size=(6, 4))
    deviation = generator.uniform(0.5, 2, size=(6, 4))
    found = scores(targets, mean, deviation)
    density = norm.pdf(targets[:, None], mean, deviation).mean(1)
    assert found["log_likelihood"] == pytest.approx(np.log(density).mean())
    assert found["rmse"] == pytest.approx(np.sqrt(np.mean((mean.mean(1) - targets) ** 2)))


@pytest.mark.parametrize("one", COMPARISONS, ids=lambda one: one.method)
def test_the_settings_of_bnnbench_are_valid(one: Comparison) -> None:
    x = np.random.default_rng(0).normal(size=(40, 3))
    mean, deviation = peer_programs.bnnbench(x, x[:, 0], x[:5], **{**one.ours, "epochs": 2})
    assert mean.shape == deviation.shape and len(mean) == 5
    assert np.isfinite(mean).all() and (deviation > 0).all()


def test_the_table_compares_medians_without_the_first_split(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.syspath_prepend(str(TOOLS))
    from peers import medians, peers_table

    seconds = {"other 1.2": [9.0, 2.0, 3.0, 7.0], "bnnbench 0.1": [5.0, 0.01, 0.02, 0.01]}
    facts = {
        "method": "SWAG", "epochs": 40, "batch": 32, "samples": 100, "threads": 1,
        "import_seconds": 1.0, "peak_gb": 0.5, "log_likelihood": -2.5, "not_matched": "momentum",
    }  # fmt: skip
    rows = pd.DataFrame([
        {**facts, "program": program, "split": k, "seconds": value, "rmse": 2.0 + k}
        for program, values in seconds.items() for k, value in enumerate(values)
    ])  # fmt: skip
    found = medians(rows).set_index("program")
    assert found["seconds"].tolist() == [3.0, 0.01] and found["first"].tolist() == [9.0, 5.0]
    assert found["ratio"].tolist() == pytest.approx([300.0, np.nan], nan_ok=True)
    lines = peers_table(rows).splitlines()
    cells = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines]
    table = [dict(zip(cells[0], row, strict=True)) for row in cells[2:]]
    assert [row["ratio"] for row in table] == ["300", ""]
    assert table[0]["RMSE"] == "3.50"
    assert [row["not matched"] for row in table] == ["momentum", ""]
