"""`bnnbench new`: writes the files of a new method."""

from __future__ import annotations

import keyword
import os
import re
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping, Sequence
from importlib.machinery import PathFinder
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from string import Template

from bnnbench.cli import templates
from bnnbench.types import UserError

SUMMARY = "write the files of a method of your own"

DESCRIPTION = """\
Write a working method for you to change. It is derived from mc_dropout; a comment in its code marks
what differs.

  bnnbench new method mine      writes mine.py, configs/method/mine.yaml and bnnbench.toml

An existing bnnbench.toml is kept, and the other files go to the first folders of its `path` and
`config_dirs`. No file is overwritten. docs/tutorials/your_own_method.md continues from there.
"""

NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,99}")
"""In ASCII, and short enough for the names of two files."""

YAML_WORDS = frozenset({"true", "false", "yes", "no", "on", "off", "null", "none", "nan", "inf"})
"""Words that YAML or Hydra reads as a value other than text, in upper or lower case."""


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("kind", metavar="method", choices=("method",), help="what to write")
    parser.add_argument(
        "name",
        metavar="NAME",
        help="name of the method, its module and its YAML file, such as mine",
    )


def run(arguments: Namespace) -> int:
    """Write the files, and print what to do next.

    Raises:
        UserError: if a method cannot have this name, a file exists, or the project in this
            folder is not trusted or cannot hold a method.
    """
    from bnnbench.discovery import FILE, project

    name, found = arguments.name, project()
    _check_name(name)
    modules, configs = Path(), Path("configs")
    if found is not None:
        modules = _first(found.file, "path", found.path)
        configs = _first(found.file, "config_dirs", found.config_dirs)
    _check_free(name, [modules] if found is None else found.path)
    written = {"method.py.txt": modules / f"{name}.py",
               "method.yaml": configs / "method" / f"{name}.yaml"}  # fmt: skip
    if found is None:
        written["bnnbench.toml"] = Path(FILE)
    _write(written, {"name": name, "class_name": _class_name(name)})
    print(f"wrote {', '.join(map(os.path.relpath, written.values()))}; next:")
    if found is None:
        print("  bnnbench trust")
    print(f"  bnnbench check method={name}")
    print(f"  bnnbench run method={name} dataset=yacht protocol=trial")
    return 0


def _check_name(name: str) -> None:
    """Raise `UserError` unless a module, a class and an option can have this name."""
    if not NAME.fullmatch(name):
        raise UserError(
            "NAME must start with a letter and consist of at most 100 letters, digits and "
            f"underscores, not {name[:40]!r}.",
            "NAME",
            "not_a_name",
        )
    if {name, _class_name(name)} & {*keyword.kwlist} or name.lower() in YAML_WORDS:
        raise UserError(
            f"NAME cannot be {name}, a reserved word of Python or YAML; choose another name.",
            "NAME",
            "keyword",
        )


def _class_name(name: str) -> str:
    """Return `MyMethod` for `my_method`."""
    return "".join(word[:1].upper() + word[1:] for word in name.split("_"))


def _first(file: Path, key: str, folders: Sequence[Path]) -> Path:
    if not folders:
        raise UserError(f"{file}: {key} must list a folder for the method.", key, "no_folder")
    return folders[0]


def _check_free(name: str, folders: Sequence[Path]) -> None:
    """Raise `UserError` if an option or a module has this name; nothing is imported.

    A module would shadow another one, or be shadowed by it.

    Args:
        name: of the method.
        folders: of the user's modules.
    """
    from bnnbench.config.configs import GROUPS, find_options

    for group in GROUPS:
        options = find_options(group)
        same = next((option for option in options if option.lower() == name.lower()), "")
        if same or name.lower() == group:
            what = f"{group}={same} is in {options[same].file}" if same else f"{group} is a group"
            raise UserError(
                f"NAME cannot be {name}, since {what} and upper and lower case count as the same; "
                "choose another name.",
                "NAME",
                "name_taken",
            )
    if find_spec(name) or PathFinder.find_spec(name, [os.path.abspath(one) for one in folders]):
        raise UserError(
            f"a Python module or package is called {name}; choose another name.",
            "NAME",
            "module_taken",
        )


def _write(written: Mapping[str, Path], names: Mapping[str, str]) -> None:
    """Write a file from each template.

    Raises:
        UserError: if one of the files exists; then none is written.
    """
    for path in written.values():
        if os.path.lexists(path):
            raise UserError(f"{path} exists; choose another name.", "NAME", "file_exists")
        path.parent.mkdir(parents=True, exist_ok=True)
    for template, path in written.items():
        text = files(templates).joinpath(template).read_text("utf-8")
        path.write_text(Template(text).substitute(names), "utf-8")
