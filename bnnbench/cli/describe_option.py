"""Describes one option for `bnnbench list`: summary, class and settings."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from importlib.util import find_spec
from itertools import groupby
from pathlib import Path
from textwrap import indent

from bnnbench.config.configs import Option, config_folder
from bnnbench.discovery import is_own_module
from bnnbench.files import read_text
from bnnbench.notes import fold
from bnnbench.results.reference.relative_costs import RelativeCost, describe_cost, relative_costs

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
