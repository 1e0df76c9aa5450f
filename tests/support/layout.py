"""Find text in a figure that is cut off at an edge, overlaps other text, or is too small."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
from matplotlib.backend_bases import RendererBase
from matplotlib.backends.backend_agg import RendererAgg
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.mathtext import MathTextParser
from matplotlib.path import Path
from matplotlib.transforms import Affine2D

from bnnbench.report.figures.plotting import DPI

PAGE_WIDTH, MIN_TEXT = 830, 9.0
"""Pixels: the width that GitHub gives to a figure, and the smallest text to read there."""

SLACK = 2.0
"""Pixels by which boxes may overlap, because text does not fill its box."""


class Recorder(RendererBase):
    """A renderer that only records the bounding boxes of lines of text.

    Attributes:
        lines: the lines of text.
        points: the sizes of their smallest letters.
        boxes: the corners `[4, 2]` of their rotated boxes, pixels from the lower left.
    """

    def __init__(self, figure: Figure) -> None:
        super().__init__()
        self.lines: list[str] = []
        self.points: list[float] = []
        self.boxes: list[np.ndarray] = []
        self.size, self.measure = figure.bbox.size, RendererAgg(8, 8, figure.dpi)

    def get_canvas_width_height(self) -> tuple[float, float]:
        return tuple(self.size)

    def points_to_pixels(self, points: float) -> float:
        return self.measure.points_to_pixels(points)

    def get_text_width_height_descent(
        self, *given: Any, **named: Any
    ) -> tuple[float, float, float]:
        return self.measure.get_text_width_height_descent(*given, **named)

    def flipy(self) -> bool:
        return False

    def draw_text(
        self, gc: Any, x: float, y: float, s: str, prop: Any, angle: float, *rest: Any, **more: Any
    ) -> None:
        if s.strip():
            ismath = rest[0] if rest else more.get("ismath", False)
            width, height, descent = self.get_text_width_height_descent(s, prop, ismath)
            low, high = SLACK - descent, height - descent - SLACK
            flat = [(SLACK, low), (width - SLACK, low), (width - SLACK, high), (SLACK, high)]
            turned = Affine2D().rotate_deg(angle).translate(x, y)
            self.lines.append(s)
            self.points.append(smallest_letter(s, prop) if ismath else prop.get_size_in_points())
            self.boxes.append(turned.transform(np.array(flat)))

    def draw_path(self, *given: Any, **more: Any) -> None:
        """Only text is recorded."""

    draw_markers = draw_path_collection = draw_image = draw_quad_mesh = draw_path


def smallest_letter(formula: str, font: FontProperties) -> float:
    """Return the size in points of the smallest letter of a formula."""
    letters = MathTextParser("path").parse(formula, 72, font).glyphs
    return min(float(size) for _, size, *_ in letters)


def drawn(figure: Figure) -> Recorder:
    """Return what drawing a figure writes."""
    figure.set_dpi(DPI)
    recorder = Recorder(figure)
    figure.draw(recorder)
    return recorder


def small_texts(figure: Figure) -> list[str]:
    """Return the lines of text that are too small to read on a page."""
    recorder, width = drawn(figure), figure.get_figwidth()
    pixels_per_point = min(PAGE_WIDTH / width, DPI) / 72
    return [
        line
        for line, points in zip(recorder.lines, recorder.points, strict=True)
        if points * pixels_per_point < MIN_TEXT
    ]


def layout_problems(figure: Figure) -> list[str]:
    """Describe every line of text that is cut off or overlaps another one."""
    recorder = drawn(figure)
    lines, boxes = recorder.lines, recorder.boxes
    low, high = (np.array([f(box, axis=0) for box in boxes]) for f in (np.min, np.max))
    size = figure.bbox.size
    cut = ((low < 0) | (high > size)).any(axis=1)
    problems = [f"{line!r} is cut off" for line, outside in zip(lines, cut, strict=True) if outside]
    shapes = [Path([*box, box[0]], closed=True) for box in boxes]
    for i, j in combinations(range(len(lines)), 2):
        near = (low[i] < high[j]).all() and (low[j] < high[i]).all()
        if near and shapes[i].intersects_path(shapes[j], filled=True):
            problems.append(f"{lines[i]!r} overlaps {lines[j]!r}")
    return problems
