"""Everything that a report's page says of each run, with its settings and where it was computed."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from bnnbench.experiment.run_folder import RunFolder, read_environment
from bnnbench.report.page import Page
from bnnbench.report.pages import pages
from bnnbench.report.shown import Shown
from bnnbench.results.reader import Runs


@dataclass(frozen=True)
class RunDetails:
    """One run.

    Attributes:
        name: its digest, by which tables of a report link to it.
        folder: where it lies, as seen from the report.
        shown: its numbers and charts.
        settings: all that could change a number, by dotted name.
        environment: what the numbers were computed with.
        started: when, ISO 8601.
    """

    name: str
    folder: str
    shown: Shown
    settings: Mapping[str, str]
    environment: Mapping[str, str]
    started: str


def details_of(runs: Runs, seen_from: Path, with_charts: bool = True) -> Iterator[RunDetails]:
    """Of every run whose kind has a page.

    Args:
        runs: of `read_runs`.
        seen_from: the folder of the report.
        with_charts: not on a page that has the run's figures.
    """
    for kind, table in runs.tables.items():
        page = pages().get(kind)
        if page is None:
            continue
        shown = page.many(runs, with_charts) if page.many else _one_by_one(page, runs, table)
        for name, one in shown:
            folder = runs.folders[name]
            environment = _environment(folder)
            yield RunDetails(
                name,
                os.path.relpath(folder.root, seen_from),
                one,
                {key: str(value) for key, value in table.at[name, "settings"].items()},
                environment,
                environment.pop("started", ""),
            )


def _one_by_one(page: Page, runs: Runs, table: pd.DataFrame) -> Iterator[tuple[str, Shown]]:
    for name in map(str, table.index):
        folder = runs.folders[name]
        yield name, Shown(page.table(folder), tuple(page.notes(folder)))


def _environment(folder: RunFolder) -> dict[str, str]:
    """As it was written, but for what earlier sessions of the run were computed with."""
    found = read_environment(folder)
    versions = found.get("versions")
    words = ", ".join(f"{k} {v}" for k, v in versions.items()) if isinstance(versions, dict) else ""
    plain = {key: str(value) for key, value in found.items() if not isinstance(value, dict | list)}
    return {**plain, "versions": words}
