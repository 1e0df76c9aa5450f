"""Layout and style of figures, and saving them, in parallel processes where that is safe.

Figures are built without pyplot: no global state, no display.
"""

from __future__ import annotations

import math
import tempfile
import textwrap
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from html import escape
from pathlib import Path
from traceback import extract_tb
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.mathtext import MathTextParser
from matplotlib.textpath import text_to_path

from bnnbench.experiment.store.run_folder import FIGURE_FORMATS
from bnnbench.files import remove, write_atomically, write_text
from bnnbench.forks import run_in_forks
from bnnbench.notes import note
from bnnbench.report.figures.inline_svg import inline_svg
from bnnbench.types import UserError

PALETTE = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#5B3A00", "#999999")
"""Eight colours that are distinct with any colour vision: those of Okabe & Ito (2008), with brown
instead of yellow, which is hardly visible on white, and grey instead of black."""

BLUE, ORANGE, GREY = PALETTE[0], PALETTE[5], "#666666"

MARKERS = "osD^vP*X"

PlotOptions = dict[str, Any]
"""Keyword arguments of matplotlib functions."""

METADATA: Mapping[str, PlotOptions] = {"png": {"Software": None}, "pdf": {"CreationDate": None}}
"""Metadata to omit by file type, because it would change with the date or the version."""

DPI = 150
"""Resolution of PNG files, dots per inch."""

SMALL_POINTS, MEDIUM_POINTS = 8.33, 10.0
"""Font sizes in points that matplotlib calls small and medium."""

MAX_WIDTH, MAX_LOG_WIDTH = 10.6, 8.9
"""Inches. At this width small text, or the exponents of a logarithmic axis, are 9 pixels high on a
page that shows figures 830 pixels wide, as GitHub does."""

STYLE: dict[Any, Any] = {
    key: value for key, value in matplotlib.rcParamsDefault.items() if key != "backend"
}
"""Settings of matplotlib in our figures. A program that uses bnnbench may have set others."""

LEGEND_MARGIN = 0.72
"""Inches that a legend column needs in addition to its text: the marker and padding."""


def new_figure(
    width: float, height: float, columns: int = 1, rows: int = 1
) -> tuple[Figure, list[Axes]]:
    """Create a figure of this size in inches, at most `MAX_WIDTH`, and its panels row by row."""
    figure = Figure(figsize=(min(width, MAX_WIDTH), height), layout="constrained")
    panels = list(figure.subplots(rows, columns, squeeze=False).ravel())
    for axes in panels:
        axes.spines[["top", "right"]].set_visible(False)
    return figure, panels


