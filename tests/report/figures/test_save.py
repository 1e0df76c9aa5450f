"""Saving figures in one or several processes gives the same files and errors."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

import matplotlib
import pytest
from matplotlib.figure import Figure

from bnnbench.experiment.run_folder import FIGURE_FORMATS
from bnnbench.report.figures.plotting import save_figures
from bnnbench.types import UserError


def line(slope: float) -> Figure:
    figure = Figure(figsize=(2, 2))
    figure.subplots().plot([0, 1], [0, slope])
    return figure


LINES = {f"line_{k}": partial(line, float(k)) for k in range(3)}


def place(folder: Path) -> Callable[[str, str], Path]:
    return lambda name, suffix: folder / f"{name}.{suffix}"


def contents(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir()}


@pytest.mark.slow
@pytest.mark.usefixtures("forks_allowed")
def test_files_do_not_depend_on_the_number_of_processes(tmp_path: Path) -> None:
    for processes in (1, 9):
        save_figures(LINES, place(tmp_path / str(processes)), processes=processes)
    one, nine = (contents(tmp_path / name) for name in ("1", "9"))
    assert len(one) == 6 and len({*one.values()}) == 6 and one == nine


@pytest.mark.parametrize(
    "settings",
    [
        {"text.usetex": True},
        {"font.size": 40, "axes.facecolor": "black"},
        {"savefig.bbox": "tight"},
    ],
)
def test_settings_of_the_program_change_no_figure_and_stay(
    tmp_path: Path, settings: dict[str, Any]
) -> None:
    one = {"line": LINES["line_1"]}
    save_figures(one, place(tmp_path / "default"))
    with matplotlib.rc_context(settings):
        before = dict(matplotlib.rcParams)
        save_figures(one, place(tmp_path / "other"))
        assert dict(matplotlib.rcParams) == before
    assert contents(tmp_path / "default") == contents(tmp_path / "other")


@pytest.mark.usefixtures("forks_allowed")
def test_every_process_draws_some_figures(tmp_path: Path) -> None:
    def draw(k: int) -> Figure:
        (tmp_path / f"{k}.txt").write_text(str(os.getpid()))
        return line(k)

    save_figures({f"{k}": partial(draw, k) for k in range(5)}, place(tmp_path), ("png",), 2)
    drew = [int((tmp_path / f"{k}.txt").read_text()) for k in range(5)]
    assert drew[0] == drew[2] == drew[4] == os.getpid() and drew[1] == drew[3] != os.getpid()


def test_old_files_of_other_formats_are_removed(tmp_path: Path) -> None:
    one = {"line": LINES["line_1"]}
    save_figures(one, place(tmp_path))
    save_figures(one, place(tmp_path), FIGURE_FORMATS["png"])
    assert {*contents(tmp_path)} == {"line.png"}


@pytest.mark.usefixtures("forks_allowed")
@pytest.mark.parametrize("place_of_error", [0, 1])
def test_an_error_in_any_process_is_raised(tmp_path: Path, place_of_error: int) -> None:
    def fail() -> NoReturn:
        raise UserError("damaged table", setting="table")

    drawings = dict(LINES)
    drawings[f"line_{place_of_error}"] = fail
    with pytest.raises(UserError) as error:
        save_figures(drawings, place(tmp_path), ("png",), 2)
    assert error.value.setting == "table"


@pytest.mark.usefixtures("forks_allowed")
def test_an_error_that_cannot_be_pickled_is_raised(tmp_path: Path) -> None:
    class OfThisTestError(Exception):
        pass

    def fail() -> NoReturn:
        raise OfThisTestError("message")

    with pytest.raises(OfThisTestError, match="message"):
        save_figures({**LINES, "line_1": fail}, place(tmp_path), ("png",), 2)


@pytest.mark.usefixtures("forks_allowed")
def test_figures_of_a_killed_process_are_drawn_by_this_one(tmp_path: Path) -> None:
    here = os.getpid()

    def die_elsewhere() -> Figure:
        if os.getpid() != here:
            os.kill(os.getpid(), signal.SIGKILL)
        return line(1.0)

    save_figures({**LINES, "line_1": die_elsewhere}, place(tmp_path), ("png",), 2)
    assert {*contents(tmp_path)} == {f"{name}.png" for name in LINES}
