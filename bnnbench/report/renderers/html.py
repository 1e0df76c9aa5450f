"""Renders a report as one self-contained HTML file with sortable tables and SVG figures.

The pages of single runs are stored as numbers in a script element, and `templates/page.js` draws
them on demand, so that hundreds of runs fit into a few megabytes. Settings that most runs share
are stored once. Panels of points are tables whose markers are positioned by style sheets, so that
their text keeps its size on every screen and wraps; the script redraws panels of differences when
the reader picks a baseline.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from importlib.resources import files
from typing import Any

import numpy as np
from jinja2 import Environment, StrictUndefined
from latex2mathml.converter import convert
from matplotlib.ticker import MaxNLocator

from bnnbench import __version__
from bnnbench.report import templates
from bnnbench.report.blocks import (
    Block,
    DataFile,
    FigureBlock,
    Heading,
    ItemList,
    Paragraph,
    TableBlock,
)
from bnnbench.report.figures.points import Panel, Point, PointsBlock
from bnnbench.report.run_page import Chart, RunDetails
from bnnbench.results.glossary import TERMS

DIGITS = 5
"""Significant digits of numbers for the script, more than a screen can resolve."""

MAX_LINE_LENGTH = 24
"""Characters per line in text cells; longer text wraps in a wide column."""


FUNCTION_NAME = re.compile(r"<mi>(?:log|exp)</mi>(?=<m)(?!<mo)")
"""The name of a function in MathML, not before a parenthesis or an operator."""


def mathml(formula: str, display: str) -> str:
    """Return a LaTeX formula as MathML, with LaTeX's space after names of functions."""
    shown = convert(formula, display=display)
    return FUNCTION_NAME.sub(r'\g<0><mspace width="0.167em"></mspace>', shown)


def page(
    title: str, blocks: Iterable[Block], figures: Mapping[str, str], runs: Sequence[RunDetails] = ()
) -> str:
    """Render a page.

    Args:
        title: title of the page.
        blocks: contents of the page.
        figures: SVG elements by figure name.
        runs: runs with a page each, to which tables link.
    """
    blocks = list(blocks)
    items = list(_items(blocks, figures))
    headings = [item for item in items if item["kind"] == "Heading"]
    if runs:
        headings.append({"text": "All runs", "level": 2, "anchor": "runs"})
    headings.append({"text": "Definitions", "level": 2, "anchor": "definitions"})
    environment = Environment(autoescape=True, undefined=StrictUndefined)
    environment.filters["mathml"] = partial(mathml, display="block")
    return environment.from_string(_template("page.html")).render(
        title=title,
        version=__version__,
        style=_template("page.css"),
        script=_template("sort.js") + _template("page.js"),
        items=list(_in_parts(items)),
        contents=_contents(headings),
        filters=any(item["kind"] == "TableBlock" for item in items),
        run_names={run.name for run in runs},
        run_list=[
            {"name": run.name, "title": run.summary.table.title or run.name, "folder": run.folder}
            for run in runs
        ],
        terms=TERMS,
        data=_data(runs, blocks),
        long=MAX_LINE_LENGTH,
    )


def _template(name: str) -> str:
    return files(templates).joinpath(name).read_text("utf-8")


