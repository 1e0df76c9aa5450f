"""Runs that cannot be used are left out by name, whatever fails and however it fails."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from support.command import Command
from support.runs import add_arrays, add_checksums, make_folder, make_points, make_run
from support.user_errors import raises_user_error

from bnnbench.experiment.store.stored_files import damaged_file_error
from bnnbench.results.read.readable_runs import use_readable
from bnnbench.results.read.run_files import read_predictions
from bnnbench.results.read.run_tables import Runs, read_runs
from bnnbench.types import UserError


def fail(runs: Runs, method: str, error: Callable[[Path], Exception]) -> list[str]:
    """Return the methods of the runs; fail if there is one of this method."""
    for run, name in runs.scored["method"].items():
        if name == method:
            raise error(runs.folders[str(run)].root)
    return sorted(runs.scored["method"])


@pytest.mark.parametrize(
    "error",
    [
        lambda root: damaged_file_error(root / "x.csv"),
        lambda root: KeyError("numerics"),
        lambda root: ZeroDivisionError(),
        lambda root: RuntimeError("singular"),
        lambda root: ValueError("\x1b\udfff"),
    ],
)
def test_a_run_with_which_the_function_fails_is_left_out(
    tmp_path: Path, error: Callable[[Path], Exception]
) -> None:
    for method in ("bbb", "vadam", "pbp"):
        make_run(tmp_path, method=method)
    runs, methods = use_readable(read_runs(tmp_path), lambda runs: fail(runs, "vadam", error))
    assert methods == ["bbb", "pbp"] and len(runs.folders) == 2
    (sentence,) = runs.skipped
    assert "vadam" in sentence and sentence.isprintable()


def test_without_a_usable_run_there_is_an_error(tmp_path: Path) -> None:
    root = make_run(tmp_path).root
    error = damaged_file_error(root / "x.csv")
    with raises_user_error("x.csv", "damaged"):
        use_readable(read_runs(tmp_path), lambda runs: fail(runs, "bbb_x1", lambda _: error))


@pytest.mark.parametrize("error", [UserError("a setting is wrong."), OSError(28, "full")])
def test_an_error_that_is_no_run_s_is_raised(tmp_path: Path, error: Exception) -> None:
    make_run(tmp_path)
    with pytest.raises(type(error)):
        use_readable(read_runs(tmp_path), lambda runs: fail(runs, "bbb_x1", lambda _: error))


ARRAYS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "truth values": lambda a: a > 0,
    "dates": lambda a: np.full(a.shape, np.datetime64("2020-01-01")),
    "complex numbers": lambda a: a.astype(complex),
    "texts": lambda a: a.astype(str),
    "extended precision": lambda a: a.astype(np.longdouble),
    "too few": lambda a: a[:-1],
    "two dimensions": lambda a: a[:, None],
    "no dimension": lambda a: a.sum(),
}


@pytest.mark.parametrize("name", ARRAYS)
@pytest.mark.parametrize("column", ["split", "mean", "noise_variance"])
def test_damaged_arrays_are_not_read(tmp_path: Path, column: str, name: str) -> None:
    folder, points = make_run(tmp_path), make_points()
    add_arrays(folder, arrays={**points, column: ARRAYS[name](points[column])})
    with raises_user_error("predictions.npz", "damaged"):
        read_predictions(folder)


@pytest.mark.ci
@pytest.mark.usefixtures("without_figures")
def test_the_report_leaves_out_a_run_with_damaged_arrays(command: Command, tmp_path: Path) -> None:
    """Although their checksum is right."""
    make_run(tmp_path / "runs", method="bbb")
    folder = make_run(tmp_path / "runs", method="vadam")
    add_arrays(folder, arrays={**make_points(), "mean": np.array([True] * 40)})
    add_checksums(folder, "record.json", "splits.csv", "predictions.npz")
    code, out, errors = command("report", str(tmp_path / "runs"))
    assert code == 0 and "bbb" in out and "vadam" not in out
    assert f"left out: {folder.root}/predictions.npz" in errors


@pytest.mark.ci
@pytest.mark.usefixtures("without_figures")
def test_the_report_leaves_out_a_run_of_a_suite(command: Command, tmp_path: Path) -> None:
    """A table that only its page reads is missing."""
    make_run(tmp_path / "runs")
    names = {"experiment": "clutter", "dataset": "clutter", "method": "ep"}
    folder = make_folder(tmp_path / "runs", names, "v1", "clutter")
    code, _, errors = command("report", str(tmp_path / "runs"))
    assert code == 0 and f"left out: {folder.root}" in errors
