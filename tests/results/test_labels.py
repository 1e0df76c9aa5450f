"""Names that tell runs apart, and say no more than that."""

from __future__ import annotations

from pathlib import Path

from support.runs import make_run

from bnnbench.results.labels import labels
from bnnbench.results.reader import read_runs


def test_labels_name_only_what_differs(tmp_path: Path) -> None:
    make_run(tmp_path)
    make_run(tmp_path, "v2", depth=2)
    make_run(tmp_path, "v3", depth=2)
    make_run(tmp_path, dataset="yacht")
    table = read_runs(tmp_path).scored
    assert labels(table).tolist() == [
        "bbb_x1 · depth 1",
        "bbb_x1 · depth 2 · v2",
        "bbb_x1 · depth 2 · v3",
        "bbb_x1",
    ]
    assert labels(table).index.equals(table.index)
    assert labels(table, aside=("depth",)).tolist() == [
        "bbb_x1", "bbb_x1 · v2", "bbb_x1 · v3", "bbb_x1",
    ]  # fmt: skip


def test_a_predicted_noise_or_a_robust_loss_is_named(tmp_path: Path) -> None:
    make_run(tmp_path, "plain")
    make_run(tmp_path, "predicted", likelihood="heteroscedastic")
    make_run(tmp_path, "robust", loss="beta")
    assert labels(read_runs(tmp_path).scored).tolist() == [
        "bbb_x1 · gaussian · nll", "bbb_x1 · heteroscedastic", "bbb_x1 · gaussian · beta",
    ]  # fmt: skip