def _contents(headings: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Table of contents: headings of the first two levels, each with the headings below it."""
    contents: list[dict[str, Any]] = []
    for heading in headings:
        if heading["level"] <= 2 or not contents:
            contents.append({**heading, "below": []})
        else:
            contents[-1]["below"].append(heading)
    return contents


def _items(blocks: Iterable[Block], figures: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    """Yield the items of the template, in order."""
    anchors: Counter[str] = Counter()
    heading = "Results"
    for block in blocks:
        kind = type(block).__name__
        match block:
            case Heading():
                heading = block.text
                plain = "".join(c if c.isalnum() else "-" for c in block.text.lower())
                anchors[plain] += 1
                anchor = f"{plain}-{anchors[plain]}"
                yield {"kind": kind, "anchor": anchor, **asdict(block)}
            case Paragraph() | ItemList():
                yield {"kind": kind, **asdict(block)}
            case TableBlock():
                anchors["table"] += 1
                title = block.title or block.group
                name = f"{title or heading}, table {anchors['table']}"
                caption = title if title != heading else ""
                yield {"kind": kind, "table": block, "caption": caption, "name": name}
            case PointsBlock():
                panels = [panel_item(panel) for panel in block.panels]
                yield {"kind": kind, "caption": block.caption, "name": block.name, "panels": panels}
            case FigureBlock():
                yield {"kind": kind, "caption": block.caption, "svg": figures[block.name]}
            case DataFile():
                yield {"kind": kind, "text": block.text, "name": block.name}


def _in_parts(items: Iterable[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """Gather headings of level 3 and the text and tables below; parts are shown in columns."""
    parts: list[list[Mapping[str, Any]]] = []
    for item in items:
        if item["kind"] == "Heading" and item["level"] == 3:
            parts.append([item])
        elif parts and item["kind"] in ("Paragraph", "TableBlock"):
            parts[-1].append(item)
        else:
            if parts:
                yield {"kind": "Parts", "parts": parts}
            parts = []
            yield dict(item)
    if parts:
        yield {"kind": "Parts", "parts": parts}


def _data(runs: Sequence[RunDetails], blocks: Iterable[Block]) -> str:
    """The data for the page's script as JSON; `<` is escaped so that it cannot end the element."""
    common = _common([run.settings for run in runs])
    environments = list(dict.fromkeys(tuple(run.environment.items()) for run in runs))
    data = {
        "long": MAX_LINE_LENGTH,
        "differences": {
            block.name: script_data(block)
            for block in blocks
            if isinstance(block, PointsBlock) and any(panel.differences for panel in block.panels)
        },
        "settings": common,
        "environments": [dict(environment) for environment in environments],
        "runs": {
            run.name: {
                "folder": run.folder,
                "started": run.started,
                "table": _table(run.summary.table),
                "notes": run.summary.notes,
                "tables": [_table(table) for table in run.summary.tables],
                "charts": [_chart(chart) for chart in run.summary.charts],
                "settings": {k: v for k, v in run.settings.items() if common.get(k) != v},
                "absent": [key for key in common if key not in run.settings],
                "environment": environments.index(tuple(run.environment.items())),
            }
            for run in runs
        },
    }
    text = json.dumps(data, separators=(",", ":"), allow_nan=False, ensure_ascii=False)
    return text.replace("<", "\\u003c")


def _common(settings: Sequence[Mapping[str, str]]) -> dict[str, str]:
    """The settings whose value is the same in more than half of the runs."""
    counts = Counter(pair for one in settings for pair in one.items())
    return {key: value for (key, value), n in counts.items() if 2 * n > len(settings)}


def _table(table: TableBlock) -> dict[str, Any]:
    columns = [(column.title, column.kind == "number") for column in table.columns]
    rows = table.rows
    return {"title": table.title, "caption": table.caption, "columns": columns, "rows": rows}


def _chart(chart: Chart) -> dict[str, Any]:
    """A chart as JSON data, without points that are not finite."""
    series = []
    for one in chart.series:
        lengths = one.error or (0.0,) * len(one.x)
        points = [p for p in zip(one.x, one.y, lengths, strict=True) if all(map(math.isfinite, p))]
        if not points:
            continue
        rounded = ([float(f"{value:.{DIGITS}g}") for value in point] for point in points)
        x, y, error = zip(*rounded, strict=True)
        bars = {"error": error} if one.error else {}
        series.append({"name": one.name, "x": x, "y": y, "joined": one.joined, **bars})
    return {
        "title": chart.title, "x": chart.x, "y": chart.y, "diagonal": chart.diagonal,
        "series": series,
    }  # fmt: skip


def panel_item(panel: Panel) -> dict[str, Any]:
    """The contents of a panel for the template: its lines, ticks and centre."""
    lines = []
    for name in panel.names:
        own = [point for point in panel.points if point.name == name]
        marks = [_mark(point, panel) for point in own if math.isfinite(point.value)]
        lines.append({"name": name, "value": panel.text(own[0]), "marks": marks})
    low, high = panel.limits
    ticks = [v for v in map(float, MaxNLocator(4).tick_values(low, high)) if low <= v <= high]
    return {
        "title": panel.title,
        "lines": lines,
        "ticks": [(_percent(value, panel), f"{value:.4g}") for value in ticks],
        "centre": _percent(panel.centre, panel) if math.isfinite(panel.centre) else None,
    }


def _mark(point: Point, panel: Panel) -> dict[str, Any]:
    low, high = panel.limits
    error = point.error if math.isfinite(point.error) else 0.0
    left, right = (
        _percent(np.clip(point.value + side * error, low, high), panel) for side in (-1, 1)
    )
    kind = "published" if point.source else ("filled" if point.filled else "open")
    if not low <= point.value <= high:
        kind += " below" if point.value < low else " above"
    return {
        "kind": kind,
        "place": _percent(np.clip(point.value, low, high), panel),
        "left": left,
        "width": round(right - left, 2),
        "title": f"{panel.text(point)}, {point.source}" if point.source else "",
    }


def _percent(value: float, panel: Panel) -> float:
    low, high = panel.limits
    return round(100 * (float(value) - low) / (high - low), 2)


def script_data(block: PointsBlock) -> dict[str, Any]:
    """The differences to each baseline that the reader can pick."""
    return {"falling": block.falling, "panels": [list(_rows(panel)) for panel in block.panels]}


def _rows(panel: Panel) -> Iterator[tuple[str, str, float, float, float, int]]:
    """Yield name, baseline, difference, both ends of its interval, and whether it is significant.

    Rounded ends, unlike a rounded width, are on the same side of zero.
    """
    for a, b, difference, error, decided in panel.differences:
        numbers = difference, difference - error, difference + error
        value, low, high = (float(f"{number:.{DIGITS}g}") for number in numbers)
        yield a, b, value, low, high, int(decided)
