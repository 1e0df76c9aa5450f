"""Summary, settings and environment of each run, for the run pages of the HTML report."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from bnnbench.experiment.run_folder import RunFolder, read_environment
from bnnbench.report.run_output import find_run_page
from bnnbench.report.run_page import RunPage
from bnnbench.report.run_summary import RunSummary
from bnnbench.results.reader import Runs


@dataclass(frozen=True)
class RunDetails:
    """Details of one run.

    Attributes:
        name: the digest of the run, the target of links in the report.
        folder: path of the run folder relative to the report.
        summary: results and charts.
        settings: all settings that affect the results, by dotted name.
        environment: software and hardware that computed the results.
        started: start time, ISO 8601.
    """

    name: str
    folder: str
    summary: RunSummary
    settings: Mapping[str, str]
    environment: Mapping[str, str]
    started: str


def run_details(runs: Runs, report_root: Path, with_charts: bool = True) -> Iterator[RunDetails]:
    """Yield the details of every run whose kind of experiment has a page.

    Args:
        runs: from `read_runs`.
        report_root: the folder of the report.
        with_charts: whether to include charts; False for pages with the run's figures.
    """
    for kind, table in runs.tables.items():
        page = find_run_page(kind)
        if page is None:
            continue
        summaries = (
            page.summarise(runs, with_charts) if page.summarise else _summarise(page, runs, table)
        )
        for name, summary in summaries:
            folder = runs.folders[name]
            environment = _environment(folder)
            yield RunDetails(
                name,
                os.path.relpath(folder.root, report_root),
                summary,
                {key: str(value) for key, value in table.at[name, "settings"].items()},
                environment,
                environment.pop("started", ""),
            )


def _summarise(page: RunPage, runs: Runs, table: pd.DataFrame) -> Iterator[tuple[str, RunSummary]]:
    for name in map(str, table.index):
        folder = runs.folders[name]
        yield name, RunSummary(page.table(folder), tuple(page.notes(folder)))


def _environment(folder: RunFolder) -> dict[str, str]:
    """The environment of the last session of a run."""
    stored = read_environment(folder)
    versions = stored.get("versions")
    words = ", ".join(f"{k} {v}" for k, v in versions.items()) if isinstance(versions, dict) else ""
    plain = {key: str(value) for key, value in stored.items() if not isinstance(value, dict | list)}
    return {**plain, "versions": words}
