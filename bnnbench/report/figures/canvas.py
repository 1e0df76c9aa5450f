"""What every figure is drawn on and with; built without pyplot: no global state, no display."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.textpath import text_to_path

from bnnbench.files import remove, write_atomically, write_text
from bnnbench.report.figures.inline_svg import inline_svg

PALETTE = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#999999")
"""Okabe & Ito (2008): eight colours told apart with any colour vision."""

BLUE, ORANGE, GREY = PALETTE[0], PALETTE[5], "#666666"

Look = dict[str, Any]
"""Keyword arguments of matplotlib that say how something looks."""

METADATA: Mapping[str, Look] = {"png": {"Software": None}, "pdf": {"CreationDate": None}}
"""By suffix, what would change from day to day and is left out."""

DOTS = 150
"""Per inch of a PNG."""

SMALL, MEDIUM = 8.33, 10.0
"""Points of matplotlib's sizes of the same names."""

ENTRY = 0.72
"""Inches of a legend's column beside its names: the mark, and the space around it."""


def sketch(
    width: float, height: float, columns: int = 1, rows: int = 1
) -> tuple[Figure, list[Axes]]:
    """An empty figure, inches, with panels row by row and nothing cut off at its edges."""
    figure = Figure(figsize=(width, height), layout="constrained")
    panels = list(figure.subplots(rows, columns, squeeze=False).ravel())
    for axes in panels:
        axes.spines[["top", "right"]].set_visible(False)
    return figure, panels


def legend(figure: Figure, axes: Axes | Sequence[Axes], columns: int = 4, title: str = "") -> None:
    """The legend above the panels, where it covers no data; the figure grows by its rows.

    Args:
        figure: whose size is final but for the legend.
        axes: one panel or more; what several of them name stands there once.
        columns: at most; fewer if the names are too long to stand side by side.
        title: in grey above the entries: what the figure is of.
    """
    panels = [axes] if isinstance(axes, Axes) else axes
    found: dict[str, Any] = {}
    for panel in panels:
        for handle, name in zip(*panel.get_legend_handles_labels(), strict=True):
            found.setdefault(name, handle)
    width = figure.get_figwidth()
    names = [folded(name, width - ENTRY) for name in found]
    longest = max((inches(line) for name in names for line in name.split("\n")), default=0.0)
    columns = max(1, min(columns, int(width / (longest + ENTRY))))
    rows = -(-sum(name.count("\n") + 1 for name in names) // columns)
    figure.set_figheight(figure.get_figheight() + 0.22 * max(0, rows - 2))
    box = figure.legend(
        found.values(),
        names,
        loc="outside upper center",
        ncols=columns,
        frameon=False,
        title=folded(title, width - 0.3, SMALL) or None,
        title_fontsize=SMALL,
    )
    box.get_title().set(color=GREY, parse_math=False, multialignment="center")


def headline(figure: Figure, title: str) -> None:
    """What a figure without a legend is of, in grey above its panels."""
    if title:
        head = folded(title, figure.get_figwidth() - 0.3, SMALL)
        figure.suptitle(head, fontsize=SMALL, color=GREY, parse_math=False)


@cache
def inches(text: str, points: float = MEDIUM) -> float:
    """How wide a line of text is."""
    font = FontProperties(size=points)
    width: float = text_to_path.get_text_width_height_descent(text, font, ismath=False)[0]
    return width / 72


def folded(text: str, width: float, points: float = MEDIUM) -> str:
    """A text on as many lines as it needs, so that nothing of it is cut off.

    Args:
        text: of one line or more.
        width: of the room for it, inches.
        points: the size of its letters.
    """
    return "\n".join(_fold(line, width, points) for line in text.split("\n"))


def _fold(line: str, width: float, points: float) -> str:
    needed = inches(line, points)
    if needed <= width:
        return line
    # Parts differ in their letters: some are wider than the average.
    letters = max(8, int(0.93 * len(line) * width / needed))
    return textwrap.fill(line, letters, break_on_hyphens=False)


def label_axes(axes: Axes, x: str = "", y: str = "") -> None:
    """Names of axes that hold a user's words: folded, and a `$` is a currency, not a formula.

    Args:
        axes: of a figure whose size is final.
        x: of the axis below.
        y: of that at the left.
    """
    place, figure = axes.get_position(), axes.get_figure(root=True)
    assert figure is not None
    # Less than the axis: at its end may stand what its numbers are multiples of.
    axes.set_xlabel(folded(x, place.width * figure.get_figwidth() - 1.1), parse_math=False)
    axes.set_ylabel(folded(y, place.height * figure.get_figheight()), parse_math=False)


def square(axes: Axes) -> None:
    """Both axes to one scale, at the lower left of the room that the layout leaves for them.

    In the middle of it, names at the left and below would be cut off: their room is measured from
    the edge of the whole.
    """
    axes.set(aspect="equal", anchor="SW")


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
        suffixes: of the files wanted, `png`, `pdf` and `svg`, which is one to be put into a page;
            PNGs and PDFs of the same figure, of an earlier day, are removed.
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
    if "svg" in suffixes:
        path = path_of("svg")
        write_text(path, inline_svg(figure, path.stem))
