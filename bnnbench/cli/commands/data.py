"""`bnnbench data fetch` and `bnnbench data verify`: the files of the UCI data sets."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bnnbench.data.archive import Status

SUMMARY = "fetch or verify the UCI data sets"

FETCH_HELP = """\
Download UCI data sets to the data folder and check every file against its published SHA-256.

Intact files are kept. Runs download data sets on first use, so this command is only needed to
download them in advance, or on a machine without internet access:

  bnnbench data fetch                        download all nine sets
  bnnbench data fetch boston yacht           download two
  bnnbench data fetch --from /media/uci      copy all nine from a folder laid out as
                                             bostonHousing/data/data.txt, concrete/data/...
"""

VERIFY_HELP = """\
Check every file of the UCI data sets against its published SHA-256.

Exit code 0: all given sets are intact; 1: at least one is corrupt or missing.

  bnnbench data verify                       check all nine sets
  bnnbench data verify boston --dir ~/uci    check one, in another folder
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the commands `data fetch` and `data verify`."""
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    fetch = _add_command(commands, "fetch", "download UCI sets to the data folder", FETCH_HELP)
    fetch.add_argument(
        "--from",
        dest="source",
        type=_folder,
        metavar="DIR",
        help="copy from DIR instead of downloading",
    )
    fetch.set_defaults(run=run_fetch)
    verify = _add_command(commands, "verify", "check the files of the UCI sets", VERIFY_HELP)
    verify.set_defaults(run=run_verify)


def run_fetch(given: argparse.Namespace) -> int:
    """Fetch the named sets, or all nine.

    Raises:
        UserError: if a name is unknown or a set cannot be downloaded.
    """
    from bnnbench.data import archive

    for name in _checked_names(given.names):
        archive.fetch([name], given.dir, given.source)
        print(f"{name}: {len(archive.checksums(name))} files intact in {given.dir}")
    return 0


def run_verify(given: argparse.Namespace) -> int:
    """Print the status of the named sets, or of all nine; return 0 if all are intact, else 1.

    Raises:
        UserError: if a name is unknown.
    """
    from bnnbench.data import archive

    found = archive.verify(_checked_names(given.names), given.dir)
    if sys.stdout.isatty():
        _print_table(found, given.dir)
    else:
        for status in found:
            print(f"{status.name}: {status.message}")
    return 0 if all(status.ok for status in found) else 1


def _print_table(found: Sequence[Status], directory: Path) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table("set", "files", title=f"UCI sets in {directory}", title_justify="left")
    for status in found:
        table.add_row(status.name, Text(status.message, style="green" if status.ok else "red"))
    Console().print(table)


def _checked_names(names: Sequence[str]) -> list[str]:
    """Return the distinct names, or all nine if none are given; raise for an unknown one."""
    from bnnbench.data import archive

    for name in names:
        archive.folder_of(name)
    return list(dict.fromkeys(names)) or list(archive.FOLDERS)


def _folder(text: str) -> Path:
    return Path(os.path.expanduser(text))


def _add_command(commands: Any, name: str, summary: str, text: str) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(
        name,
        help=summary,
        description=text,
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="data sets (default: all nine)")
    parser.add_argument(
        "--dir",
        type=_folder,
        default=os.environ.get("BNNBENCH_DATA") or "data",
        metavar="DIR",
        help="the data folder (default: $BNNBENCH_DATA, else ./data)",
    )
    return parser
