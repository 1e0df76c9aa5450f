"""`bnnbench list`: the options of config groups, the suites and the metrics, and one option."""

from __future__ import annotations

import ast
import re
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping, Sequence
from importlib.util import find_spec
from itertools import groupby
from pathlib import Path
from textwrap import indent

from bnnbench.cli.help import help_columns, layout
from bnnbench.config.configs import GROUPS, Option, config_folder, find_options
from bnnbench.discovery import is_own_module, suites
from bnnbench.files import read_text
from bnnbench.near_names import closest_match
from bnnbench.notes import fold, shorten, terminal_columns
from bnnbench.results.reference.relative_costs import (
    BASE,
    RelativeCost,
    cost_cell,
    cost_footnotes,
    describe_cost,
    relative_costs,
)
from bnnbench.types import UserError

SUITES, METRICS = "suite", "metric"
"""Listed in addition to config groups."""

SUMMARY = "list methods, data sets, experiments, suites and other options"

DESCRIPTION = """\
List or describe the options of `bnnbench run` and the suites of `bnnbench reproduce`.

  bnnbench list                    the names of all options, by group, and of all suites
  bnnbench list methods datasets   the options of some groups, with a line about each; methods with
                                   their CPU time relative to map, from stored runs
  bnnbench list vadam              one option: its class, and its settings with their comments
  bnnbench list prior laplace      an option whose name occurs in several groups
  bnnbench list suite NAME         the experiments of a suite, with their settings
  bnnbench list metrics            all scores, for `bnnbench report --metric`

Options that are not part of bnnbench are followed by their origin: [yours] if they are found
through the `bnnbench.toml` of this folder, otherwise the name of their package in brackets.
"""

LISTABLE = (*GROUPS, SUITES, METRICS)

PLURALS = {f"{group}{'es' if group.endswith(('s', 'ch')) else 's'}": group for group in LISTABLE}

OVERVIEW_NOTE = """\
In parentheses: variants of the option before them, with other settings.

  bnnbench list GROUP         describe the options of a group, such as `bnnbench list method`
  bnnbench list OPTION        show one option with its settings, such as `bnnbench list vadam`
  bnnbench list suite NAME    show the experiments of a suite with their settings"""

FOOTNOTES = {
    SUITES: "times: two idle cores; for this machine, see `bnnbench reproduce NAME --dry-run`",
    METRICS: "formulas and other columns: docs/reference/metrics.md, or glossary.md in a report",
}
"""Printed below the options of a group; those of methods are in `footnotes`."""


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument(
        "words", nargs="*", metavar="GROUP or OPTION", help=f"groups: {', '.join(LISTABLE)}"
    )


def run(arguments: Namespace) -> int:
    """Print an overview, the options of groups, or the details of options.

    Raises:
        UserError: if a word is neither a group nor an option.
    """
    if not arguments.words:
        print(_overview())
        return 0
    found = parse_words(arguments.words)
    print("\n".join(_option(group, name) if name else _group(group) for group, name in found))
    return 0


def parse_words(words: Sequence[str]) -> list[tuple[str, str]]:
    """Return pairs of group and option; an empty option stands for the whole group.

    Args:
        words: groups or their plurals, each optionally followed by options of it, and options of
            any group.

    Raises:
        UserError: for the first word that is neither.
    """
    found: list[tuple[str, str]] = []
    group = ""
    for word in words:
        if word in (*LISTABLE, *PLURALS):
            group = PLURALS.get(word, word)
            found.append((group, ""))
        elif group and word in summaries(group):
            if found[-1] == (group, ""):  # followed by an option: not the whole group
                found.pop()
            found.append((group, word))
        else:
            group = ""
            found += _find_everywhere(word)
    return found


def _find_everywhere(word: str) -> list[tuple[str, str]]:
    found = [(group, word) for group in LISTABLE if word in summaries(group)]
    if not found:
        options = (name for group in LISTABLE for name in summaries(group))
        close = closest_match(word, [*LISTABLE, *options, *PLURALS])
        hint = f"did you mean {close}?" if close else f"the groups are {', '.join(LISTABLE)}."
        raise UserError(f"unknown group or option {shorten(word)!r}; {hint}", "list")
    return found


def _overview() -> str:
    """Return the names of all options, one paragraph per group."""
    listed = {"experiment": _generic_experiments()}
    lines = [_names(group, listed.get(group)) for group in (*GROUPS, SUITES)]
    return "\n".join([*lines, "", layout(OVERVIEW_NOTE, help_columns())])


def _names(group: str, names: Sequence[str] | None = None) -> str:
    """Return `GROUP: OPTION (VARIANT, ...), OPTION, ...`, wrapped."""
    found = find_options(group) if group != SUITES else {}
    names = list(summaries(group)) if names is None else names
    bases = {name: base for name, one in found.items() for base in base_options(one.file)[:1]}
    root = {name: _root(name, bases) for name in names}
    variants = {
        name: [_name(found, one) for one in names if root[one] == name != one]
        for name in names
        if root[name] == name or root[name] not in names
    }
    words = [
        f"{_name(found, name)} ({', '.join(members)})" if members else _name(found, name)
        for name, members in variants.items()
    ]
    if group == "experiment":
        words.append("and those of the suites")
    return fold(f"{group}: {', '.join(words)}", help_columns(), 2)


