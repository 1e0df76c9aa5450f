"""A figure as SVG that a page holds in itself: small, with the numbers of its marks on hover."""

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
LARGER = 1.5
"""Times as large as it was drawn a figure may be shown: one of a single bar stays small."""
GEOMETRY = ("d", "x", "y", "width", "height", "points", "transform")
"""Attributes whose numbers a tenth of a point is fine enough for."""


def inline_svg(figure: Figure, name: str) -> str:
    """The figure as an `<svg>` element.

    Args:
        figure: laid out and drawn once.
        name: begins every id, since a page has several figures.
    """
    texts = name_marks(figure)
    handle = BytesIO()
    # Letters stay letters, and the same figure has the same ids.
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "bnnbench"}):
        figure.savefig(handle, format="svg", transparent=True, metadata={"Date": None})
    ElementTree.register_namespace("", SVG)
    ElementTree.register_namespace("xlink", LINK)
    root = ElementTree.fromstring(handle.getvalue())
    for metadata in root.findall(f"{{{SVG}}}metadata"):
        root.remove(metadata)
    _tell(root, texts)
    _tidy(root, name)
    _share_styles(root, name)
    width = float(root.attrib["width"].removesuffix("pt"))
    root.set("style", f"max-width: {LARGER * width:.0f}pt")
    for size in ("width", "height"):  # the page says how large it is up to there
        del root.attrib[size]
    root.set("class", "figure")
    return ElementTree.tostring(root, encoding="unicode")


def _tell(root: ElementTree.Element, texts: Mapping[str, Sequence[str]]) -> None:
    """Puts a title, which browsers show on hover, into every mark."""
    for group in root.iter(f"{{{SVG}}}g"):
        said = texts.get(group.get("id", ""))
        if not said:
            continue
        marks = list(group.iter(f"{{{SVG}}}use"))
        holders = marks if len(marks) == len(said) else [group] if len(said) == 1 else []
        for holder, text in zip(holders, said, strict=False):
            title = ElementTree.Element(f"{{{SVG}}}title")
            title.text = text
            holder.insert(0, title)


def _tidy(root: ElementTree.Element, name: str) -> None:
    """Shorter numbers, and ids that only this figure has."""
    referred = {found for one in root.iter() for found in _references(one)}
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
    """Says a look once that many elements have: half of a figure's letters are looks."""
    looks = Counter(element.get("style") for element in root.iter() if element.get("style"))
    classes = {look: f"{name}-{k}" for k, (look, n) in enumerate(looks.most_common()) if n > 1}
    for element in root.iter():
        if element.get("style") in classes:
            element.set("class", classes[element.attrib.pop("style")])
    rules = ElementTree.Element(f"{{{SVG}}}style")
    rules.text = "".join(f".{known}{{{look}}}" for look, known in classes.items())
    root.insert(0, rules)


def _references(element: ElementTree.Element) -> list[str]:
    """Ids that an element refers to."""
    found = [m for value in element.attrib.values() for m in re.findall(r"url\(#([^)]+)\)", value)]
    link = element.get(f"{{{LINK}}}href", "")
    return [*found, link[1:]] if link.startswith("#") else found
