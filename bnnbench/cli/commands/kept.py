"""`bnnbench kept`: results that are kept for comparisons, and how to add to them."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

    from bnnbench.results.kept.edition import Edition

SUMMARY = "list kept results, add and verify runs"

DESCRIPTION = """\
List the editions of kept results, their tracks, and the cells of method and data set that they
have, with the commands that fill the others. An edition contains the scores of every split of many
methods; runs are compared within a track. See docs/how_to/kept_results.md.
"""

EXAMPLES = """\
examples:
  bnnbench kept                                the newest edition of the package
  bnnbench kept --edition kept                 the edition in the folder kept
  bnnbench kept add outputs                    add finished runs to the edition in the folder kept
  bnnbench kept verify RUN                     compute two splits of a kept run again
"""

ADD_HELP = """\
Add finished runs on published splits to an edition. Adding a run again replaces its rows if its
code is the same. Two codes under one digest of a run are refused.

Exit code 0: no run was refused; 1: at least one.
"""

VERIFY_HELP = """\
Compute random splits of a kept run again and compare their scores.

  bnnbench kept verify c6eb01208788            RUN is a value of the column run of bnnbench.kept()

Exit code 0: all scores agree to a relative difference of 1e-6; 1: they do not.
"""

DEFAULT_FOLDER = Path("kept")
"""The edition of a project."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command and its subcommands."""
    parser.add_argument(
        "--edition", metavar="EDITION", help="name or folder (default: the newest of the package)"
    )
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    add = commands.add_parser("add", help="add finished runs to an edition", description=ADD_HELP)
    add.add_argument("paths", metavar="FOLDER", nargs="+", type=Path, help="a folder of runs")
    add.add_argument(
        "--edition",
        type=Path,
        default=DEFAULT_FOLDER,
        metavar="DIR",
        help="folder of the edition, created if it does not exist (default: kept)",
    )
    add.set_defaults(run=run_add)
    verify = commands.add_parser("verify", help="compute splits again", description=VERIFY_HELP)
    verify.add_argument("kept_run", metavar="RUN", help="a value of the column run")
    verify.add_argument("--splits", type=int, default=2, metavar="N", help="how many (default: 2)")
    verify.set_defaults(run=run_verify)


def run(given: argparse.Namespace) -> int:
    """Print the editions, and tracks and cells of one.

    Raises:
        UserError: if there is no such edition.
    """
    import pandas as pd

    from bnnbench.cli.console import stdout
    from bnnbench.cli.kept_cells import cells_of
    from bnnbench.results.kept.edition import editions, find_edition, read_edition

    edition = read_edition(given.edition)
    console = stdout()
    names = list(dict.fromkeys((str(find_edition(given.edition)), *map(str, editions().values()))))
    console.print("editions:", *names, sep="\n  ", highlight=False)
    console.print(_tracks(edition))
    machines = pd.DataFrame(list(edition.runs["environment"]))[["commit", "device"]].fillna("?")
    for (commit, device), runs in machines.groupby(["commit", "device"]):
        console.print(f"{len(runs)} runs of commit {commit[:7]} on {device}", highlight=False)
    cells = cells_of(edition)
    kept = cells.table.rename_axis("method").reset_index()
    console.print(_table("splits kept under the published protocol", kept))
    for method, reason in cells.reasons.items():
        console.print(f"n/a: {method} {reason}", highlight=False)
    if cells.commands:
        console.print("\nto fill the missing cells:", highlight=False)
    for line in (*cells.commands, "bnnbench kept add outputs"):
        print(f"  {line}")
    return 0


def run_add(given: argparse.Namespace) -> int:
    """Add runs to an edition and print what became of them; return 1 if any was refused.

    Raises:
        UserError: if the edition is damaged, or a folder has no finished runs.
    """
    from bnnbench.config.published_protocol import use_published_protocols
    from bnnbench.notes import one_line
    from bnnbench.results.kept.write import add

    use_published_protocols()
    result = add(given.edition, *given.paths)
    print(
        f"{given.edition}: {len(result.added)} runs added, {len(result.replaced)} replaced, "
        f"{len(result.unchanged)} unchanged, {result.skipped} on other data"
    )
    for fault in result.faults:
        print(f"refused: {one_line(fault)}")
    return int(bool(result.faults))


def run_verify(given: argparse.Namespace) -> int:
    """Print kept scores next to those of a new computation; return 1 if they differ.

    Raises:
        UserError: if there is no such run, or its settings cannot be composed.
    """
    from bnnbench.cli.console import stdout
    from bnnbench.cli.kept_verification import verify_run
    from bnnbench.constraints import check_int
    from bnnbench.results.kept.edition import read_edition

    check_int("--splits", given.splits, minimum=1)
    found = verify_run(read_edition(given.edition), given.kept_run, given.splits)
    formats = {"kept": "{:.7g}", "now": "{:.7g}", "difference": "{:.1e}"}
    texts = {name: found.table[name].map(form.format) for name, form in formats.items()}
    stdout().print(_table(f"run {given.kept_run}", found.table.assign(**texts)))
    if found.code_differs:
        print("the run was computed by other code than this version's")
    print("the scores agree" if found.equal else "the scores differ")
    return 0 if found.equal else 1


def _tracks(edition: Edition) -> Any:
    from bnnbench.results.kept.tracks import TRACKS

    title = f"tracks of edition {edition.name}"
    ranked = (edition.runs["unranked"] == "").groupby(edition.runs["track"])
    counts = ranked.agg(["size", "sum"]).reindex(list(TRACKS), fill_value=0)
    table = counts.assign(description=list(TRACKS.values())).reset_index()
    columns = dict(zip(table, ["track", "runs", "in ranks", "description"], strict=True))
    return _table(title, table.rename(columns=columns))


def _table(title: str, frame: pd.DataFrame) -> Any:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(*map(str, frame.columns), title=title, title_justify="left", box=SIMPLE_HEAD)
    for row in frame.astype(str).itertuples(index=False):
        table.add_row(*row)
    return table