def _root(name: str, bases: Mapping[str, str]) -> str:
    """Return the option that a variant is based on, directly or not."""
    chain = [name]
    while base := bases.get(chain[-1]):
        if base in chain:
            return name
        chain.append(base)
    return chain[-1]


def _name(options: Mapping[str, Option], name: str) -> str:
    owner = options[name].owner if name in options else ""
    return f"{name} [{owner}]" if owner else name


def _generic_experiments() -> list[str]:
    """Return the experiments that belong to no suite."""
    of_suites = {sweep.experiment for suite in suites() for sweep in suite.sweeps}
    return [name for name in find_options("experiment") if name not in of_suites]


def _group(group: str) -> str:
    table = _table(group, summaries(group), costs(group))
    return "\n".join([*table, *map(_fold, footnotes(group))])


def footnotes(group: str) -> list[str]:
    """Return what is printed below the options of a group."""
    if group == "method":
        marks = "* results may differ between processor types; † tuned with test rows, not ranked"
        return [marks, *cost_footnotes()]
    return [FOOTNOTES[group]] if group in FOOTNOTES else []


def costs(group: str) -> dict[str, str]:
    """Return the column of CPU times relative to `map`.

    Returns:
        Its title, with the empty string as key, and its cells by method; empty for other groups.
    """
    if group != "method":
        return {}
    cells = {name: cost_cell(cost_of(name, one)) for name, one in find_options(group).items()}
    return {"": f"CPU / {BASE}", **cells}


def _table(title: str, rows: Mapping[str, str], column: Mapping[str, str]) -> list[str]:
    """Return a title, then a line per option with its name, its cell of a column and its summary.

    Args:
        title: of the options.
        rows: summaries by option.
        column: title, with the empty string as key, and cells; empty for none.
    """
    width, middle = max(map(len, rows), default=0), max(map(len, column.values()), default=-2)
    lines = [f"{title:{width + 2}}  {column.get('', '')}".rstrip()]
    for name, summary in rows.items():
        cell = f"  {column[name]:>{middle}}" if column else ""
        lines.append(_fold(f"  {name:{width}}{cell}  {summary}", width + middle + 6))
    return lines


def _fold(line: str, indent: int = 2) -> str:
    """Fold a line at the words on a terminal; elsewhere, programs read it whole."""
    return fold(line, terminal_columns(sys.stdout), indent)


def _option(group: str, name: str) -> str:
    if group == SUITES:
        return _suite(name)
    if group == METRICS:
        return _fold(f"{group} {name}: {summaries(group)[name]}")
    text = describe_option(group, name, find_options(group)[name])
    return f"{fold_yaml(text, terminal_columns(sys.stdout))}\n"


def _suite(name: str) -> str:
    """Return the summary of a suite, its experiments and their settings."""
    (suite,) = (suite for suite in suites() if suite.name == name)
    found = find_options("experiment")
    experiments = [one for one in dict.fromkeys(s.experiment for s in suite.sweeps) if one in found]
    table = _table("experiments", {one: found[one].summary for one in experiments}, {})
    head = f"{_fold(f'suite {name}: {suite.description}')}\nbnnbench reproduce {name}"
    columns = terminal_columns(sys.stdout)
    texts = (describe_option("experiment", one, found[one]) for one in experiments)
    settings = (fold_yaml(text, columns) for text in texts)
    return "\n\n".join([head, "\n".join(table), *settings]) + "\n"


def summaries(group: str) -> dict[str, str]:
    """Return the summary of each option, suite or metric, with the origin of plug-ins."""
    if group == SUITES:
        return {suite.name: suite.description for suite in suites()}
    if group == METRICS:
        return metrics()
    found = find_options(group)
    marks = {name: " †" for name, one in found.items() if group == "method" and tuned_on_test(one)}
    return {
        name: f"{one.summary}{marks.get(name, '')}" + (f" [{one.owner}]" if one.owner else "")
        for name, one in found.items()
    }


def metrics() -> dict[str, str]:
    """Return the description of each metric, with its unit."""
    from bnnbench.results.glossary import term_of
    from bnnbench.results.metric_table import BY_KEY as KNOWN

    units = {"target": "target's unit", "nats": "nats", "s": "s"}
    found = {}
    for metric in KNOWN.values():
        term = term_of(metric.key)
        summary = (
            term.summary if term and term.key == metric.key else f"{metric.title} time per split"
        )
        found[metric.key] = f"{summary} [{units[metric.unit]}, {metric.better} is better]"
    return found


MIN_COMMENT = 30
"""Characters that a comment has at least on the line of its setting."""


