"""`bnnbench trust`: allows the code of a project to run."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path

from bnnbench.types import UserError

SUMMARY = "allow the code of a project of your own to run"

DESCRIPTION = """\
Allow bnnbench to use the project in FOLDER: to read the YAML files and import the modules in the
folders that its bnnbench.toml names. Inspect them first if somebody else wrote them.

The path and a digest of bnnbench.toml are recorded in ~/.config/bnnbench/trusted.json. After a
change of bnnbench.toml, run the command again; after a change of the modules, this is not needed.
In scripts and containers, set the environment variable BNNBENCH_TRUST=FOLDER[:FOLDER] instead,
which also covers all folders below. See docs/explanation/trust.md.
"""


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument(
        "folder",
        metavar="FOLDER",
        nargs="?",
        type=Path,
        default=Path(),
        help="the folder with the bnnbench.toml (default: this one)",
    )


def run(arguments: Namespace) -> int:
    """Record the trust, and print what it covers.

    Raises:
        UserError: if there is no project, or it belongs to another user.
    """
    from bnnbench.discovery import FILE, read_project
    from bnnbench.trust import record_trust

    file = arguments.folder.resolve() / FILE
    if not file.is_file():
        message = f"{file} does not exist; give the folder of a {FILE}."
        raise UserError(message, "FOLDER", "no_file")
    found = read_project(file)
    record_trust(file)
    print(f"trusted: {file}")
    for folder in dict.fromkeys((*found.config_dirs, *found.path)):
        print(f"  {folder}")
    return 0
