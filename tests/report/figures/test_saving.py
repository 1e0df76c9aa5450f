"""Figures saved one by one and side by side: the same files, the same errors."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NoReturn

import pytest
from matplotlib.figure import Figure

from bnnbench.experiment.run_folder import FIGURES
from bnnbench.report.figures.saving import save_all
from bnnbench.types import UserError


def line(slope: float) -> Figure:
    figure = Figure(figsize=(2, 2))
    figure.subplots().plot([0, 1], [0, slope])
    return figure


LINES = {f"line_{k}": partial(line, float(k)) for k in range(5)}


def place(folder: Path) -> Callable[[str, str], Path]:
    return lambda name, suffix: folder / f"{name}.{suffix}"


def contents(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir()}


@pytest.mark.usefixtures("alone")
def test_side_by_side_they_are_the_same_files(tmp_path: Path) -> None:
    for processes in (1, 2, 9):
        save_all(LINES, place(tmp_path / str(processes)), processes=processes)
    one, two, nine = (contents(tmp_path / name) for name in ("1", "2", "9"))
    assert len(one) == 10 and len({*one.values()}) == 10 and one == two == nine


@pytest.mark.usefixtures("alone")
def test_every_process_draws_a_part(tmp_path: Path) -> None:
    def draw(k: int) -> Figure:
        (tmp_path / f"{k}.txt").write_text(str(os.getpid()))
        return line(k)

    save_all({f"{k}": partial(draw, k) for k in range(5)}, place(tmp_path), ("png",), 2)
    drew = [int((tmp_path / f"{k}.txt").read_text()) for k in range(5)]
    assert drew[0] == drew[2] == drew[4] == os.getpid() and drew[1] == drew[3] != os.getpid()


@pytest.mark.parametrize("figures", ["png", "pdf"])
def test_what_is_not_asked_for_is_not_left_from_before(tmp_path: Path, figures: str) -> None:
    save_all(LINES, place(tmp_path))
    save_all(LINES, place(tmp_path), FIGURES[figures])
    assert {*contents(tmp_path)} == {f"{name}.{figures}" for name in LINES}


@pytest.mark.usefixtures("alone")
@pytest.mark.parametrize("place_of_error", [0, 1])
def test_an_error_is_raised_here_wherever_it_was(tmp_path: Path, place_of_error: int) -> None:
    def fail() -> NoReturn:
        raise UserError("a torn table")

    drawings = dict(LINES)
    drawings[f"line_{place_of_error}"] = fail
    with pytest.raises(UserError, match=r"^a torn table$"):
        save_all(drawings, place(tmp_path), ("png",), 2)


@pytest.mark.usefixtures("alone")
def test_an_error_that_cannot_be_sent_is_raised_all_the_same(tmp_path: Path) -> None:
    class OfThisTestError(Exception):
        pass

    def fail() -> NoReturn:
        raise OfThisTestError("a mistake of ours")

    with pytest.raises(OfThisTestError, match="a mistake of ours"):
        save_all({**LINES, "line_1": fail}, place(tmp_path), ("png",), 2)


@pytest.mark.usefixtures("alone")
def test_the_part_of_a_child_that_was_killed_is_done_here(tmp_path: Path) -> None:
    here = os.getpid()

    def die_elsewhere() -> Figure:
        if os.getpid() != here:
            os.kill(os.getpid(), signal.SIGKILL)
        return line(1.0)

    save_all({**LINES, "line_1": die_elsewhere}, place(tmp_path), ("png",), 2)
    assert {*contents(tmp_path)} == {f"{name}.png" for name in LINES}
