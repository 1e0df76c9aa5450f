"""Help: its layout, and the part of `bnnbench run --help` that depends on the configuration."""

from __future__ import annotations

import argparse
import re
import shutil
from collections.abc import Mapping, Sequence
from itertools import groupby

from bnnbench.config.configs import CONFIG_NAME, config_folder
from bnnbench.files import read_text
from bnnbench.notes import fold

MAX_COLUMNS = 100
"""Longer lines of prose are hard to read."""

COMMAND = "bnnbench "
"""What an entry that is a command begins with."""


class HelpFormatter(argparse.HelpFormatter):
    """Lays out descriptions with `layout`, and folds the help of options between words."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=help_columns())

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return layout(text, width)

    def _split_lines(self, text: str, width: int) -> list[str]:
        return fold(" ".join(text.split()), width).splitlines()

    def _format_action(self, action: argparse.Action) -> str:
        """Format an action; commands without the line that only says COMMAND."""
        if isinstance(action, argparse._SubParsersAction):
            return "".join(map(self._format_action, action._get_subactions()))
        return super()._format_action(action)


def help_columns() -> int:
    """Return the number of characters of a line of help."""
    return min(shutil.get_terminal_size().columns, MAX_COLUMNS)


def layout(text: str, columns: int) -> str:
    """Fold a text of paragraphs and of entries, which are indented by two spaces.

    Two or more spaces separate the term of an entry from its text. Lines that are indented further
    continue it. The texts of adjacent entries are aligned where they take the fewest lines; that of
    a longer term is below it. A long command continues after a backslash, so it can be copied.
    """
    lines = text.strip("\n").split("\n")
    parts = groupby(lines, lambda line: (line.startswith("  "), bool(line)))
    return "\n".join(
        _entries([*own], columns) if is_entry else fold(" ".join(own), columns)
        for (is_entry, _), own in parts
    )


def _entries(lines: Sequence[str], columns: int) -> str:
    """Fold adjacent entries."""
    entries = _split(lines)
    lengths = {len(term) for term, text in entries if text}
    places = sorted(length + 4 for length in lengths if length <= columns // 2) or [columns // 3]
    found = (
        "\n".join(_entry(term, text, place, columns) for term, text in entries) for place in places
    )
    return min(found, key=lambda text: text.count("\n"))


def _split(lines: Sequence[str]) -> list[tuple[str, str]]:
    """Return the term and the text of each entry."""
    entries = re.split(r"\n(?=  \S)", "\n".join(lines))
    parts = (re.split(r"\s{2,}", entry.strip(), maxsplit=1) for entry in entries)
    return [(term, " ".join(" ".join(text).split())) for term, *text in parts]


def _entry(term: str, text: str, place: int, columns: int) -> str:
    """Return an entry whose text begins at a column."""
    if term.startswith(COMMAND):
        with_values = re.sub(r"( --?[\w-]+) (?=[^-])", "\\1\0", term)
        head = fold(f"  {with_values}", columns - 2, 6).replace("\n", " \\\n").replace("\0", " ")
    else:
        head = fold(f"  {term}", columns, 4)
    if not text:
        return head
    if len(term) + 4 > place:
        return f"{head}\n{fold(' ' * place + text, columns, place)}"
    return fold(f"{head:{place}}{text}", columns, place)


SHOWN = (
    *("seed", "splits", "workers", "outputs_dir", "resume", "figures", "data_dir"),
    *("search.iterations", "training.epochs", "training.final_epochs", "training.batch_size"),
    *("training.learning_rate", "network.width", "evaluation.samples"),
)
"""Settings that a new user may want to change."""

GROUPS_TITLE = "choose an option of a group with GROUP=OPTION:"

SETTINGS_TITLE = (
    "change a setting with KEY=VALUE, such as one of these (with their current values):"
)

READ_ON = """\
see also:
  bnnbench list GROUP       the options of a group, such as `bnnbench list method`
  bnnbench list OPTION      one option and its settings, such as `bnnbench list vadam`
  bnnbench run --cfg job    all settings and their values; add --resolve to see what they refer to
  docs/reference            methods, data sets, divergences, metrics, output files
"""


def describe_choices(
    groups: Mapping[str, Sequence[str]], values: Mapping[str, str], columns: int
) -> str:
    """Return the options of every group, and settings with their values and explanations."""
    comments = default_comments()
    options = [f"  {group}  {', '.join(names)}" for group, names in groups.items()]
    settings = [f"  {key}={value}  {comments[key]}" for key, value in values.items()]
    lines = [GROUPS_TITLE, *options, "", SETTINGS_TITLE, *settings, "", READ_ON]
    return layout("\n".join(lines), columns)


def default_comments() -> dict[str, str]:
    """Return the comment of each setting of the main file and of its default options."""
    import yaml

    main = read_text(config_folder() / f"{CONFIG_NAME}.yaml")
    found = setting_comments(main)
    chosen = (entry for entry in yaml.safe_load(main)["defaults"] if isinstance(entry, dict))
    for group, name in (pair for entry in chosen for pair in entry.items()):
        text = read_text(config_folder() / group / f"{name}.yaml")
        prefix = "" if text.startswith("# @package _global_") else f"{group}."
        found |= {f"{prefix}{key}": comment for key, comment in setting_comments(text).items()}
    return found


def setting_comments(text: str) -> dict[str, str]:
    """Return the comment of each setting of a YAML text: at the end of its line, or above it."""
    found: dict[str, str] = {}
    keys: list[str] = []
    above: list[str] = []
    for line in text.splitlines():
        if line.lstrip().startswith("#"):
            above.append(line.lstrip(" #"))
            continue
        setting = re.match(r"( *)(\w+):.*?(?:  # (.*))?$", line)
        if setting:
            keys[len(setting[1]) // 2 :] = [setting[2]]
            found[".".join(keys)] = setting[3] or " ".join(above)
        above = []
    return found
