"""The report as one HTML file that needs no network: tables to sort and filter, figures as SVG.

The pages of single runs are numbers in a script element, which `templates/page.js` draws when one
is opened: hundreds of runs fit into a few megabytes. What all runs have in common is said once.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from importlib.resources import files
from typing import Any

from jinja2 import Environment, StrictUndefined

from bnnbench import __version__
from bnnbench.report import templates
from bnnbench.report.run_details import RunDetails
from bnnbench.report.section import (
    Block,
    Data,
    Drawing,
    Heading,
    Items,
    Paragraph,
    Section,
    Table,
)
from bnnbench.report.shown import Chart
from bnnbench.results.glossary import TERMS

DIGITS = 5
"""Of a chart's numbers: more than a screen has points."""

LONG = 24
"""Characters that a cell of words has on one line; more are folded, in a wide column."""


def page(
    title: str,
    sections: Iterable[Section],
    figures: Mapping[str, str],
    runs: Sequence[RunDetails] = (),
) -> str:
    """The whole page.

    Args:
        title: of the window.
        sections: of the report.
        figures: SVG elements, by the names of their drawings.
        runs: to each of which tables may link.
    """
    blocks = [block for section in sections for block in section.blocks]
    items = list(_items(blocks, figures))
    template = Environment(autoescape=True, undefined=StrictUndefined).from_string(
        _part("page.html")
    )
    return template.render(
        title=title,
        version=__version__,
        style=_part("page.css"),
        script=_part("page.js"),
        items=items,
        contents=_contents([*(item for item in items if item["kind"] == "Heading"), *_last(runs)]),
        filters=any(item["kind"] == "Table" for item in items),
        run_names={run.name for run in runs},
        run_list=[
            {"name": run.name, "title": run.shown.table.title or run.name, "folder": run.folder}
            for run in runs
        ],
        terms=TERMS,
        data=_data(runs),
        long=LONG,
    )


def _part(name: str) -> str:
    return files(templates).joinpath(name).read_text("utf-8")


def _last(runs: Sequence[RunDetails]) -> Iterator[dict[str, Any]]:
    if runs:
        yield {"text": "Every run", "level": 2, "anchor": "runs"}
    yield {"text": "How each number is defined", "level": 2, "anchor": "definitions"}


def _contents(headings: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Headings of the first two levels, each with those below it: nine data sets stay one entry."""
    found: list[dict[str, Any]] = []
    for heading in headings:
        if heading["level"] <= 2 or not found:
            found.append({**heading, "below": []})
        else:
            found[-1]["below"].append(heading)
    return found


def _items(blocks: Iterable[Block], figures: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    """What the template shows, one after the other."""
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
            case Paragraph() | Items():
                yield {"kind": kind, **asdict(block)}
            case Table():
                anchors["table"] += 1
                said = block.title or block.group
                name = f"{said or heading}, table {anchors['table']}"
                caption = said if said != heading else ""
                yield {"kind": kind, "table": block, "caption": caption, "name": name}
            case Drawing():
                yield {"kind": kind, "caption": block.caption, "svg": figures[block.name]}
            case Data():
                yield {"kind": kind, "text": block.text, "name": block.name}


def _data(runs: Sequence[RunDetails]) -> str:
    """What the script reads; nothing in it can end its element."""
    common = _common([run.settings for run in runs])
    environments = list(dict.fromkeys(tuple(run.environment.items()) for run in runs))
    found = {
        "long": LONG,
        "settings": common,
        "environments": [dict(environment) for environment in environments],
        "runs": {
            run.name: {
                "folder": run.folder,
                "started": run.started,
                "table": _table(run.shown.table),
                "notes": run.shown.notes,
                "tables": [_table(table) for table in run.shown.tables],
                "charts": [_chart(chart) for chart in run.shown.charts],
                "settings": {k: v for k, v in run.settings.items() if common.get(k) != v},
                "absent": [key for key in common if key not in run.settings],
                "environment": environments.index(tuple(run.environment.items())),
            }
            for run in runs
        },
    }
    text = json.dumps(found, separators=(",", ":"), allow_nan=False, ensure_ascii=False)
    return text.replace("<", "\\u003c")


def _common(settings: Sequence[Mapping[str, str]]) -> dict[str, str]:
    """The value that most runs have, of every setting that most of them have."""
    counts = Counter(pair for one in settings for pair in one.items())
    return {key: value for (key, value), n in counts.items() if 2 * n > len(settings)}


def _table(table: Table) -> dict[str, Any]:
    columns = [(column.title, column.holds == "numbers") for column in table.columns]
    rows = table.rows
    return {"title": table.title, "caption": table.caption, "columns": columns, "rows": rows}


def _chart(chart: Chart) -> dict[str, Any]:
    """With points that have a place alone."""
    series = []
    for one in chart.series:
        lengths = one.error or (0.0,) * len(one.x)
        points = [p for p in zip(one.x, one.y, lengths, strict=True) if all(map(math.isfinite, p))]
        x, y, error = ([_rounded(value) for value in column] for column in _columns(points))
        bars = {"error": error} if one.error else {}
        series.append({"name": one.name, "x": x, "y": y, "joined": one.joined, **bars})
    shown = [one for one in series if one["x"]]
    return {
        "title": chart.title, "x": chart.x, "y": chart.y, "diagonal": chart.diagonal,
        "series": shown,
    }  # fmt: skip


def _columns(points: Sequence[tuple[float, ...]]) -> Iterator[tuple[float, ...]]:
    return zip(*points, strict=True) if points else iter(((), (), ()))


def _rounded(value: float) -> float:
    return float(f"{value:.{DIGITS}g}")
