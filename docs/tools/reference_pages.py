"""The pages of the reference results: tables, a page per data set, and a page per method.

Only the documentation site has them, because their tables are sorted by a script.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from figures import png, ranks_and_times_figure
from reference_results import METRICS, Track, as_json, best_on, mean_ranks, ranks_and_times, tracks

from bnnbench.cli.reference_cells import MISSING as EMPTY
from bnnbench.cli.reference_cells import cells_of
from bnnbench.notes import with_interval
from bnnbench.report import templates
from bnnbench.report.blocks import MISSING, format_number, plus_minus
from bnnbench.report.pair_tables import p_value_text
from bnnbench.results.metrics import BY_KEY, Metric
from bnnbench.results.reference.results import ReferenceResults

TEMPLATES = Path(__file__).parent / "reference_results"

REFERENCE = re.compile(r"<!-- reference (\w+) -->")
"""Where the main page shows a part of the results."""

WIDE = "---\nhide:\n  - toc\n---"
"""Front matter of pages with wide tables."""

PARETO_CAPTION = (
    "Mean rank by log-likelihood against the CPU time of a split (search, fit and prediction; "
    "geometric mean over data sets), divided by that of map. The line joins the "
    "methods that no other method beats in both."
)

SORT = """\
for (const table of document.querySelectorAll(".reference-results table")) sortable(table);
"""

MACHINE = {"Processor": "processor", "Cores": "cores", "Commit": "commit"}
"""Headings of the table of machines, and the keys of an environment."""

Cells = Mapping[str, str]
"""Cells of a row in HTML, by heading."""


def pages(results: ReferenceResults) -> dict[str, str | bytes]:
    """Return the generated files of reference results, by path."""
    found = tracks(results)
    names = {part: sorted(results.runs[part].unique()) for part in ("dataset", "method")}
    parts = main_page(results, found)
    index = (TEMPLATES / "index.template").read_text()
    made: dict[str, str | bytes] = {
        "index.md": REFERENCE.sub(lambda match: parts[match[1]], index),
        "reference_results.css": (TEMPLATES / "reference_results.css").read_text(),
        "reference_results.json": json.dumps(as_json(found), indent=1),
        "sort.js": (files(templates) / "sort.js").read_text("utf-8") + SORT,
        **{f"data/{name}.md": dataset_page(name, found) for name in names["dataset"]},
        **{f"methods/{name}.md": method_page(results, name, found) for name in names["method"]},
    }
    for track in found:
        if (points := ranks_and_times(track)) is not None:
            made[f"pareto_{track.name}.png"] = png(ranks_and_times_figure(points))
    return {f"reference_results/{name}": content for name, content in made.items()}


def navigation(paths: Iterable[str]) -> list[Any]:
    """Return the entries of the navigation for the generated pages."""
    titles = {"Data sets": "reference_results/data/", "Methods": "reference_results/methods/"}
    groups = {title: [p for p in paths if p.startswith(start)] for title, start in titles.items()}
    return ["reference_results/index.md", *({title: group} for title, group in groups.items())]


def page(title: str, *parts: str) -> str:
    """Return the page of a data set or a method."""
    assets = '<link rel="stylesheet" href="../../reference_results.css">\n'
    script = '<script src="../../sort.js"></script>\n'
    explained = "Columns are explained [with the reference results](../index.md)."
    return "\n\n".join([WIDE, f"# {title}", assets, explained, *parts, script])


def html_table(rows: Iterable[Cells], text: Iterable[str], faint: Iterable[bool] = ()) -> str:
    """Return a sortable table.

    Args:
        rows: their cells; all have the same headings.
        text: headings of columns that are sorted as text.
        faint: which rows are grey; none by default.
    """
    rows, words = list(rows), set(text)
    kinds = {name: "" if name in words else ' class="number"' for name in rows[0]}
    head = "".join(f'<th scope="col"{kind}>{escape(name)}</th>' for name, kind in kinds.items())
    marks = [' class="faint"' if grey else "" for grey in faint] or [""] * len(rows)
    body = "\n".join(
        f"<tr{mark}>{''.join(f'<td{kinds[name]}>{cell}</td>' for name, cell in row.items())}</tr>"
        for mark, row in zip(marks, rows, strict=True)
    )
    table = f"<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody>\n</table>"
    return f'<div class="reference-results" tabindex="0">\n{table}\n</div>'


def link(address: str, name: str) -> str:
    """Return a link to a page."""
    return f'<a href="{escape(address)}/">{escape(name)}</a>'


def main_page(results: ReferenceResults, found: list[Track]) -> dict[str, str]:
    """Return what the marks `<!-- reference NAME -->` of the main page stand for."""
    parts = [part for track in found for part in track_parts(track)]
    return {
        "tracks": "\n\n".join(parts),
        "missing": "\n\n".join(missing_cells(results)),
    }


def note(text: str) -> str:
    """Return the cell of a note."""
    return f'<span class="note">{escape(text)}</span>' if text else ""


def track_parts(track: Track) -> Iterator[str]:
    """Yield the tables of a track and its figure of ranks and times."""
    yield f"## Track {track.name}\n\n{track.description[0].upper()}{track.description[1:]}."
    for metric in METRICS:
        yield f"### {track.name}: {metric.inline_title}"
        yield track_table(track, metric)
    if ranks_and_times(track) is not None:
        yield f"![Mean rank against CPU time](pareto_{track.name}.png)\n\n*{PARETO_CAPTION}*"


def track_table(track: Track, metric: Metric) -> str:
    """Return the table of a track and a metric: a row per label, a column per data set."""
    rows = track.tables[metric.key]
    ranks, over = mean_ranks(rows, metric)
    wins, datasets = best_on(rows), sorted(rows["dataset"].unique())
    lines, faint = [], []
    for label, own in rows.groupby("label"):
        method, ranked = own["method"].iloc[0], (own["note"] == "").any()
        scores = {row["dataset"]: score(row) for row in own.to_dict("records")}
        lines.append(
            {
                "Method": link(f"methods/{method}", str(label)),
                "Mean rank": format_number(ranks.get(method, np.nan), ".1f") if ranked else MISSING,
                "Best on": f"{wins[method]} of {(own['note'] == '').sum()}" if ranked else MISSING,
                **{name: scores.get(name, MISSING) for name in datasets},
                "Tuned": ", ".join(own["tuning"].unique()),
                "Note": note(", ".join(filter(None, own["note"].unique()))),
            }
        )
        faint.append(not ranked)
    order = np.argsort([ranks.get(own, np.inf) for own in rows.groupby("label")["method"].first()])
    table = html_table(
        [lines[k] for k in order], ("Method", "Tuned", "Note"), [faint[k] for k in order]
    )
    links = ", ".join(f"[{name}](data/{name}.md)" for name in datasets)
    return f"Ranks over {', '.join(over)}. Data sets: {links}.\n\n{table}"


def score(row: Mapping[str, Any]) -> str:
    """Return the cell of a run: mean, standard error, and its outcome against the best."""
    outcome = "best" if row["rank"] == 1 else row["outcome"]
    return f"{plus_minus(row['mean'], row['stderr'])}<small>{outcome or MISSING}</small>"


def dataset_page(dataset: str, found: list[Track]) -> str:
    """Return the page of a data set: differences to the best of each track."""
    parts = ["Differences are those to the best ranked method, with intervals of 95 %."]
    for track in found:
        for metric in METRICS:
            rows = track.tables[metric.key]
            own = rows[rows["dataset"] == dataset]
            if len(own):
                table = difference_table(own, "../../methods")
                parts += [f"## Track {track.name}: {metric.inline_title}", table]
    return page(dataset, *parts)


def difference_table(rows: pd.DataFrame, methods: str) -> str:
    """Return the runs on a data set with a plot of their differences to the best."""
    reach = rows[["low", "high"]].abs().max(axis=1)
    limit = float(1.2 * reach.quantile(0.8)) if reach.notna().any() else 1.0
    lines = [
        {
            "Method": link(f"{methods}/{row['method']}", row["label"]),
            "Mean ± se": plus_minus(row["mean"], row["stderr"]),
            "Rank": format_number(row["rank"], ".3g"),
            "Difference": difference_text(row),
            "Plot": dot(row, limit),
            "Holm": p_value_text(row["p_holm"]),
            "Outcome": row["outcome"] or MISSING,
            "Detectable": format_number(row["detectable"], ".2g"),
            "CPU / map": format_number(row["ratio"], ".2g"),
            "Tuned": row["tuning"],
            "Note": note(row["note"]),
        }
        for row in rows.to_dict("records")
    ]
    text = ("Method", "Plot", "Outcome", "Tuned", "Note")
    return html_table(lines, text, rows["note"] != "")


def difference_text(row: Mapping[str, Any]) -> str:
    """Return a difference and its interval, or a dash."""
    known = np.isfinite(row["difference"])
    return with_interval(row["difference"], row["low"], row["high"]) if known else MISSING


def dot(row: Mapping[str, Any], limit: float) -> str:
    """Return a dot with its interval between -limit and limit; what is beyond ends at the edge."""
    if not np.isfinite(row["difference"]):
        return ""
    places = np.array([row["low"], row["difference"], row["high"]])
    low, middle, high = np.clip(100 * places / limit, -98, 98)
    text = escape(difference_text(row))
    return (
        f'<svg viewBox="-100 -10 200 20" role="img" aria-label="{text}" stroke="currentColor">'
        '<path d="M0 -10V10" stroke-dasharray="2 2" opacity="0.5"/>'
        f'<path d="M{low:.1f} 0H{high:.1f}" stroke-width="2"/>'
        f'<circle cx="{middle:.1f}" cy="0" r="4" fill="currentColor"/></svg>'
    )


def method_page(results: ReferenceResults, method: str, found: list[Track]) -> str:
    """Return the page of a method: its scores, times, records and settings."""
    parts = []
    for track in found:
        rows = {key: table[table["method"] == method] for key, table in track.tables.items()}
        first = next(iter(rows.values()))
        lines = [
            {
                "Data set": link(f"../../data/{row['dataset']}", row["dataset"]),
                **{BY_KEY[key].heading: score(own.loc[run]) for key, own in rows.items()},
                "CPU / map": format_number(row["ratio"], ".2g"),
                "Splits": str(row["splits"]),
                "Tuned": row["tuning"],
                "Fits": str(results.runs.loc[run, "fits"]),
                "Run": f"<code>{run}</code>",
                "Note": note(row["note"]),
            }
            for run, row in first.to_dict("index").items()
        ]
        if lines:
            text = ("Data set", "Tuned", "Run", "Note")
            parts += [f"## Track {track.name}", html_table(lines, text, first["note"] != "")]
    return page(method, *parts, *settings(results, method))


def settings(results: ReferenceResults, method: str) -> list[str]:
    """Return the settings that all runs of a method share, and their machines."""
    runs = results.runs[results.runs["method"] == method]
    every = [run["settings"] for run in runs.to_dict("records")]
    shared = {
        name: value
        for name, value in sorted(every[0].items())
        if not name.endswith("class")
        and name.split(".")[0] not in ("dataset", "table")
        and all(other.get(name) == value for other in every)
    }
    lines = escape("\n".join(f"{name}: {value}" for name, value in shared.items()))
    machines = {
        tuple(escape(str(machine.get(key, MISSING))) for key in MACHINE.values())
        for machine in runs["environment"]
    }
    return [
        f"## Settings\n\nThose that all its runs share:\n\n<pre><code>{lines}</code></pre>",
        "## Machines",
        html_table([dict(zip(MACHINE, row, strict=True)) for row in sorted(machines)], MACHINE),
    ]


def missing_cells(results: ReferenceResults) -> list[str]:
    """Return the matrix of splits, and the commands that fill its empty cells."""
    cells = cells_of(results)
    lines = [
        {"Method": f"<code>{name}</code>", **{d: fill(str(name), d, n) for d, n in row.items()}}
        for name, row in cells.table.to_dict("index").items()
    ]
    reasons = "\n".join(f"- `{method}` {reason}" for method, reason in cells.reasons.items())
    commands = [*cells.commands, "bnnbench reference add outputs"]
    return [
        html_table(lines, ("Method",)),
        reasons,
        "These commands fill all empty cells; with `--dry-run`, they print how long that takes:",
        "```sh\n" + "\n".join(commands) + "\n```",
    ]


def fill(method: str, dataset: str, splits: str) -> str:
    """Return a cell of the matrix; an empty one has the command that fills it as its title."""
    command = f"bnnbench run method={method} dataset={dataset}"
    return f'<span title="{command}">{MISSING}</span>' if splits == EMPTY else splits
