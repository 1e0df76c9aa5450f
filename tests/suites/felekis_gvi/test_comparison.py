"""The runs and contenders of the GVI thesis's comparison."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import pytest
from support.blocks import blocks, figures
from support.grids import make_grid
from support.runs import divergence_metadata, make_run

from bnnbench.report.blocks import Paragraph
from bnnbench.report.sections.spread import losses_by_split
from bnnbench.results.compare.outcomes import all_pairs
from bnnbench.results.read.run_tables import Runs, read_runs
from bnnbench.suites.felekis_gvi.comparison import (
    contender_pairs,
    contenders,
    spread_over_splits,
    thesis_runs,
)
from bnnbench.suites.felekis_gvi.page import claims_section, rivals_section

COMPARISON = {"experiment": "gvi_uci", "likelihood": "heteroscedastic"}

JS = divergence_metadata("js", weight=2.0)
"""The thesis's Jensen-Shannon divergence, without the factor 1/2."""


def contender_names(runs: Runs) -> set[str]:
    medians, _ = spread_over_splits(losses_by_split(runs), runs.scored)
    return set(medians.index.unique("name"))


def test_contenders_are_named_by_divergence_or_method(tmp_path: Path) -> None:
    for kind in (divergence_metadata("alpha_renyi", 2), divergence_metadata("tv_lower")):
        make_run(tmp_path, kind["divergence"], method="bbb", **kind)
    make_run(tmp_path, method="mc_dropout")
    found = contenders(read_runs(tmp_path).scored)
    assert sorted(found) == ["alpha_renyi", "mc_dropout", "tv_lower"]


def test_the_comparison_is_read_from_finished_runs(tmp_path: Path) -> None:
    for depth, shift in ((1, 0.0), (2, 1.0)):
        make_grid(tmp_path, {"kl": 5 + shift}, depth=depth, **COMPARISON)
        make_grid(tmp_path, {"js_weight_2": 3 + shift}, depth=depth, **COMPARISON, **JS)
    make_grid(tmp_path, {"kl": 9}, experiment="other")
    runs = read_runs(tmp_path)
    suite = thesis_runs(runs)
    assert suite.medians.loc[("boston", 2, "js_weight_2")].tolist() == pytest.approx([4, 0.4])
    assert suite.medians["rmse"].tolist() == pytest.approx([3, 5, 4, 6])
    assert sorted(suite.pairs["depth"]) == [1, 1, 2, 2]
    names = {frozenset(pair) for pair in combinations(("kl", "js_weight_2"), 2)}
    assert {frozenset(pair) for pair in suite.pairs[["a", "b"]].to_numpy().tolist()} == names
    section = blocks(claims_section, runs)
    table = section[-1].table.set_index("text")  # type: ignore[union-attr]
    assert table.loc["2 layers: JS outperforms KL.", "verdict"] == "confirmed"


@pytest.mark.slow
def test_runs_with_other_epochs_are_left_out(tmp_path: Path) -> None:
    trial = {"training__epochs": 5, "training__final_epochs": 5}
    make_grid(tmp_path, {"kl": 6, "js": 7}, depth=2, settings=trial, **COMPARISON)
    section = blocks(claims_section, tmp_path)
    (paragraph,) = section[1:]
    assert isinstance(paragraph, Paragraph) and paragraph.text.startswith("2 runs ")
    make_grid(tmp_path, {"kl": 5, "js": 3}, depth=1, **COMPARISON)
    runs = read_runs(tmp_path)
    assert set(thesis_runs(runs).medians.index.unique("depth")) == {1}
    section = blocks(claims_section, runs)
    assert str(section[1]).count(" 2 runs ") == 1


def test_other_methods_are_drawn_with_four_divergences(tmp_path: Path) -> None:
    make_grid(tmp_path, {"kl": 5, "kl_prior_posterior": 9}, **COMPARISON)
    make_grid(tmp_path, {"js": 4}, **COMPARISON)
    make_grid(tmp_path, {"js_weight_2": 3}, **COMPARISON, **JS)
    assert not blocks(rivals_section, tmp_path)
    make_grid(tmp_path, {"kl": 4}, method="sgld", **COMPARISON)
    section = blocks(rivals_section, tmp_path)
    drawings = figures(section)
    assert list(drawings) == ["rivals_rmse", "rivals_log_likelihood"]
    ticks = drawings["rivals_rmse"].draw().axes[0].get_yticklabels()
    assert [tick.get_text() for tick in ticks] == ["bbb, js_weight_2", "sgld", "bbb, kl"]


def test_contenders_are_named_without_a_common_weight(tmp_path: Path) -> None:
    kinds = [
        divergence_metadata("kl", weight=0.1),
        divergence_metadata("js", weight=0.1),
        divergence_metadata("alpha", 2, 0.1),
    ]
    for name in ("one", "two"):
        for k, kind in enumerate(kinds):
            make_grid(tmp_path / name, {kind["divergence"]: 5 - k}, **COMPARISON, **kind)
    one = read_runs(tmp_path / "one")
    assert contender_names(one) == {"kl", "js", "alpha"}
    pairs = contender_pairs(all_pairs(one), one.scored)
    assert set(pairs["a"]) | set(pairs["b"]) == {"kl", "js", "alpha"}
    make_grid(
        tmp_path / "one",
        {"js_weight_0.2": 7},
        **COMPARISON,
        **divergence_metadata("js", weight=0.2),
    )
    assert contender_names(read_runs(tmp_path / "one")) == {"kl", "js", "alpha", "js_weight_2"}
    make_grid(tmp_path / "two", {"kl": 6}, **COMPARISON)
    assert contender_names(read_runs(tmp_path / "two")) == {
        "kl",
        "kl_weight_0.1",
        "js_weight_0.1",
        "alpha_weight_0.1",
    }


def test_other_runs_do_not_change_the_correction_for_multiple_tests(tmp_path: Path) -> None:
    make_grid(tmp_path, {"kl": 5, "js": 3}, **COMPARISON)
    alone = thesis_runs(read_runs(tmp_path)).pairs
    make_grid(tmp_path, {"kl": 6, "js": 7, "alpha": 8}, experiment="other")
    among = thesis_runs(read_runs(tmp_path)).pairs
    assert len(alone) == 2 and alone["p_holm"].tolist() == among["p_holm"].tolist()
