"""Renders a report as one self-contained HTML file with sortable tables and SVG figures.

The pages of single runs are stored as numbers in a script element, and `templates/page.js` draws
them on demand, so that hundreds of runs fit into a few megabytes. Settings that most runs share
are stored once.
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

from jinja2 import Environment, StrictUndefined
from latex2mathml.converter import convert

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
from bnnbench.report.points import PointsBlock
from bnnbench.report.renderers.html_points import panel_item, script_data
from bnnbench.report.run_page import Chart, RunDetails
from bnnbench.results.glossary import TERMS

CHART_DIGITS = 5
"""Significant digits of numbers in charts, more than a screen can resolve."""

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
        rounded = ([float(f"{value:.{CHART_DIGITS}g}") for value in point] for point in points)
        x, y, error = list(zip(*rounded, strict=True)) or ((), (), ())
        bars = {"error": error} if one.error else {}
        series.append({"name": one.name, "x": x, "y": y, "joined": one.joined, **bars})
    nonempty = [one for one in series if one["x"]]
    return {
        "title": chart.title, "x": chart.x, "y": chart.y, "diagonal": chart.diagonal,
        "series": nonempty,
    }  # fmt: skip