def panel_grid(
    rows: int,
    columns: int,
    panel: tuple[float, float],
    margin: tuple[float, float],
    min_width: float = 0.0,
    max_columns: int | None = None,
) -> tuple[Figure, np.ndarray]:
    """Create panels `[rows, columns]`. Columns beyond `MAX_WIDTH` continue below the others.

    Args:
        rows: number of rows.
        columns: number of columns.
        panel: width and height of a panel, inches.
        margin: width of the figure, and height of each block of rows, to add in inches.
        min_width: inches that the legend needs.
        max_columns: panels next to each other, if fewer than fit.
    """
    fitting = max(1, int((MAX_WIDTH - margin[0]) / panel[0] + 1e-9))
    below = -(-columns // min(columns, fitting, max_columns or columns))
    wide = -(-columns // below)
    width, height = panel[0] * wide + margin[0], (panel[1] * rows + margin[1]) * below
    figure, panels = new_figure(max(min_width, width), height, wide, rows * below)
    grid = np.array(panels, object).reshape(below, rows, wide).swapaxes(0, 1).reshape(rows, -1)
    for axes in grid[:, columns:].flat:
        axes.set_visible(False)
    return figure, grid[:, :columns]


def is_leftmost(axes: Axes) -> bool:
    """Whether a panel is the first of its row."""
    place = axes.get_subplotspec()
    return place is not None and place.is_first_col()


def small_multiples(
    count: int,
    max_columns: int,
    panel: tuple[float, float],
    margin: tuple[float, float],
    min_width: float = 0.0,
) -> tuple[Figure, list[Axes]]:
    """Create panels in rows of at most `max_columns`; the last row may have gaps.

    The sizes are those of `panel_grid`, but the height of `margin` is added once.
    """
    figure, grid = panel_grid(1, count, panel, (margin[0], 0.0), min_width, max_columns)
    figure.set_figheight(figure.get_figheight() + margin[1])
    return figure, list(grid[0])


def panel_title(axes: Axes, text: str, width: float, size: str = "small") -> None:
    """Add a title to a panel, wrapped to a width in inches."""
    points = {"small": SMALL_POINTS, "medium": MEDIUM_POINTS}[size]
    axes.set_title(wrap_text(text, width, points), fontsize=size, parse_math=False)


def marker_styles(axes: Axes, names: Sequence[str], **options: Any) -> dict[str, PlotOptions]:
    """Colour and marker by name; the next marker is used when all colours are taken.

    Args:
        axes: gets a legend entry for each name.
        names: in the order of the legend.
        options: of the markers in the legend.
    """
    colours = len(PALETTE)
    styles: dict[str, PlotOptions] = {
        name: {"color": PALETTE[k % colours], "marker": MARKERS[k // colours % len(MARKERS)]}
        for k, name in enumerate(names)
    }
    for name, style in styles.items():
        axes.plot([], [], label=name, linestyle="none", **options, **style)
    return styles


def legend(figure: Figure, axes: Axes | Sequence[Axes], columns: int = 4, title: str = "") -> None:
    """Add a legend above the panels and increase the height of the figure accordingly.

    Args:
        figure: its size must be final except for the legend.
        axes: one panel or more. Labels that occur in several panels are listed once.
        columns: maximum number of columns; long names reduce it.
        title: printed in grey above the entries.
    """
    panels = [axes] if isinstance(axes, Axes) else axes
    handles: dict[str, Any] = {}
    for panel in panels:
        for handle, name in zip(*panel.get_legend_handles_labels(), strict=True):
            handles.setdefault(name, handle)
    width = figure.get_figwidth()
    names = [wrap_text(name, width - LEGEND_MARGIN) for name in handles]
    longest = max((text_width(line) for name in names for line in name.split("\n")), default=0.0)
    columns = max(1, min(columns, int(width / (longest + LEGEND_MARGIN))))
    rows = -(-sum(name.count("\n") + 1 for name in names) // columns)
    figure.set_figheight(figure.get_figheight() + 0.22 * max(0, rows - 2))
    box = figure.legend(
        handles.values(),
        names,
        loc="outside upper center",
        ncols=columns,
        frameon=False,
        title=wrap_text(title, width - 0.3, SMALL_POINTS) or None,
        title_fontsize=SMALL_POINTS,
    )
    box.get_title().set(color=GREY, parse_math=False, multialignment="center")


def add_title(figure: Figure, title: str) -> None:
    """Add a title in grey above the panels of a figure without a legend."""
    if title:
        text = wrap_text(title, figure.get_figwidth() - 0.3, SMALL_POINTS)
        figure.suptitle(text, fontsize=SMALL_POINTS, color=GREY, parse_math=False)


@cache
def text_width(text: str, points: float = MEDIUM_POINTS) -> float:
    """The width of a line of text in inches."""
    font = FontProperties(size=points)
    width: float = text_to_path.get_text_width_height_descent(text, font, ismath=False)[0]
    return width / 72


def wrap_text(text: str, width: float, points: float = MEDIUM_POINTS) -> str:
    """Wrap each line of a string to fit a width.

    `width` is in inches.
    """
    return "\n".join(_wrap_line(line, width, points) for line in text.split("\n"))


def _wrap_line(line: str, width: float, points: float) -> str:
    needed = text_width(line, points)
    if needed <= width:
        return line
    # The margin allows for parts of the line with wider letters than average.
    letters = max(8, int(0.93 * len(line) * width / needed))
    return textwrap.fill(line, letters, break_on_hyphens=False)


def label_axes(axes: Axes, x: str = "", y: str = "") -> None:
    """Label axes with user-provided text: wrapped, and with `$` as a currency sign.

    The size of the figure must be final.
    """
    place, figure = axes.get_position(), axes.get_figure(root=True)
    assert figure is not None
    # Leave room for a scientific-notation offset at the end of the axis.
    axes.set_xlabel(wrap_text(x, place.width * figure.get_figwidth() - 1.1), parse_math=False)
    axes.set_ylabel(wrap_text(y, place.height * figure.get_figheight()), parse_math=False)


def set_equal_axes(axes: Axes) -> None:
    """Use the same scale on both axes, anchored at the lower left.

    If the panel were centred, tick labels would be cut off, because the layout reserves space for
    them at the edge of the figure.
    """
    axes.set(aspect="equal", anchor="SW")


def show_images(axes: Axes, images: np.ndarray, columns: int, title: str = "") -> None:
    """Draw images as one grid, whose axes are in units of images, with a margin around each.

    Args:
        axes: the panel.
        images: `[N, D]`, square images from 0 to their maximum, in rows of the grid.
        columns: of the grid; N is a multiple of it.
        title: of the panel.
    """
    side = math.isqrt(images.shape[1])
    padded = np.pad(images.reshape(-1, side, side), ((0, 0), (1, 1), (1, 1)))
    rows = len(images) // columns
    grid = padded.reshape(rows, columns, side + 2, -1).swapaxes(1, 2).reshape(rows * (side + 2), -1)
    axes.imshow(grid, cmap="gray_r", interpolation="nearest", extent=(0, columns, rows, 0))
    axes.set_title(title, fontsize="small")
    axes.set(xticks=[], yticks=[])
    axes.spines[:].set_visible(True)
    for k in range(1, columns):
        axes.axvline(k, color=GREY, linewidth=0.5)
    for k in range(1, rows):
        axes.axhline(k, color=GREY, linewidth=0.5)


def line_style(index: int, dashes: tuple[str, str, str]) -> PlotOptions:
    """Colour and dash style of a line: eight colours with the first style, then the next style."""
    colours = len(PALETTE)
    return {"color": PALETTE[index % colours], "linestyle": dashes[index // colours % len(dashes)]}


def is_math(text: str) -> bool:
    """Whether a text contains a formula that matplotlib can draw."""
    if text.count("$") < 2:
        return False
    try:
        MathTextParser("path").parse(text)
    except ValueError:
        return False
    return True


def save_figure(
    figure: Figure, path_of: Callable[[str], Path], suffixes: Sequence[str] = tuple(METADATA)
) -> None:
    """Write a figure. Equal figures give identical files.

    Args:
        figure: the figure. It is laid out once for all its files.
        path_of: returns the path for a suffix.
        suffixes: of the files to write: `png`, `pdf`, and `svg` for embedding in a page. Existing
            PNG and PDF files with other suffixes are removed.
    """
    figure.set_dpi(DPI)
    if layout := figure.get_layout_engine():
        layout.execute(figure)
        figure.set_layout_engine(None)
    for suffix, metadata in METADATA.items():
        if suffix not in suffixes:
            remove(path_of(suffix))
            continue
        with matplotlib.rc_context({"pdf.fonttype": 42}):
            write_atomically(
                path_of(suffix), partial(figure.savefig, format=suffix, dpi=DPI, metadata=metadata)
            )
    if "svg" in suffixes:
        path = path_of("svg")
        write_text(path, inline_svg(figure, path.stem))


Draw = Callable[[], Figure]


def save_figures(
    functions: Mapping[str, Draw],
    path_of: Callable[[str, str], Path],
    suffixes: Sequence[str] = FIGURE_FORMATS["both"],
    processes: int = 1,
) -> dict[str, str]:
    """Draw and save figures.

    Args:
        functions: draw the figures, by name.
        path_of: returns the path for a name and a suffix.
        suffixes: of the files to write, as for `plotting.save_figure`.
        processes: number of processes, including this one.

    Returns:
        A sentence for each figure that cannot be drawn, by name.

    Raises:
        OSError: if a file cannot be written.
    """
    calls = [
        partial(_save, name, draw, partial(path_of, name), suffixes)
        for name, draw in functions.items()
    ]
    errors = zip(functions, run_in_forks(calls, processes), strict=True)
    return {name: error for name, error in errors if error}


def describe_error(error: BaseException) -> str:
    """Return an error in words, with its place in the code unless it is one of the user."""
    if isinstance(error, UserError | OSError):
        return str(error)
    frame = extract_tb(error.__traceback__)[-1]
    return f"{frame.filename}, line {frame.lineno}: {type(error).__name__}: {error}"


def save_and_inline(
    functions: Mapping[str, Draw],
    path_of: Callable[[str, str], Path] | None = None,
    suffixes: Sequence[str] = (),
    processes: int = 1,
) -> dict[str, str]:
    """Draw figures once, save them, and return them as SVG for embedding in a page.

    The arguments are those of `save_figures`; without `path_of` no files are saved.

    Returns:
        The `<svg>` elements by name, or a paragraph that says why a figure cannot be drawn.
    """
    with tempfile.TemporaryDirectory() as temporary:

        def path(name: str, suffix: str) -> Path:
            if path_of is None or suffix == "svg":
                return Path(temporary) / f"{name}.{suffix}"
            return path_of(name, suffix)

        errors = save_figures(functions, path, (*suffixes, "svg"), processes)
        for error in errors.values():
            note(error)
        return {
            name: f"<p>{escape(errors[name])}</p>"
            if name in errors
            else path(name, "svg").read_text("utf-8")
            for name in functions
        }


def _save(name: str, draw: Draw, path_of: Callable[[str], Path], suffixes: Sequence[str]) -> str:
    with matplotlib.rc_context(STYLE):
        try:
            figure = draw()
        except (Exception, SystemExit) as error:
            return f"the figure {name} cannot be drawn: {describe_error(error)}"
        try:
            save_figure(figure, path_of, suffixes)
        except OSError:  # the disk is full, or the folder is not writable
            raise
        except Exception as error:
            return f"the figure {name} cannot be drawn: {describe_error(error)}"
    return ""
