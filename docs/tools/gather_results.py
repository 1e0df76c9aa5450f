"""Store the tables of finished runs: `python docs/tools/gather_results.py OUTPUTS [FOLDER]`.

For each experiment below OUTPUTS, `docs/results/[FOLDER/]EXPERIMENT` receives the tables of its
report, every split of every run by data set, the command that repeats each run, and the environment
of one run. Large tables are
rounded and compressed, or left out if they are still too large for git. A run on images gets the
folder that `image_folders.py` names instead, and its figures are stored. A run on the sprinkler
gets a folder below `docs/results/lam_density_ratio/sprinkler`, and its row in
`density_ratio_runs.csv` replaces that of the same settings. Run
`docs/tools/update_pages.py` and `docs/tools/figures.py` next.

Runs of code that was not committed are refused, because nobody could repeat them.
"""

from __future__ import annotations

import gzip
import shutil
import sys
import tempfile
from collections.abc import Collection
from dataclasses import replace
from itertools import chain
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import image_runs
import pandas as pd
import sprinkler_runs
from run_commands import COMMANDS, command_of
from stored_results import RESULTS

from bnnbench.experiment.store.provenance import read_environment
from bnnbench.experiment.store.record import read_record
from bnnbench.experiment.store.run_folder import RunFolder, finished_runs
from bnnbench.report.blocks import Style
from bnnbench.report.report_writer import section_functions, write_report
from bnnbench.report.sections import ALL
from bnnbench.results.read.run_tables import Runs, read_runs
from bnnbench.suites.lam_density_ratio.names import KIND as SPRINKLER
from bnnbench.types import UserError

SCORE_FORMAT = "%.7g"
"""Format of single scores: enough for every digit that is printed."""

ROUNDED = "%.4g"
"""Format of numbers in large tables."""

MAX_BYTES = 500_000
"""Size of the largest stored table. `bnnbench report` writes larger ones again."""


def gather(experiment: Path, target: Path) -> None:
    """Store the tables of one experiment's report, or of each run if it has no report.

    Runs on images are stored by `image_runs.store`, those on the sprinkler by
    `sprinkler_runs.store`.

    Raises:
        UserError: if a run is not of committed code, or is on images and has other settings than
            the stored one; what was stored before stays.
    """
    runs = read_runs(experiment)
    for folder in runs.folders.values():
        check_committed(folder)
    stores = {kind: image_runs.store for kind, rows in runs.tables.items() if "images" in rows}
    if SPRINKLER in runs.tables:
        stores[SPRINKLER] = sprinkler_runs.store
    for kind, store in stores.items():
        for run in runs.tables[kind].index:
            print(store(runs.folders[run]))
    if rest := without(runs, stores):
        store_report(rest, target)
        print(target)


def without(runs: Runs, kinds: Collection[str]) -> Runs | None:
    """Return the runs of other kinds; None if there are none."""
    tables = {kind: rows for kind, rows in runs.tables.items() if kind not in kinds}
    names = {name for rows in tables.values() for name in rows.index}
    folders = {name: folder for name, folder in runs.folders.items() if name in names}
    return replace(runs, tables=tables, folders=folders) if tables else None


def store_report(runs: Runs, target: Path) -> None:
    """Store the tables of the report on some runs, or of each run if there is no report."""
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    style = Style(sections=(ALL,))
    blocks = chain.from_iterable(section(runs, style) for section in section_functions(runs, style))
    if next(blocks, None) is not None:
        with tempfile.TemporaryDirectory() as folder:
            write_report(runs, style, Path(folder))
            copy_tables(Path(folder), target, "results.csv" if have_seeds(runs) else "*.csv")
        store_splits(runs, target)
    else:
        for run in runs.folders.values():
            copy_tables(run.root, target / run.root.parent.name)
    first = next(iter(runs.folders.values()))
    shutil.copy(first.environment, target / "machine.json")


def check_committed(folder: RunFolder) -> None:
    """Check that the code of a run, at its start and of each unit, was committed.

    Raises:
        UserError: if a commit is missing or ends with `+`, the mark of edited code.
    """
    codes = (read_environment(folder), *read_record(folder).code_versions)
    for commit in (code.get("commit") for code in codes):
        if not commit or str(commit).endswith("+"):
            found = f"its commit is {commit}" if commit else "it has no commit"
            raise UserError(
                f"{folder.root} is not a run of committed code ({found}); commit the code, run it "
                "again from a clean checkout, and store that run."
            )


def have_seeds(runs: Runs) -> bool:
    """Return whether runs repeat seeds, which are not compared with each other."""
    return "seed" in runs.scored and runs.scored["seed"].nunique() > 1


def copy_tables(source: Path, target: Path, pattern: str = "*.csv") -> None:
    """Copy the CSV files of a folder: large ones rounded and compressed, if that is enough."""
    target.mkdir(parents=True, exist_ok=True)
    for path in source.glob(pattern):
        if path.stat().st_size <= MAX_BYTES:
            shutil.copy(path, target)
            continue
        text = pd.read_csv(path).to_csv(index=False, float_format=ROUNDED)
        packed = gzip.compress(text.encode(), mtime=0)
        if len(packed) <= MAX_BYTES:
            (target / f"{path.name}.gz").write_bytes(packed)


def store_splits(runs: Runs, target: Path) -> None:
    """Write every split of every run: scores, sizes, fingerprint, hyper-parameters, seconds.

    The command of each run is written, too.

    Each data set gets a table `splits_<data set>.csv`; its column `run` is that of `results.csv`.

    Raises:
        ValueError: if a table is too large for git.
    """
    if runs.scored.empty:
        return
    for dataset, rows in runs.splits.groupby("dataset"):
        order = [name for name in runs.scored.index if name in set(rows["run"])]
        own = pd.concat([rows[rows["run"] == name] for name in order])
        own = own.drop(columns=["dataset"]).dropna(axis=1, how="all")
        own.insert(0, "run", own.pop("run"))
        path = target / f"splits_{dataset}.csv"
        own.to_csv(path, index=False, float_format=SCORE_FORMAT)
        if path.stat().st_size > MAX_BYTES:
            raise ValueError(f"{path} has {path.stat().st_size} bytes, more than {MAX_BYTES}")
    commands = [command_of(runs.folders[run]) for run in runs.scored.index]
    table = pd.DataFrame({"run": runs.scored.index, "command": commands})
    table.to_csv(target / f"{COMMANDS}.csv", index=False)


if __name__ == "__main__":
    into = RESULTS.joinpath(*sys.argv[2:])
    for path in sorted(Path(sys.argv[1]).iterdir()):
        if path.is_dir() and any(finished_runs(path)):
            try:
                gather(path, into / path.name)
            except UserError as error:
                sys.exit(str(error))
