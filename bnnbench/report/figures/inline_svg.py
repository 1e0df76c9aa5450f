"""Compact SVG of a figure for embedding in a page, with hover texts."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from io import BytesIO
from xml.etree import ElementTree

import matplotlib
from matplotlib.figure import Figure

from bnnbench.report.figures.hover import name_marks

SVG, LINK = "http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"
LONG_NUMBER = re.compile(r"(\d+\.\d)\d+")
MAX_ENLARGEMENT = 1.5
"""Limit on the displayed size relative to the drawn size, so that small figures stay small."""
GEOMETRY = ("d", "x", "y", "width", "height", "points", "transform")
"""Attributes whose numbers are rounded to one decimal."""


def inline_svg(figure: Figure, name: str) -> str:
    """The figure as an `<svg>` element.

    Args:
        figure: drawn once before.
        name: prefix of all ids, to keep them unique in the page.
    """
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
    root.set("style", f"max-width: {MAX_ENLARGEMENT * width:.0f}pt")
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
