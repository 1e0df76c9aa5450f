"""Gathers what experiments left: `python docs/tools/update_results.py OUTPUTS [FOLDER]`.

Into `docs/results`, or the folder of that name in it.

Each experiment's report goes to a folder of its name, with every split of every run in a table for
each data set, so that each mean can be computed again; PDF twins of the figures, and tables too
large for git, stay behind. Then `docs/tools/update_readme.py` carries the numbers into the pages.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pandas as pd

from bnnbench.experiment.run_folder import RunFolder, finished_runs
from bnnbench.report.folder import ReportFolder
from bnnbench.report.overview import found_sections, write_report
from bnnbench.report.section import Style
from bnnbench.results.reader import Runs, read_runs

RESULTS = Path(__file__).parents[1] / "results"

DIGITS = "%.7g"
"""Of the scores of single splits: enough for every digit that is printed."""

LARGEST = 500_000
"""Bytes of a table; what is larger follows from the runs, and `bnnbench report` writes it again."""


def gather(experiment: Path, target: Path) -> None:
    """The report over the runs of a folder, or each run's own tables and figures."""
    shutil.rmtree(target, ignore_errors=True)
    runs = read_runs(experiment)
    if any(section(runs, Style()) for section in found_sections()):
        publish(runs, target)
        keep_splits(runs, target)
    else:
        for folder in runs.folders.values():
            show(folder, target / folder.root.parent.name)
    first = next(iter(runs.folders.values()))
    shutil.copy(first.environment, target / "machine.json")


def publish(runs: Runs, target: Path) -> None:
    """A report without what git should not hold; the page says where that is to be had."""
    report = write_report(runs, to=target)
    report.glossary.unlink()
    link_glossary(report)
    for twin in (*target.glob("*.pdf"), report.html):
        twin.unlink()
    for table in target.glob("*.csv"):
        if table.stat().st_size > LARGEST:
            table.unlink()
            leave_out(report, table.name)


def link_glossary(report: ReportFolder) -> None:
    """Turns the page's link to its glossary into one to that of the pages."""
    name = report.glossary.name
    pages = os.path.relpath(RESULTS.parent, report.root)
    page = report.page.read_text().replace(f"]({name}", f"]({pages}/{name}")
    report.page.write_text(page)


def keep_splits(runs: Runs, target: Path) -> None:
    """Every split of every run: scores, sizes, fingerprint, chosen hyper-parameters, seconds.

    A table for each data set, `splits_<data set>.csv`, whose column `run` is that of `results.csv`.

    Raises:
        ValueError: if one is too large for git.
    """
    if runs.scored.empty:
        return
    for dataset, rows in runs.splits.groupby("dataset"):
        order = [name for name in runs.scored.index if name in set(rows["run"])]
        own = pd.concat([rows[rows["run"] == name] for name in order])
        own = own.drop(columns=["dataset"]).dropna(axis=1, how="all")
        first = own.pop("run")
        own.insert(0, "run", first)
        path = target / f"splits_{dataset}.csv"
        own.to_csv(path, index=False, float_format=DIGITS)
        if path.stat().st_size > LARGEST:
            raise ValueError(f"{path} has {path.stat().st_size} bytes, more than {LARGEST}")


def leave_out(report: ReportFolder, name: str) -> None:
    """Turns the page's link to a table into a word on who writes it."""
    page = report.page.read_text()
    said = f"`{name}`, which `bnnbench report` writes"
    report.page.write_text(page.replace(f"[{name}]({name})", said))


def show(folder: RunFolder, target: Path) -> None:
    """What one run shows by itself: its figures, and the tables that they are drawn from."""
    target.mkdir(parents=True)
    for figure in folder.figure("", "png").parent.glob("*.png"):
        shutil.copy(figure, target)
        shutil.copy(folder.table(figure.stem), target)


if __name__ == "__main__":
    into = RESULTS.joinpath(*sys.argv[2:])
    for path in sorted(Path(sys.argv[1]).iterdir()):
        if path.is_dir() and any(finished_runs(path)):
            gather(path, into / path.name)
            print(f"{path.name}: {into / path.name}")
