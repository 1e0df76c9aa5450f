"""`bnnbench reference`: results of many methods to compare with, and how to add to them."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bnnbench.report.renderers.terminal import Grid
    from bnnbench.results.reference.results import ReferenceResults

SUMMARY = "list reference results, add and verify runs"

DESCRIPTION = """\
List the reference results, which are the scores of many methods on every split: their tracks, which
methods have results on which data sets, and the commands that compute the missing ones. Runs are
compared within a track. See docs/how_to/reference_results.md.
"""

EXAMPLES = """\
examples:
  bnnbench reference                           the reference results of bnnbench
  bnnbench reference --folder mine             those in the folder mine
  bnnbench reference add outputs               add finished runs to the folder reference
  bnnbench reference add a b --folder mine     add the runs in two folders to the folder mine
  bnnbench reference verify RUN                compute two splits of a reference run again
"""

ADD_HELP = """\
Add finished runs on published splits to a folder of reference results. Adding a run again replaces
its rows if its code is the same. Different rows from another version of the code are refused.

Exit code 0: no run was refused; 1: at least one.
"""

VERIFY_HELP = """\
Compute random splits of a reference run again and compare their scores.

  bnnbench reference verify c6eb01208788       RUN is a value of the column run of
                                               bnnbench.reference()

Exit code 0: all scores agree to a relative difference of 1e-6; 1: they do not.
"""

DEFAULT_FOLDER = Path("reference")
"""The reference results of a project."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command and its subcommands."""
    option: dict[str, Any] = {"metavar": "DIR", "type": Path}
    text = "folder of reference results (default: those of bnnbench)"
    parser.add_argument("--folder", help=text, **option)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    add = commands.add_parser("add", help="add finished runs", description=ADD_HELP)
    add.add_argument("paths", metavar="FOLDER", nargs="+", type=Path, help="a folder of runs")
    add.set_defaults(run=run_add)
    verify = commands.add_parser("verify", help="compute splits again", description=VERIFY_HELP)
    verify.add_argument("reference_run", metavar="RUN", help="a value of the column run")
    verify.add_argument(
        "--splits", type=int, default=2, metavar="N", help="number of splits (default: 2)"
    )
    verify.set_defaults(run=run_verify)
    option["default"] = argparse.SUPPRESS  # --folder is accepted before and after the command
    verify.add_argument("--folder", help=text, **option)
    text = "folder to add to, created if it does not exist (default: reference)"
    add.add_argument("--folder", help=text, **option)


def run(arguments: argparse.Namespace) -> int:
    """Print the tracks and cells of reference results.

    Raises:
        UserError: if the folder has none.
    """
    import pandas as pd

    from bnnbench.cli.console import stdout
    from bnnbench.cli.reference_runs import cells_of
    from bnnbench.notes import quantity
    from bnnbench.report.renderers.terminal import Prose, frame_grid
    from bnnbench.results.reference.results import read_reference_results

    results = read_reference_results(arguments.folder)
    console = stdout()
    console.print(_tracks(results))
    machines = pd.DataFrame(list(results.runs["environment"]))[["commit", "device"]].fillna("?")
    for (commit, device), runs in machines.groupby(["commit", "device"]):
        edited = " with edits" * commit.endswith("+")
        origin = f"commit {commit[:7]}{edited} on {device}"
        console.print(Prose(f"{quantity(len(runs), 'run')} of {origin}", indent=2))
    cells = cells_of(results)
    table = cells.table.rename_axis("method").reset_index()
    console.print(frame_grid(table, ("method",), "splits under the published protocol"))
    for method, reason in cells.reasons.items():
        console.print(Prose(f"n/a: {method} {reason}", indent=2))
    if cells.commands:
        print("\nto fill the missing cells:")
    for line in (*cells.commands, "bnnbench reference add outputs"):
        print(f"  {line}")
    return 0


def run_add(arguments: argparse.Namespace) -> int:
    """Add runs to reference results and print the outcome; return 1 if any was refused.

    Raises:
        UserError: if the reference results are damaged, or a folder has no finished runs.
    """
    from bnnbench.notes import one_line, print_folded, quantity
    from bnnbench.results.reference.write import add

    folder = arguments.folder or DEFAULT_FOLDER
    result = add(folder, *arguments.paths)
    counts = (
        f"{folder}: {quantity(len(result.added), 'run')} added, {len(result.replaced)} replaced, "
        f"{len(result.unchanged)} unchanged, {result.skipped} on other data"
    )
    for line in (counts, *(f"refused: {one_line(fault)}" for fault in result.faults)):
        print_folded(line, 2)
    return int(bool(result.faults))


def run_verify(arguments: argparse.Namespace) -> int:
    """Print reference scores next to those of a new computation; return 1 if they differ.

    Raises:
        UserError: if there is no such run, or its settings cannot be composed.
    """
    from bnnbench.cli.console import stdout
    from bnnbench.cli.reference_runs import verify_run
    from bnnbench.constraints import check_int
    from bnnbench.report.renderers.terminal import frame_grid
    from bnnbench.results.reference.results import read_reference_results

    check_int("--splits", arguments.splits, minimum=1)
    found = verify_run(
        read_reference_results(arguments.folder), arguments.reference_run, arguments.splits
    )
    formats = {"reference": "{:.7g}", "now": "{:.7g}", "difference": "{:.1e}"}
    texts = {name: found.table[name].map(form.format) for name, form in formats.items()}
    table = found.table.assign(**texts)
    stdout().print(frame_grid(table, ("split", "score"), f"run {arguments.reference_run}"))
    if found.other_code:
        print(f"the reference run was computed with {found.other_code}")
    print("the scores agree" if found.equal else "the scores differ")
    return 0 if found.equal else 1


def _tracks(results: ReferenceResults) -> Grid:
    from bnnbench.report.renderers.terminal import frame_grid
    from bnnbench.results.reference.tracks import TRACKS

    title = f"reference results in {results.folder}"
    ranked = (results.runs["unranked"] == "").groupby(results.runs["track"])
    counts = ranked.agg(["size", "sum"]).reindex(list(TRACKS), fill_value=0)
    table = counts.assign(description=list(TRACKS.values())).reset_index()
    columns = dict(zip(table, ["track", "runs", "in ranks", "description"], strict=True))
    return frame_grid(table.rename(columns=columns), ("track", "description"), title)
