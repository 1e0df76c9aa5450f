"""The runs that belong to the book's comparison."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest
from support.book_comparison import book_table, selected
from support.pairs import pairwise_results

from bnnbench.suites.cinelli_book.comparison import book_runs
from bnnbench.suites.cinelli_book.page import coverage_sentence


@pytest.mark.parametrize(
    "change", [{"experiment": "uci"}, {"dataset": "protein"}, {"method": "mc_dropout"}]
)
def test_other_runs_are_ignored(change: dict[str, Any]) -> None:
    assert book_runs(book_table({"boston": {"pbp": 1}}), pairwise_results({})) is not None
    assert book_runs(book_table({"boston": {"pbp": 1}}, **change), pairwise_results({})) is None


@pytest.mark.parametrize(
    "change",
    [
        {"depth": 2},
        {"likelihood": "heteroscedastic"},
        {"loss": "beta"},
        {"divergence": "renyi_0.5"},
    ],
)
def test_runs_with_other_settings_are_left_out_and_counted(change: dict[str, Any]) -> None:
    found = selected(book_table({"boston": {"pbp": 1}}, **change))
    assert found.runs.empty
    assert "settings of all 1 runs deviate" in coverage_sentence(found)
    both = pd.concat(
        [book_table({"boston": {"pbp": 1}}), book_table({"boston": {"pbp": 1}}, **change)]
    )
    found = selected(both.set_index(pd.Index(["a", "b"], name="run")))
    assert "1 more was left out" in coverage_sentence(found)


def test_scores_are_compared_only_on_all_splits() -> None:
    strength = {"boston bbb_x1": 1, "boston pbp": 2}
    for splits, n_pairs in ((20, 2), (19, 0)):
        found = selected(book_table({"boston": {"bbb_x1": 1, "pbp": 2}}, splits=splits), strength)
        assert len(found.pairs) == n_pairs and len(found.runs) == 2


def test_the_run_with_more_splits_is_used_with_its_pairs() -> None:
    runs = pd.concat([
        book_table({"boston": {"bbb_x1": 1}}),
        book_table({"boston": {"pbp": 3}}, splits=5, variant="seed1"),
        book_table({"boston": {"pbp": 2}}, variant="seed0"),
    ])  # fmt: skip
    found = selected(runs, {"boston bbb_x1": 1, "boston pbp seed1": 2, "boston pbp seed0": 3})
    assert found.table("total_seconds").loc["boston", ["bbb_x1", "pbp"]].tolist() == [1, 2]
    assert found.pairs[["metric", "a", "b"]].to_numpy().tolist() == [
        ["rmse", "bbb_x1", "pbp"],
        ["log_likelihood", "bbb_x1", "pbp"],
    ]
    sentence = coverage_sentence(found)
    assert sentence.startswith("2 of the 48 runs") and "wine (all)" in sentence
    assert "boston (BBBx2, Vadam, MCDOx1, MCDOx10)" in sentence
    assert "1 more was left out" in sentence and "fewer than" not in sentence


def test_other_runs_do_not_change_the_correction_for_multiple_tests() -> None:
    strength = {"boston bbb_x1": 1.0, "boston pbp": 1.2}
    others = {f"other {k}": float(k) for k in range(30)}
    table = book_table({"boston": {"bbb_x1": 1, "pbp": 2}})
    alone, among = (
        book_runs(table, pairwise_results(runs, noise=0.15))
        for runs in (strength, strength | others)
    )
    assert alone is not None and among is not None
    assert alone.pairs["p_holm"].tolist() == among.pairs["p_holm"].tolist()
    assert alone.pairs["outcome"].tolist() == among.pairs["outcome"].tolist() == ["worse"] * 2
