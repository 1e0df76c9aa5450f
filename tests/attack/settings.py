"""All settings of all configurations, read from the YAML files that Hydra composes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from bnnbench.config.configs import GROUPS, config_folder, options

VALUES = {
    "empty": "",
    "null": "null",
    "text": "nonsense",
    "quoted": "'two words'",
    "minus one": "-1",
    "zero": "0",
    "a half": "0.5",
    "beyond floats": "1e400",
    "beyond integers": "1" + 30 * "0",
    "nan": "nan",
    "inf": "inf",
    "empty list": "[]",
    "list": "[1,2]",
    "list of text": "[a,null]",
    "mapping": "{a: 1}",
    "true": "true",
    "long": "x" * 300,
    "unicode": "Größe-日本",
    "path": "../../elsewhere",
    "reference": "${nowhere}",
}
"""Values to try for every setting. Most are invalid."""

VALUES_PER_KEY, STRIDE = 4, 7
"""Number of values for a key of an option, and their distance in the list."""


@dataclass(frozen=True)
class Setting:
    """A key, and the choices that add it to the configuration."""

    key: str
    choices: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return " ".join((*self.choices, self.key))


@cache
def settings() -> tuple[Setting, ...]:
    """All keys of the main configuration, then the keys of each option of each group."""
    main = _load(config_folder() / "run.yaml")
    top = [*_keys(main, ""), *_keys(_merged(config_folder() / "protocol" / "book.yaml"), "")]
    found = [Setting(key) for key in dict.fromkeys((*top, *GROUPS, "network.depth"))]
    for group in GROUPS:
        for option in options(group):
            choice = (f"{group}={option}",)
            file = config_folder() / group / f"{option}.yaml"
            keys = dict.fromkeys(_keys(_merged(file), _package(file, group)))
            found += [Setting(key, choice) for key in keys if key not in ("", group)]
    return tuple(found)


def cases() -> Iterator[tuple[Setting, str]]:
    """Yield settings with values: all values for keys of every run, some for keys of an option.

    Values rotate over the keys of options, with several for the first option that has a key and one
    for each further option, so that all values occur with all kinds of keys.
    """
    values, seen, turn = list(VALUES), set[str](), 0
    for setting in settings():
        if not setting.choices:
            few = values
        else:
            count = 1 if setting.key in seen else VALUES_PER_KEY
            few = [values[(turn + i * STRIDE) % len(values)] for i in range(count)]
            turn += 1
        seen.add(setting.key)
        for value in few:
            yield setting, value


def _load(file: Path) -> dict[str, Any]:
    return yaml.safe_load(file.read_text()) or {}


def _merged(file: Path) -> dict[str, Any]:
    """A file merged with the files of the same folder in its defaults list."""
    own = _load(file)
    undamaged: dict[str, Any] = {}
    for base in own.get("defaults", ()):
        if isinstance(base, str) and base != "_self_" and "@" not in base:
            undamaged = _merge(undamaged, _merged(file.with_name(f"{base}.yaml")))
    return _merge(undamaged, {key: value for key, value in own.items() if key != "defaults"})


def _merge(base: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(base)
    for key, value in other.items():
        old = merged.get(key)
        both = isinstance(old, Mapping) and isinstance(value, Mapping)
        merged[key] = _merge(old, value) if both else value  # type: ignore[arg-type]
    return merged


def _package(file: Path, group: str) -> str:
    stated = re.match(r"# @package (\S+)", file.read_text())
    package = stated.group(1) if stated else group
    return "" if package == "_global_" else package


def _keys(config: Mapping[str, Any], prefix: str) -> Iterator[str]:
    """Yield the dotted keys of leaves and branches, except those of a sweep."""
    if prefix:
        yield prefix
    for key, value in config.items():
        dotted = f"{prefix}.{key}" if prefix else str(key)
        if dotted in ("defaults", "sweep", "multirun"):
            continue
        if isinstance(value, Mapping) and value:
            yield from _keys(value, dotted)
        else:
            yield dotted
