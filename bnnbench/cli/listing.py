"""`bnnbench list`: what can be chosen, with one line each, or one choice as a whole."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from bnnbench.cli.absent import close_to
from bnnbench.cli.configs import ALL_GROUPS, offered
from bnnbench.cli.one_option import described
from bnnbench.discovery import suites
from bnnbench.types import UserError

SUITES, METRICS = "suite", "metric"
"""What is listed besides groups of settings: metrics only where they are asked for."""

HELP = """\
List what `bnnbench run` and `bnnbench reproduce` can be told to do, with one line each, or show
one of it with its settings.

  bnnbench list                    every group of settings, and the suites to reproduce
  bnnbench list methods datasets   some of them
  bnnbench list vadam              one option: what it is, and its settings with their comments
  bnnbench list prior laplace      one that there is in several groups
  bnnbench list metrics            every score, for `bnnbench report --metric`

What is not bnnbench's own says whose it is: yours, by the `bnnbench.toml` of this folder or of one
above it, or that of another package.
"""


LISTED = (*ALL_GROUPS, SUITES, METRICS)

PLURALS = {f"{group}{'es' if group.endswith(('s', 'ch')) else 's'}": group for group in LISTED}

SEE_GLOSSARY = "formulas, and every other number: docs/glossary.md, glossary.md beside a report"


def add_parser(commands: Any) -> None:
    """Adds `bnnbench list [GROUP | OPTION ...]`."""
    parser = commands.add_parser(
        "list",
        help="list methods, data sets, experiments, suites and other choices",
        description=HELP,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "words", nargs="*", metavar="GROUP or OPTION", help=f"groups: {', '.join(LISTED)}"
    )
    parser.set_defaults(run=lambda parsed: list_command(parsed.words))


def list_command(words: Sequence[str]) -> int:
    """Prints the options of groups, and each option that is named as a whole.

    Raises:
        UserError: if a word is neither.
    """
    wanted = asked(words) if words else [(group, "") for group in (*ALL_GROUPS, SUITES)]
    print("\n".join(_option(group, name) if name else _group(group) for group, name in wanted))
    return 0


def asked(words: Sequence[str]) -> list[tuple[str, str]]:
    """Groups, each with the name of an option or with none, which stands for all of them.

    Args:
        words: a group or its plural, followed by options of it or not, or the name of an option,
            which is looked for in every group.

    Raises:
        UserError: naming the first that is neither.
    """
    found: list[tuple[str, str]] = []
    group = ""
    for word in words:
        if word in (*LISTED, *PLURALS):
            group = PLURALS.get(word, word)
            found.append((group, ""))
        elif group and word in summaries(group):
            if found[-1] == (group, ""):  # those that follow are meant, and not all
                found.pop()
            found.append((group, word))
        else:
            group = ""
            found += _everywhere(word)
    return found


def names() -> list[str]:
    """Every word that `bnnbench list` knows, but plurals."""
    return list(dict.fromkeys([*LISTED, *(name for group in LISTED for name in summaries(group))]))


def _everywhere(word: str) -> list[tuple[str, str]]:
    """The option in every group that has one of this name."""
    found = [(group, word) for group in LISTED if word in summaries(group)]
    if not found:
        close = close_to(word, [*names(), *PLURALS])
        hint = f"did you mean {close}?" if close else f"the groups are {', '.join(LISTED)}."
        raise UserError(f"`bnnbench list` knows no group and no option {word!r}; {hint}")
    return found


def _group(group: str) -> str:
    found = summaries(group)
    width = max(map(len, found), default=0)
    lines = [group, *(f"  {name:{width}}  {summary}" for name, summary in found.items())]
    return "\n".join([*lines, *([SEE_GLOSSARY] if group == METRICS else [])])


def _option(group: str, name: str) -> str:
    if group in (SUITES, METRICS):
        return f"{group} {name}: {summaries(group)[name]}"
    return f"{described(group, name, offered(group)[name])}\n"


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
