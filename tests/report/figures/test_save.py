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

from bnnbench.experiment.store.run_folder import FIGURE_FORMATS
from bnnbench.report.figures.plotting import save_and_inline, save_figures
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


class OfThisTestError(Exception):
    """Cannot be pickled if it is raised in another process."""

    def __reduce__(self) -> NoReturn:
        raise TypeError


@pytest.mark.usefixtures("forks_allowed")
@pytest.mark.parametrize("place_of_error", [0, 1])
@pytest.mark.parametrize("kind", [UserError, OfThisTestError, KeyError])
def test_the_other_figures_are_drawn_if_one_raises(
    tmp_path: Path, place_of_error: int, kind: type[Exception]
) -> None:
    def fail() -> NoReturn:
        raise kind("of mine")

    name = f"line_{place_of_error}"
    errors = save_figures({**LINES, name: fail}, place(tmp_path), ("png",), 2)
    assert errors.keys() == {name} and "of mine" in errors[name] and name in errors[name]
    assert {*contents(tmp_path)} == {f"{other}.png" for other in LINES if other != name}


@pytest.mark.usefixtures("forks_allowed")
@pytest.mark.parametrize("place_of_error", [0, 1])
def test_a_file_that_cannot_be_written_is_an_error(tmp_path: Path, place_of_error: int) -> None:
    (tmp_path / f"line_{place_of_error}.png").mkdir()
    (tmp_path / f"line_{place_of_error}.png" / "file").touch()
    with pytest.raises(OSError, match="directory"):
        save_figures(LINES, place(tmp_path), ("png",), 2)


@pytest.mark.parametrize("name", ["line_0", "line_1"])
def test_a_page_says_which_figure_is_missing(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    def fail() -> NoReturn:
        raise ValueError("<of mine>")

    inline = save_and_inline({**LINES, name: fail})
    assert "&lt;of mine&gt;" in inline[name] and "<of mine>" in capsys.readouterr().err
    assert all("<svg" in text for other, text in inline.items() if other != name)


@pytest.mark.usefixtures("forks_allowed")
def test_figures_of_a_killed_process_are_drawn_by_this_one(tmp_path: Path) -> None:
    here = os.getpid()

    def die_elsewhere() -> Figure:
        if os.getpid() != here:
            os.kill(os.getpid(), signal.SIGKILL)
        return line(1.0)

    save_figures({**LINES, "line_1": die_elsewhere}, place(tmp_path), ("png",), 2)
    assert {*contents(tmp_path)} == {f"{name}.png" for name in LINES}
