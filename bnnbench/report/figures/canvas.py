"""What every figure is drawn on and with; built without pyplot: no global state, no display."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bnnbench.files import remove, write_atomically

PALETTE = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#999999")
"""Okabe & Ito (2008): eight colours told apart with any colour vision."""

BLUE, ORANGE, GREY = PALETTE[0], PALETTE[5], "#666666"

Look = dict[str, Any]
"""Keyword arguments of matplotlib that say how something looks."""

METADATA: Mapping[str, Look] = {"png": {"Software": None}, "pdf": {"CreationDate": None}}
"""By suffix, what would change from day to day and is left out."""

DOTS = 150
"""Per inch of a PNG."""


def sketch(
    width: float, height: float, columns: int = 1, rows: int = 1
) -> tuple[Figure, list[Axes]]:
    """An empty figure, inches, with panels row by row and nothing cut off at its edges."""
    figure = Figure(figsize=(width, height), layout="constrained")
    panels = list(figure.subplots(rows, columns, squeeze=False).ravel())
    for axes in panels:
        axes.spines[["top", "right"]].set_visible(False)
    return figure, panels


def legend(figure: Figure, axes: Axes, columns: int = 4) -> None:
    """The legend of `axes` above the panels, where it covers no data."""
    handles, names = axes.get_legend_handles_labels()
    figure.legend(handles, names, loc="outside upper center", ncols=columns, frameon=False)


def line_look(place: int, dashes: tuple[str, str, str]) -> Look:
    """Colour and dashes of the line at some place among many: eight colours, then other dashes."""
    colours = len(PALETTE)
    return {"color": PALETTE[place % colours], "linestyle": dashes[place // colours % len(dashes)]}


def save(
    figure: Figure, path_of: Callable[[str], Path], suffixes: Sequence[str] = tuple(METADATA)
) -> None:
    """Writes a figure, the same bytes for the same figure.

    Args:
        figure: laid out here, once for all its files, which of many panels is most of the work.
        path_of: where the file with some suffix goes.
        suffixes: of the files wanted; others of the same figure, of an earlier day, are removed.
    """
    figure.set_dpi(DOTS)
    figure.draw_without_rendering()
    figure.set_layout_engine(None)
    for suffix, metadata in METADATA.items():
        if suffix not in suffixes:
            remove(path_of(suffix))
            continue
        with matplotlib.rc_context({"pdf.fonttype": 42}):
            write_atomically(
                path_of(suffix),
                partial(figure.savefig, format=suffix, dpi=DOTS, metadata=metadata),
            )
