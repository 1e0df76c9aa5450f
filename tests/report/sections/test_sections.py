"""Numbers that sections print, checked by hand, and the runs to which sections do not apply."""

from __future__ import annotations

import math
from collections.abc import Iterable
from pathlib import Path

import pytest
from support.blocks import blocks, data_files, figures, tables, texts
from support.grids import make_grid
from support.runs import RMSE, add_arrays, divergence_metadata, make_folder, make_run
from support.synthetic_data import make_curve_run

from bnnbench.experiment.store.split_files import OBJECTIVE
from bnnbench.report.blocks import MISSING, Block, Paragraph, Style, TableBlock, even_chunks
from bnnbench.report.report_writer import results_table, section_functions
from bnnbench.report.sections import (
    ALL,
    calibration,
    curves,
    divergence_orders,
    information_criteria,
    interval_coverage,
    objective,
    ranking,
    results,
    significance,
    spread,
    time_against_score,
)
from bnnbench.results.read.run_files import CALIBRATION, read_splits, read_test_points
from bnnbench.results.read.run_filter import RunFilter
from bnnbench.results.read.run_tables import read_runs
from bnnbench.results.score.calibration import calibration_table


def drawn(section: Iterable[Block]) -> list[str]:
    return list(figures(section))


def files(section: Iterable[Block]) -> list[str]:
    return list(data_files(section))


def test_runs_of_other_kinds_have_no_sections(tmp_path: Path) -> None:
    names = {"experiment": "line", "dataset": "line", "method": "bbb"}
    make_folder(tmp_path, names, "v1", "toy")
    runs = read_runs(tmp_path)
    shown = section_functions(runs, Style(sections=(ALL,)))
    assert not [section for section in shown if blocks(section, runs)]


def test_results_are_shown_by_data_set_next_to_published_values(tmp_path: Path) -> None:
    make_run(tmp_path, times=5)
    make_run(tmp_path, dataset="another", rmse=(*RMSE[:3], math.nan), diverged=[0, 0, 0, 1])
    section = blocks(results.section, tmp_path)
    other, ours, theirs = tables(section)
    assert (other.group, ours.group, theirs.group) == ("another", "boston", "boston")
    marked = "bbb_x1 (settings differ: 4 of 20 splits)"
    assert other.rows[0][:2] == (marked, "4.00 ± 0.58") and other.rows[0][-1] == "4 (1 diverged)"
    assert ours.rows == (
        ("bbb_x1", "5.00 ± 0.43", "-2.500 ± 0.081", "-2.600 ± 0.081", "1.5", "100", "20"),
    )
    assert theirs.rows[0] == (
        "bbb_x1", "RMSE", "5.00 ± 0.43", "3.59 ± 0.21", "+3.0", MISSING,
        "Khan et al. 2018: BBVI", "search objective per_point, samples 10",
    )  # fmt: skip
    assert "(1 in total)" in ours.caption and "over 4 to 20 splits" in ours.caption
    assert files(section) == ["results"]
    assert sum(len(part.rows) for part in results_table(read_runs(tmp_path)).parts) == 2


def test_pairs_are_counted_and_their_differences_drawn(tmp_path: Path) -> None:
    make_run(tmp_path, times=5)
    assert not blocks(significance.section, tmp_path)
    make_run(tmp_path, method="vadam", times=5)
    section = blocks(significance.section, tmp_path)
    (table,) = tables(section)
    assert table.rows[:2] == (
        ("rmse", "bbb_x1", "0", "1", "0", "0"), ("rmse", "vadam", "0", "1", "0", "0"),
    )  # fmt: skip
    assert drawn(section) == ["difference_rmse", "difference_log_likelihood"]


