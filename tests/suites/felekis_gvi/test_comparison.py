"""Which runs the GVI thesis's comparison is made of, and who contends in it."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import pytest
from support.grids import make_grid
from support.runs import make_run, of_order

from bnnbench.report.section import Drawing, Paragraph, Style
from bnnbench.results.losses_by_split import losses_by_split
from bnnbench.results.reader import Runs, read_runs
from bnnbench.results.significance import all_pairs
from bnnbench.suites.felekis_gvi.comparison import (
    contenders,
    over_splits,
    paired,
    thesis_runs,
)
from bnnbench.suites.felekis_gvi.page import claims_section, rivals_section, toy_section

COMPARISON = {"experiment": "gvi_uci", "likelihood": "heteroscedastic"}

JS = of_order("js", weight=2.0)
"""The thesis's, without the factor 1/2."""


def names_in(runs: Runs) -> set[str]:
    medians, _ = over_splits(losses_by_split(runs), runs.scored)
    return set(medians.index.unique("name"))


def test_contenders_are_told_by_divergence_or_method(tmp_path: Path) -> None:
    for kind in (of_order("alpha_renyi", 2), of_order("tv_lower")):
        make_run(tmp_path, kind["divergence"], method="bbb", **kind)
    make_run(tmp_path, method="mc_dropout")
    found = contenders(read_runs(tmp_path).scored)
    assert sorted(found) == ["alpha_renyi", "mc_dropout", "tv_lower"]


def test_the_comparison_is_read_from_finished_runs(tmp_path: Path) -> None:
    for depth, shift in ((1, 0.0), (2, 1.0)):
        make_grid(tmp_path, {"kl": 5 + shift}, depth=depth, **COMPARISON)
        make_grid(tmp_path, {"js_w2": 3 + shift}, depth=depth, **COMPARISON, **JS)
    make_grid(tmp_path, {"kl": 9}, experiment="other")
    runs = read_runs(tmp_path)
    suite = thesis_runs(runs)
    assert suite.medians.loc[("boston", 2, "js_w2")].tolist() == pytest.approx([4, 0.4])
    assert suite.medians["rmse"].tolist() == pytest.approx([3, 5, 4, 6])
    assert sorted(suite.pairs["depth"]) == [1, 1, 2, 2]
    names = {frozenset(pair) for pair in combinations(("kl", "js_w2"), 2)}
    assert {frozenset(pair) for pair in suite.pairs[["a", "b"]].to_numpy().tolist()} == names
    section = claims_section(runs, Style())
    assert section is not None
    table = section.blocks[-1].table.set_index("text")  # type: ignore[union-attr]
    assert table.loc["2 layers: JS outperforms KL.", "verdict"] == "confirmed"


def test_runs_of_other_epochs_are_no_ground_for_a_verdict(tmp_path: Path) -> None:
    trial = {"training__epochs": 5, "training__final_epochs": 5}
    make_grid(tmp_path, {"kl": 6, "js": 7}, depth=2, settings=trial, **COMPARISON)
    section = claims_section(read_runs(tmp_path), Style())
    assert section is not None
    assert section.blocks[1:] == (
        Paragraph("Left out, since their epochs are not the thesis's: 2 runs."),
    )
    make_grid(tmp_path, {"kl": 5, "js": 3}, depth=1, **COMPARISON)
    runs = read_runs(tmp_path)
    assert set(thesis_runs(runs).medians.index.unique("depth")) == {1}
    section = claims_section(runs, Style())
    assert section is not None and str(section.blocks[1]).count("thesis's: 2 runs.") == 1


def test_of_two_runs_of_a_contender_the_better_median_counts(tmp_path: Path) -> None:
    for seed, rmse in ((0, 5.0), (1, 4.0)):
        make_grid(tmp_path, {"kl": rmse}, seed=seed, **COMPARISON)
    runs = read_runs(tmp_path)
    medians, _ = over_splits(losses_by_split(runs), runs.scored)
    assert medians["rmse"].tolist() == pytest.approx([4])
    assert paired(all_pairs(runs), runs.scored).empty


def test_other_methods_have_a_figure_beside_four_divergences(tmp_path: Path) -> None:
    make_grid(tmp_path, {"kl": 5, "rkl": 9}, **COMPARISON)
    make_grid(tmp_path, {"js": 4}, **COMPARISON)
    make_grid(tmp_path, {"js_w2": 3}, **COMPARISON, **JS)
    assert rivals_section(read_runs(tmp_path), Style()) is None
    make_grid(tmp_path, {"kl": 4}, method="sgld", **COMPARISON)
    section = rivals_section(read_runs(tmp_path), Style())
    assert section is not None
    drawings = {block.name: block for block in section.blocks if isinstance(block, Drawing)}
    assert list(drawings) == ["rivals_rmse", "rivals_log_likelihood"]
    ticks = drawings["rivals_rmse"].draw().axes[0].get_xticklabels()
    assert {tick.get_text() for tick in ticks} == {"bbb, kl", "bbb, js_w2", "sgld"}


def test_a_suite_of_one_weight_is_judged_by_its_divergences(tmp_path: Path) -> None:
    kinds = [of_order("kl", weight=0.1), of_order("js", weight=0.1), of_order("alpha", 2, 0.1)]
    for name in ("one", "two"):
        for k, kind in enumerate(kinds):
            make_grid(tmp_path / name, {kind["divergence"]: 5 - k}, **COMPARISON, **kind)
    one = read_runs(tmp_path / "one")
    assert names_in(one) == {"kl", "js", "alpha"}
    pairs = paired(all_pairs(one), one.scored)
    assert set(pairs["a"]) | set(pairs["b"]) == {"kl", "js", "alpha"}
    make_grid(tmp_path / "one", {"js_w0.2": 7}, **COMPARISON, **of_order("js", weight=0.2))
    assert names_in(read_runs(tmp_path / "one")) == {"kl", "js", "alpha", "js_w2"}
    make_grid(tmp_path / "two", {"kl": 6}, **COMPARISON)
    assert names_in(read_runs(tmp_path / "two")) == {"kl", "kl_w0.1", "js_w0.1", "alpha_w0.1"}


def test_runs_of_other_experiments_are_none_of_the_theses(tmp_path: Path) -> None:
    make_grid(tmp_path, {"kl": 5, "js": 3}, experiment="other")
    runs = read_runs(tmp_path)
    assert thesis_runs(runs).empty
    assert [f(runs, Style()) for f in (claims_section, rivals_section, toy_section)] == [None] * 3
