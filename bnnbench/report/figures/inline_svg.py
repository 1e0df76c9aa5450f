"""Compact SVG of a figure for embedding in a page, with tooltips."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from io import BytesIO
from xml.etree import ElementTree

import matplotlib
import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.collections import PathCollection
from matplotlib.container import BarContainer, ErrorbarContainer
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator

SVG, LINK = "http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"

LONG_NUMBER = re.compile(r"(\d+\.\d)\d+")

MAX_ENLARGEMENT = 1.1
"""Limit on the displayed size relative to the drawn size, so that small figures stay small."""

GEOMETRY = ("d", "x", "y", "width", "height", "points", "transform")
"""Attributes whose numbers are rounded to one decimal."""

MAX_POINTS = 400
"""Lines and clouds with more points have no tooltips."""

Texts = dict[str, list[str]]
"""Tooltips of the marks in each element of a figure, by element id."""


def inline_svg(figure: Figure, name: str) -> str:
    """The figure as an `<svg>` element.

    Args:
        figure: drawn once before.
        name: prefix of all ids, to keep them unique in the page.
    """
    name = name.replace(".", "_")  # a CSS selector ends at a dot
    texts = name_marks(figure)
    handle = BytesIO()
    # Keep text as text, and make ids reproducible.
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "bnnbench"}):
        figure.savefig(handle, format="svg", transparent=True, metadata={"Date": None})
    ElementTree.register_namespace("", SVG)
    ElementTree.register_namespace("xlink", LINK)
    root = ElementTree.fromstring(handle.getvalue())
    for metadata in root.findall(f"{{{SVG}}}metadata"):
        root.remove(metadata)
    _add_titles(root, texts)
    _compact(root, name)
    _share_styles(root, name)
    width = float(root.attrib["width"].removesuffix("pt"))
    root.set("style", f"width: {MAX_ENLARGEMENT * width:.0f}pt")
    for size in ("width", "height"):  # the page's style sheet sets the size
        del root.attrib[size]
    root.set("class", "figure")
    return ElementTree.tostring(root, encoding="unicode")


def _add_titles(root: ElementTree.Element, texts: Mapping[str, Sequence[str]]) -> None:
    """Add a title, which browsers show on hover, to every mark."""
    for group in root.iter(f"{{{SVG}}}g"):
        group_texts = texts.get(group.get("id", ""))
        if not group_texts:
            continue
        marks = list(group.iter(f"{{{SVG}}}use"))
        if len(marks) != len(group_texts):
            marks = [group] if len(group_texts) == 1 else []
        for mark, text in zip(marks, group_texts, strict=False):
            title = ElementTree.Element(f"{{{SVG}}}title")
            title.text = text
            mark.insert(0, title)


def _compact(root: ElementTree.Element, name: str) -> None:
    """Round numbers, drop unused ids, and prefix the others."""
    referred = {identifier for one in root.iter() for identifier in _references(one)}
    for element in root.iter():
        own = element.get("id")
        if own is not None:
            if own in referred:
                element.set("id", f"{name}-{own}")
            else:
                del element.attrib["id"]
        for key, value in list(element.attrib.items()):
            if key in GEOMETRY:
                value = LONG_NUMBER.sub(r"\1", value)
            if key == f"{{{LINK}}}href" and value.startswith("#"):
                value = f"#{name}-{value[1:]}"
            element.set(key, re.sub(r"url\(#([^)]+)\)", rf"url(#{name}-\1)", value))


def _share_styles(root: ElementTree.Element, name: str) -> None:
    """Replace repeated inline styles, half of the file, by classes."""
    styles = Counter(element.get("style") for element in root.iter() if element.get("style"))
    classes = {style: f"{name}-{k}" for k, (style, n) in enumerate(styles.most_common()) if n > 1}
    for element in root.iter():
        if element.get("style") in classes:
            element.set("class", classes[element.attrib.pop("style")])
    rules = ElementTree.Element(f"{{{SVG}}}style")
    rules.text = "".join(f".{key}{{{style}}}" for style, key in classes.items())
    root.insert(0, rules)


def _references(element: ElementTree.Element) -> list[str]:
    """The ids that an element refers to."""
    identifiers = [
        m for value in element.attrib.values() for m in re.findall(r"url\(#([^)]+)\)", value)
    ]
    link = element.get(f"{{{LINK}}}href", "")
    return [*identifiers, link[1:]] if link.startswith("#") else identifiers


def name_marks(figure: Figure) -> Texts:
    """Assign ids to all elements of a figure that represent numbers.

    Args:
        figure: drawn once before, so that its ticks are known.

    Returns:
        The tooltips of each element.
    """
    texts_by_id: Texts = {}
    for axes in figure.axes:
        for artist, texts in _marks(axes):
            key = f"mark-{len(texts_by_id)}"
            artist.set_gid(key)
            texts_by_id[key] = texts
    return texts_by_id


def _marks(axes: Axes) -> Iterator[tuple[Artist, list[str]]]:
    for container in axes.containers:
        if isinstance(container, BarContainer):
            horizontal = container.orientation == "horizontal"
            for bar in container.patches:
                x, y = bar.get_x() + bar.get_width() / 2, bar.get_y() + bar.get_height() / 2
                place = (bar.get_width(), y) if horizontal else (x, bar.get_height())
                yield bar, [_hover_text(axes, *place, "")]
    caps = {
        cap
        for container in axes.containers
        if isinstance(container, ErrorbarContainer)
        for cap in container.lines[1]
    }
    for line in axes.lines:
        if line in caps:
            continue
        if line.get_marker() not in ("None", "none", "", " ", None):
            points = np.column_stack([np.asarray(line.get_xdata()), np.asarray(line.get_ydata())])
            yield from _point_texts(axes, line, points)
        elif _label(line):
            yield line, [_label(line)]
    for cloud in axes.collections:
        if isinstance(cloud, PathCollection):
            yield from _point_texts(axes, cloud, np.asarray(cloud.get_offsets(), float))


def _point_texts(
    axes: Axes, artist: Line2D | PathCollection, points: np.ndarray
) -> Iterator[tuple[Artist, list[str]]]:
    there = np.isfinite(points.astype(float)).all(1)
    if 0 < there.sum() <= MAX_POINTS:
        yield artist, [_hover_text(axes, x, y, _label(artist)) for x, y in points[there].tolist()]


def _label(artist: Artist) -> str:
    """The artist's label, or an empty string if matplotlib generated it."""
    label = str(artist.get_label())
    return "" if label.startswith("_") else label


def _hover_text(axes: Axes, x: float, y: float, name: str) -> str:
    """`boston, vadam: 3.68` if an axis has names, else `name: x, y`."""
    first, second = _tick_name(axes.xaxis, x), _tick_name(axes.yaxis, y)
    words = [axes.get_title(), name, *(word for word in (first, second) if word)]
    values = [f"{v:.4g}" for v, word in ((x, first), (y, second)) if not word]
    return ": ".join(part for part in (", ".join(filter(None, words)), ", ".join(values)) if part)


def _tick_name(axis: Axis, value: float) -> str:
    """The tick label nearest to a value, or an empty string on a numeric axis."""
    if not isinstance(axis.get_major_locator(), FixedLocator):
        return ""
    names = [label.get_text().replace("\n", " ") for label in axis.get_ticklabels()]
    places = np.asarray(axis.get_ticklocs(), dtype=np.float64)
    if len(places) != len(names) or not any(re.search("[A-Za-z]", name) for name in names):
        return ""
    return names[int(np.abs(places - value).argmin())]
