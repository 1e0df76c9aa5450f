"""`bnnbench compare` on synthetic finished runs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support.command import Command
from support.runs import RMSE, make_run


@pytest.fixture
def outputs(tmp_path: Path) -> Path:
    """Two methods on two data sets; the second is always one better."""
    for dataset in ("boston", "yacht"):
        make_run(tmp_path, dataset=dataset, times=5)
        make_run(tmp_path, dataset=dataset, method="pbp", times=5, rmse=np.array(RMSE) - 1)
    return tmp_path


@pytest.mark.slow
def test_every_pair_below_a_folder(command: Command, outputs: Path) -> None:
    code, out, _ = command("compare", str(outputs))
    assert code == 0 and "outcomes against all others" in out
    assert "yacht, RMSE, 20 of 20 splits shared: pbp is significantly better than bbb_x1." in out
    rows = [line.split() for line in out.splitlines() if "+1" in line]
    assert rows == 2 * [["bbb_x1", "pbp", "+1", "<0.001", "0", "3"]]


def test_methods_and_metric_are_selected(command: Command, outputs: Path) -> None:
    make_run(outputs, method="vadam", times=5)
    arguments = ("compare", str(outputs), "--methods", "vadam,pbp", "--metric", "crps")
    code, out, _ = command(*arguments)
    assert code == 0 and "bbb_x1" not in out and "boston, CRPS" in out
    assert "boston, RMSE" not in out and "RMSE (ROPE" not in out


def test_two_folders_name_their_methods(command: Command, outputs: Path) -> None:
    one, all_of_them = str(outputs / "uci/boston/bbb_x1"), str(outputs / "uci")
    code, out, _ = command("compare", one, all_of_them)
    assert code == 0 and "boston" in out and "yacht" not in out
    assert "bbb_x1 (1st)" in out and "bbb_x1 (2nd)" in out and "equivalent" in out


def test_comparison_with_published_results(command: Command, outputs: Path, tmp_path: Path) -> None:
    code, out, _ = command("compare", "--published", str(outputs))
    assert code == 0 and "3.59 ± 0.21" in out and "Khan et al. 2018: BBVI" in out
    make_run(tmp_path / "deep", depth=2)
    words = ("--published", str(tmp_path / "deep"))
    command.assert_refused("compare", *words, setting="--published")


def test_one_run_alone_cannot_be_compared(command: Command, outputs: Path) -> None:
    folder = str(outputs / "uci/boston/pbp")
    command.assert_refused("compare", folder, setting="PATH", code="one_run")


def test_two_splits_are_too_few(command: Command, tmp_path: Path) -> None:
    make_run(tmp_path)
    make_run(tmp_path, method="vadam", fingerprint=["boston-0", "boston-1", "r", "s"])
    command.assert_refused("compare", str(tmp_path), setting="PATH", code="few_common_splits")
    make_run(tmp_path, method="pbp")
    code, out, _ = command("compare", str(tmp_path))
    assert code == 0 and "bbb_x1 *" in out
    (starred,) = (line for line in out.splitlines() if "* bbb_x1 on boston: " in line)
    assert "4 of 20 splits" in starred
    assert "pairs of runs share fewer than 3 splits" in out


def test_splits_with_other_test_rows_are_not_compared(command: Command, tmp_path: Path) -> None:
    make_run(tmp_path, times=5)
    make_run(tmp_path, method="vadam", times=5, fingerprint=["p", "q", "r", "s"])
    command.assert_refused("compare", str(tmp_path), setting="PATH", code="few_common_splits")
    make_run(tmp_path, method="pbp", times=5)
    code, out, _ = command("compare", str(tmp_path))
    text = " ".join(out.split())
    assert code == 0 and "20 of 20" in text and "vadam 20 of 20" not in text
    assert "On boston 2 of 3 pairs of runs share fewer than 3 splits" in text
    assert "bbb_x1 and vadam; pbp and vadam." in text


def test_runs_of_two_folders_are_named_by_their_settings(command: Command, tmp_path: Path) -> None:
    make_run(tmp_path / "one", "short", times=5, settings={"training__epochs": 5})
    make_run(tmp_path / "two", times=5)
    code, out, _ = command("compare", str(tmp_path / "one"), str(tmp_path / "two"))
    text = " ".join(out.split())
    assert code == 0 and "epochs 5 *" in text and "(1st)" not in text
