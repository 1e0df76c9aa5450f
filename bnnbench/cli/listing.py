"""`bnnbench list`: what can be chosen, with one line each."""

from __future__ import annotations

import argparse
from typing import Any

from bnnbench.cli.configs import GROUPS, options

HELP = """\
List what `bnnbench run` can be told to do, with one line each.

  bnnbench list                    every group
  bnnbench list method dataset     some of them
"""


def add_parser(commands: Any) -> None:
    """Adds `bnnbench list [GROUP ...]`."""
    parser = commands.add_parser(
        "list",
        help="list methods, data sets, experiments and other choices",
        description=HELP,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("groups", nargs="*", metavar="GROUP", help=", ".join(GROUPS))
    parser.set_defaults(run=lambda parsed: list_command(parsed.groups))


def list_command(groups: list[str]) -> int:
    """Prints the options of the groups."""
    from bnnbench.checks import check_choice

    for group in groups:
        check_choice("list", group, GROUPS)
    for group in groups or GROUPS:
        found = options(group)
        width = max(map(len, found), default=0)
        print(group)
        for name, summary in found.items():
            print(f"  {name:{width}}  {summary}")
    return 0
