"""`bnnbench list`: what can be chosen, with one line each."""

from __future__ import annotations

import argparse
from typing import Any

from bnnbench.cli.configs import ALL_GROUPS, offered
from bnnbench.discovery import suites

SUITES = "suite"

HELP = """\
List what `bnnbench run` and `bnnbench reproduce` can be told to do, with one line each.

  bnnbench list                    every group of settings, and the suites to reproduce
  bnnbench list method dataset     some of them

What is not bnnbench's own says whose it is: yours, by the `bnnbench.toml` of this folder or of one
above it, or that of another package.
"""


def add_parser(commands: Any) -> None:
    """Adds `bnnbench list [GROUP ...]`."""
    parser = commands.add_parser(
        "list",
        help="list methods, data sets, experiments, suites and other choices",
        description=HELP,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("groups", nargs="*", metavar="GROUP", help=", ".join((*ALL_GROUPS, SUITES)))
    parser.set_defaults(run=lambda parsed: list_command(parsed.groups))


def list_command(groups: list[str]) -> int:
    """Prints the options of the groups."""
    from bnnbench.checks import check_choice

    for group in groups:
        check_choice("list", group, (*ALL_GROUPS, SUITES))
    for group in groups or (*ALL_GROUPS, SUITES):
        found = summaries(group)
        width = max(map(len, found), default=0)
        print(group)
        for name, summary in found.items():
            print(f"  {name:{width}}  {summary}")
    return 0


def summaries(group: str) -> dict[str, str]:
    """Every option of a group, or every suite, with its summary and whose it is, if not ours."""
    if group == SUITES:
        return {suite.name: suite.summary for suite in suites()}
    return {
        name: f"{option.summary} [{option.owner}]" if option.owner else option.summary
        for name, option in offered(group).items()
    }
