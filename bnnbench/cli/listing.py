"""`bnnbench list`: what can be chosen, with one line each."""

from __future__ import annotations

import argparse
from typing import Any

from bnnbench.cli.configs import ALL_GROUPS, offered
from bnnbench.discovery import suites

SUITES, METRICS = "suite", "metric"
"""What is listed besides groups of settings: metrics only where they are asked for."""

HELP = """\
List what `bnnbench run` and `bnnbench reproduce` can be told to do, with one line each.

  bnnbench list                    every group of settings, and the suites to reproduce
  bnnbench list method dataset     some of them
  bnnbench list metric             every score, for `bnnbench report --metric`

What is not bnnbench's own says whose it is: yours, by the `bnnbench.toml` of this folder or of one
above it, or that of another package.
"""


LISTED = (*ALL_GROUPS, SUITES, METRICS)

SEE_GLOSSARY = "formulas, and every other number: docs/glossary.md, glossary.md beside a report"


def add_parser(commands: Any) -> None:
    """Adds `bnnbench list [GROUP ...]`."""
    parser = commands.add_parser(
        "list",
        help="list methods, data sets, experiments, suites and other choices",
        description=HELP,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("groups", nargs="*", metavar="GROUP", help=", ".join(LISTED))
    parser.set_defaults(run=lambda parsed: list_command(parsed.groups))


def list_command(groups: list[str]) -> int:
    """Prints the options of the groups."""
    from bnnbench.checks import check_choice

    for group in groups:
        check_choice("list", group, LISTED)
    for group in groups or (*ALL_GROUPS, SUITES):
        found = summaries(group)
        width = max(map(len, found), default=0)
        print(group)
        for name, summary in found.items():
            print(f"  {name:{width}}  {summary}")
        if group == METRICS:
            print(SEE_GLOSSARY)
    return 0


def summaries(group: str) -> dict[str, str]:
    """Every option of a group, or every suite, with its summary and whose it is, if not ours."""
    if group == SUITES:
        return {suite.name: suite.summary for suite in suites()}
    if group == METRICS:
        return metrics()
    return {
        name: f"{option.summary} [{option.owner}]" if option.owner else option.summary
        for name, option in offered(group).items()
    }


def metrics() -> dict[str, str]:
    """Every score, with its unit and what it is."""
    from bnnbench.results.glossary import term_of
    from bnnbench.results.metrics import METRICS as KNOWN

    units = {"target": "target's unit", "nats": "nats", "s": "s"}
    found = {}
    for metric in KNOWN:
        term = term_of(metric.key)
        said = (
            term.summary if term and term.key == metric.key else f"{metric.title} time of a split"
        )
        found[metric.key] = f"{said} [{units[metric.unit]}, {metric.better} is better]"
    return found
