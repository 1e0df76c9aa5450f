"""`bnnbench data fetch` and `bnnbench data verify`: the files of the UCI sets."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bnnbench.data.archive import Status

FETCH_HELP = """\
Put UCI data sets into the data folder, every file checked against its published SHA-256.

Files that are already there and intact are left alone. A run downloads what it needs on first
use, so this command is for fetching ahead, or for a machine without a network:

  bnnbench data fetch                        download all nine sets
  bnnbench data fetch boston yacht           download two
  bnnbench data fetch --from /media/uci      copy all nine from a folder laid out as
                                             bostonHousing/data/data.txt, concrete/data/...
"""

VERIFY_HELP = """\
Check every file of the UCI data sets against its published SHA-256.

Exit code 0: all asked-for sets are intact; 1: at least one is corrupt or absent.

  bnnbench data verify                       check all nine sets
  bnnbench data verify boston --dir ~/uci    check one, in another folder
"""


def add_parser(subparsers: Any) -> None:
    """Adds `data fetch` and `data verify`; each sets `run`, a function of the parsed arguments."""
    parser = subparsers.add_parser("data", help="fetch or verify the UCI data sets")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    fetch = _add_command(commands, "fetch", "put UCI sets into the data folder", FETCH_HELP)
    fetch.add_argument(
        "--from", dest="source", type=_folder, metavar="DIR", help="copy from DIR, do not download"
    )
    fetch.set_defaults(run=lambda args: fetch_command(args.names, args.source, args.dir))
    verify = _add_command(commands, "verify", "check the files of the UCI sets", VERIFY_HELP)
    verify.set_defaults(run=lambda args: verify_command(args.names, args.dir))


def fetch_command(names: Sequence[str], source: Path | None, directory: Path) -> int:
    """Fetches the named sets, or all nine, and says what is now there.

    Raises:
        UserError: if a name is unknown or a set cannot be had.
    """
    from bnnbench.data import archive

    for name in _known(names):
        archive.fetch([name], directory, source)
        print(f"{name}: {len(archive.checksums(name))} files intact in {directory}")
    return 0


def verify_command(names: Sequence[str], directory: Path) -> int:
    """Prints the state of the named sets, or of all nine; 0 if all are intact, else 1.

    Raises:
        UserError: if a name is unknown.
    """
    from bnnbench.data import archive

    found = archive.verify(_known(names), directory)
    if sys.stdout.isatty():
        _print_table(found, directory)
    else:
        for status in found:
            print(f"{status.name}: {status.sentence}")
    return 0 if all(status.ok for status in found) else 1


def _print_table(found: Sequence[Status], directory: Path) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table("set", "files", title=f"UCI sets in {directory}", title_justify="left")
    for status in found:
        table.add_row(status.name, Text(status.sentence, style="green" if status.ok else "red"))
    Console().print(table)


def _known(names: Sequence[str]) -> list[str]:
    """The names without repeats, all nine if there are none; `UserError` for an unknown one."""
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
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="data sets; all nine if none")
    parser.add_argument(
        "--dir",
        type=_folder,
        default=os.environ.get("BNNBENCH_DATA") or "data",
        metavar="DIR",
        help="the data folder (default: $BNNBENCH_DATA, else ./data)",
    )
    return parser