def describe_option(group: str, name: str, option: Option) -> str:
    """Return the summary of an option, the docstring of its class, and the text of its file."""
    owner = f" [{option.owner}]" if option.owner else ""
    parts = [f"{group}={name}: {option.summary}{owner}"]
    if group == "method" and tuned_on_test(option):
        parts.append("Tuned with test rows: its runs are shown, but never ranked.")
    if group == "method":
        parts.append(describe_cost(cost_of(name, option)))
    target = next((name for text in _texts(option.file) for name in _targets(text)), None)
    if target:
        docstring = indent(_first_paragraph(target), "  ")
        parts.append(f"{target}\n{docstring}".rstrip())
    parts.append(f"{option.file}\n{indent(_settings(option), '  ')}".rstrip())
    return "\n\n".join(parts)


def fold_yaml(text: str, columns: int | None) -> str:
    """Fold the lines of a description; a comment is continued by a comment."""
    if columns is None:
        return text
    folded = []
    for mark, part in groupby(text.split("\n"), _comment_mark):
        lines = list(part)
        if mark and max(map(len, lines)) > columns:
            lines = [mark + " ".join(line.removeprefix(mark) for line in lines)]
        for line in lines:
            folded += _fold_line(line, columns)
    return "\n".join(folded)


def _comment_mark(line: str) -> str:
    """Return the indentation and the mark of a line that is a comment; empty for other lines."""
    found = re.match(" *# (?! )", line)
    return found[0] if found else ""


def _fold_line(line: str, columns: int) -> list[str]:
    """Fold a line; its comment is above it if there is no room at its end."""
    indent = " " * (len(line) - len(line.lstrip()))
    found = re.fullmatch(r"((?:.*?\s)?)# (.*)", line) if len(line) > columns else None
    if found is None:
        return [fold(line, columns, len(indent) + 4)]
    setting, comment = found.groups()
    is_above = setting.strip() and columns - len(setting) < MIN_COMMENT
    below = _fold_line(setting.rstrip(), columns) if is_above else []
    start = indent if is_above else setting
    first, *rest = fold(comment, columns - len(start) - 2).split("\n")
    return [f"{start}# {first}", *(f"{' ' * len(start)}# {text}" for text in rest), *below]


def cost_of(name: str, option: Option) -> RelativeCost | None:
    """Return the cost of a method of the package; None for others, whatever their name."""
    return None if option.owner else relative_costs().get(name)


def tuned_on_test(option: Option) -> bool:
    """Return whether an option of `method` says that it was tuned with test rows.

    It inherits this from the option that it is based on.
    """
    found = (
        value
        for text in _texts(option.file)
        for value in re.findall(r"^tuned_on_test: *(\w+)", text, re.MULTILINE)
    )
    return next(found, "false").lower() == "true"


def _targets(text: str) -> list[str]:
    return re.findall(r"^(?:\w+:\n)?\s*_target_: *([\w.]+)", text, re.MULTILINE)


def _texts(file: Path, seen: frozenset[Path] = frozenset()) -> Iterator[str]:
    """Yield the contents of a file and of its base options, one of which names the class."""
    yield read_text(file)
    for name in base_options(file):
        places = (
            file.with_name(f"{name}.yaml"),
            config_folder() / file.parent.name / f"{name}.yaml",
        )
        parent = next((place for place in places if place.is_file()), None)
        if parent is not None and parent not in seen | {file}:
            yield from _texts(parent, seen | {file})


def base_options(file: Path) -> list[str]:
    """Return the options of the same group that a file is based on, by its defaults list."""
    import yaml

    try:
        read = yaml.safe_load(read_text(file))
    except (yaml.YAMLError, UnicodeDecodeError):  # reported when it is used in a run
        return []
    defaults = read.get("defaults") if isinstance(read, dict) else None
    names = defaults if isinstance(defaults, list) else []
    return [name for name in names if isinstance(name, str) and name != "_self_"]


def _first_paragraph(target: str) -> str:
    """Return the first paragraph of the docstring of a class, if it has one.

    It is read from the source, since importing a method imports torch.
    """
    module, _, name = target.rpartition(".")
    if not module.startswith("bnnbench.") and not is_own_module(module):
        return ""
    try:
        spec = find_spec(module)
        source = read_text(Path(spec.origin)) if spec and spec.origin else ""
        nodes = ast.parse(source).body
    except (ImportError, AttributeError, ValueError, OSError, SyntaxError):  # in the user's module
        return ""
    classes = (node for node in nodes if isinstance(node, ast.ClassDef) and node.name == name)
    docstring = next((ast.get_docstring(node) for node in classes), None)
    return " ".join((docstring or "").partition("\n\n")[0].split())


def _settings(option: Option) -> str:
    """Return the text of the file below the comment that is its summary."""
    lines = read_text(option.file).splitlines()
    start = next((i for i, line in enumerate(lines) if line[1:].strip() == option.summary), -1)
    return "\n".join(lines[start + 1 :])
