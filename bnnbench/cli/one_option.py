"""What `bnnbench list` prints of one option: what it is, its class and its settings."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from textwrap import indent

from bnnbench.cli.configs import Option, config_folder
from bnnbench.project import enter_project


def described(group: str, name: str, option: Option) -> str:
    """An option: its summary, what its class says of itself, and its file as it is written.

    Args:
        group: that it is chosen in.
        name: of it.
        option: where it is.
    """
    owner = f" [{option.owner}]" if option.owner else ""
    parts = [f"{group}={name}: {option.summary}{owner}"]
    target = next((found for text in _texts(option.file) for found in _targets(text)), None)
    if target:
        said = indent(_first_paragraph(target), "  ")
        parts.append(f"{target}\n{said}".rstrip())
    parts.append(f"{option.file}\n{indent(_settings(option), '  ')}".rstrip())
    return "\n\n".join(parts)


def _targets(text: str) -> list[str]:
    return re.findall(r"^(?:\w+:\n)?\s*_target_: *([\w.]+)", text, re.MULTILINE)


def _texts(file: Path, seen: frozenset[Path] = frozenset()) -> Iterator[str]:
    """A file of a group, then those that its defaults begin with: one of them names the class."""
    text = file.read_text("utf-8")
    yield text
    for name in _parents(text):
        places = (
            file.with_name(f"{name}.yaml"),
            config_folder() / file.parent.name / f"{name}.yaml",
        )
        parent = next((place for place in places if place.is_file()), None)
        if parent is not None and parent not in seen | {file}:
            yield from _texts(parent, seen | {file})


def _parents(text: str) -> list[str]:
    """The options of its own group that a file's defaults name."""
    import yaml

    try:
        read = yaml.safe_load(text)
    except yaml.YAMLError:  # the run says what is wrong with it
        return []
    defaults = read.get("defaults") if isinstance(read, dict) else None
    names = defaults if isinstance(defaults, list) else []
    return [name for name in names if isinstance(name, str) and name != "_self_"]


def _first_paragraph(target: str) -> str:
    """Of a class's docstring; nothing where there is none.

    It is read from the source, since to import a method is to wait for torch.
    """
    module, _, name = target.rpartition(".")
    enter_project()
    try:
        spec = find_spec(module)
        source = Path(spec.origin).read_text("utf-8") if spec and spec.origin else ""
        nodes = ast.parse(source).body
    except (ImportError, AttributeError, ValueError, OSError, SyntaxError):  # of one's own
        return ""
    classes = (node for node in nodes if isinstance(node, ast.ClassDef) and node.name == name)
    said = next((ast.get_docstring(node) for node in classes), None)
    return (said or "").partition("\n\n")[0]


def _settings(option: Option) -> str:
    """The file below the comment that is its summary."""
    lines = option.file.read_text("utf-8").splitlines()
    start = next((i for i, line in enumerate(lines) if line[1:].strip() == option.summary), -1)
    return "\n".join(lines[start + 1 :])