def test_the_best_order_of_each_family(tmp_path: Path) -> None:
    make_grid(tmp_path, {"kl": 5})
    assert not blocks(divergence_orders.section, tmp_path)
    for depth, order, mean in ((d, o, m) for d in (1, 2) for o, m in ((0.5, 5), (2, 3), (3, 4))):
        kind = divergence_metadata("alpha", order)
        make_grid(tmp_path, {kind["divergence"]: mean}, depth=depth, **kind)
    section = blocks(divergence_orders.section, tmp_path)
    first, _ = tables(section)
    assert first.rows[0] == (
        "boston", "alpha", "test RMSE [original units]", "2", "3.00 ± 0.13", "5", "3.5",
    )  # fmt: skip
    assert drawn(section) == ["orders", "orders_2"] and files(section) == ["orders"]


def test_spread_needs_runs_that_differ_in_divergence_or_depth(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_grid(tmp_path, {"kl": 5})
    assert not blocks(spread.section, tmp_path)
    make_grid(tmp_path, {"js": 3})
    section = blocks(spread.section, tmp_path)
    assert drawn(section) == ["boxes_rmse", "boxes_log_likelihood"]
    monkeypatch.setattr(spread, "MAX_BOXES", 1)
    section = blocks(spread.section, tmp_path)
    assert section[1:] == [Paragraph(spread.TOO_MANY)]


def test_calibration_is_that_of_the_runs_own_pages(tmp_path: Path) -> None:
    folder = make_run(tmp_path, times=5)
    assert not blocks(calibration.section, tmp_path)
    add_arrays(folder)
    points = read_test_points(folder, read_splits(folder))
    assert points is not None
    found = calibration_table(points)
    found.to_csv(folder.table(CALIBRATION), index=False)
    section = blocks(calibration.section, tmp_path)
    (table,) = tables(section)
    (row,) = table.rows
    assert row[0] == "bbb_x1" and row[2:5] == ("0.046", MISSING, MISSING)
    assert row[8].startswith(f"{found['width_90'].mean():.3f}"[:4]) and files(section) == [
        "calibration"
    ]


def test_sections_on_one_dimensional_data_have_a_row_per_run(tmp_path: Path) -> None:
    scored = {"train_log_likelihood": -2.0, "training_rows": 50, "parameters": 7}
    for depth in (1, 2):
        folder = make_curve_run(tmp_path, scale=1.0, depth=depth, dataset="toy", **scored)
    add_arrays(folder, OBJECTIVE, {"split": [0], "epoch": [1], "loss": [1.0], "complexity": [0.5]})
    runs = read_runs(tmp_path)
    along, inside, criteria = (
        blocks(module.section, runs) for module in (curves, interval_coverage, information_criteria)
    )
    assert [row[:2] for row in tables(along)[0].rows] == [("bbb_x1", "1"), ("bbb_x1", "2")]
    assert tables(inside)[0].rows[0] == ("bbb_x1", "1", "0.68", "0.00")
    assert tables(criteria)[0].rows[0][:6] == ("bbb_x1", "1", "7", "50", "100", "227")
    assert drawn(along) == ["curves"] and drawn(inside) == ["sigma"]
    assert drawn(blocks(objective.section, runs)) == ["objectives"]


def test_panels_are_divided_evenly_among_few_figures() -> None:
    counts = {n: [len(part) for part in even_chunks(range(n), 8)] for n in (0, 8, 9, 17)}
    assert counts == {0: [], 8: [8], 9: [4, 5], 17: [6, 5, 6]}
    assert [place for part in even_chunks(range(17), 8) for place in part] == list(range(17))


@pytest.mark.slow
def test_many_curves_are_drawn_in_several_figures(tmp_path: Path) -> None:
    for k in range(curves.MAX_ROWS + 1):
        make_curve_run(tmp_path, scale=1.0, dataset="toy", method=f"m{k}")
    assert drawn(blocks(curves.section, tmp_path)) == ["curves", "curves_2"]


def test_runs_with_other_settings_are_marked_in_every_table_and_have_no_z(tmp_path: Path) -> None:
    trial = {"training__epochs": 5, "training__final_epochs": 5, "search__iterations": 3}
    make_run(tmp_path, "full", 5, method="vadam")
    make_run(tmp_path, "full", 5, method="pbp")
    folder = make_run(tmp_path, "trial", method="vadam", settings=trial)
    add_arrays(folder)
    runs = read_runs(tmp_path)
    name, mark = "vadam, epochs 5, search iterations 3", "(settings differ: 4 of 20 splits)"
    ours, theirs = tables(blocks(results.section, runs))
    assert [row[0] for row in ours.rows] == ["pbp", "vadam", f"{name} {mark}"]
    settings = "epochs 5, search iterations 3, search objective per_point, 4 of 20 splits"
    own = [row for row in theirs.rows if row[1] == "RMSE" and row[0] != "pbp"]
    assert [(row[0], row[4], row[-1]) for row in own] == [
        ("vadam", "+2.3", "search objective per_point"), (name, MISSING, settings),
    ]  # fmt: skip
    (counts,) = tables(blocks(significance.section, runs))
    assert {row[1] for row in counts.rows} == {"pbp", "vadam"}  # the other has fewer splits
    (widths,) = tables(blocks(calibration.section, runs))
    assert "(settings differ: epochs 5, search" in widths.rows[0][0]


def test_a_setting_that_all_runs_share_is_in_the_caption(tmp_path: Path) -> None:
    make_run(tmp_path, likelihood="heteroscedastic")
    make_run(tmp_path, likelihood="heteroscedastic", dataset="yacht")
    first, second = tables(blocks(results.section, tmp_path))
    assert first.rows[0][0] == second.rows[0][0] == "bbb_x1"
    assert first.caption.endswith(": likelihood heteroscedastic.")
    make_run(tmp_path, "plain")
    assert "heteroscedastic" not in results.table_caption(read_runs(tmp_path).scored)


def test_runs_that_share_two_splits_are_not_compared(tmp_path: Path) -> None:
    make_run(tmp_path)
    make_run(tmp_path, method="vadam", fingerprint=["boston-0", "boston-1", "r", "s"])
    assert not any(isinstance(one, TableBlock) for one in blocks(significance.section, tmp_path))


def test_runs_without_common_splits_are_counted(tmp_path: Path) -> None:
    make_run(tmp_path)
    make_run(tmp_path, method="vadam", fingerprint=["p", "q", "r", "s"])
    section = blocks(significance.section, tmp_path)
    assert len(section) == 2
    (text,) = texts(section)
    assert "boston" in text and "1 of 1 pairs" in text


def test_ranks_and_tests_on_two_data_sets(tmp_path: Path) -> None:
    for dataset in ("boston", "yacht"):
        for level, method in enumerate(("pbp", "vadam", "bbb_x1")):
            make_run(tmp_path, times=5, dataset=dataset, method=method, crps=1.0 + level)
        assert (dataset == "yacht") == bool(blocks(ranking.section, tmp_path))
    section = blocks(ranking.section, tmp_path)
    (table,) = tables(section)
    assert table.rows[0] == ("bbb_x1", "2.00", "2.00", "3.00")
    _, scope, *verdicts = texts(section)
    assert "3 methods on the 2 data sets" in scope and "boston, yacht." in scope
    assert "is 0.00, F(2, 2) = 0.00, p = 1:" in verdicts[0]
    assert "F(" not in verdicts[2] and "3 methods" in verdicts[2]
    assert drawn(section) == ["ranks"] and files(section) == ["ranks"]


def test_time_against_score_needs_two_runs_on_a_data_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_run(tmp_path, method="pbp")
    assert not blocks(time_against_score.section, tmp_path)
    make_run(tmp_path, method="vadam", total_seconds=5.0)
    section = blocks(time_against_score.section, tmp_path)
    assert drawn(section) == ["time_rmse", "time_log_likelihood"]
    assert files(section) == ["time_against_score"]
    chosen = Style(run_filter=RunFilter(metrics=("crps", "total_seconds")))
    assert drawn(blocks(time_against_score.section, tmp_path, chosen)) == ["time_crps"]
    monkeypatch.setattr(time_against_score, "MAX_RUNS", 1)
    assert drawn(blocks(time_against_score.section, tmp_path)) == []
