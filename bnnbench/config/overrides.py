"""Overrides of the command line: checked, quoted and ordered before Hydra parses them."""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Glob, IntervalSweep, RangeSweep
from hydra.errors import HydraException

from bnnbench.config.configs import GROUPS, options, unknown_option
from bnnbench.config.errors import hydra_setting_error
from bnnbench.constraints import check_folder, with_python_numbers
from bnnbench.data.quoted_texts import is_quoted, quoted, split_parts, split_texts, unquoted
from bnnbench.notes import shorten
from bnnbench.types import UserError

FOLDER_KEYS = ("outputs_dir", "data_dir")

PATH_KEYS = (*FOLDER_KEYS, "dataset.path")

COLUMN_KEYS = ("dataset.target", "dataset.group", "dataset.time", "dataset.test")

TEXT_KEYS = (*PATH_KEYS, *COLUMN_KEYS, "dataset.name", "dataset.sheet", "dataset.encoding")
"""Settings that are always text, as is every label."""

TEXT_LIST_KEYS = ("dataset.columns", "dataset.drop", "dataset.missing_values")
"""Settings that are lists of text; their brackets are optional."""

TEXT_OR_LIST_KEYS = ("dataset.time",)
"""Settings that are a string, or a list of strings in brackets."""

LITERAL_KEYS = (*COLUMN_KEYS, *TEXT_LIST_KEYS)
"""Settings without interpolation: a column may be called `${x}`."""

RESERVED_WORDS = ("null", "true", "false", "nan", "inf")
"""Words that Hydra's grammar reads as values."""

MISSING_MARK = "???"
"""A string that OmegaConf reads as a missing value."""

MAX_JOBS = 10_000
"""Maximum number of jobs in a sweep."""


def as_override(key: str, value: Any) -> str:
    """Return the override that gives a setting a Python value.

    Raises:
        UserError: if the value is of another type.
    """
    one_column = key in COLUMN_KEYS and key not in TEXT_OR_LIST_KEYS
    if one_column and isinstance(value, Collection) and not isinstance(value, str):
        problem = f"{key} must be the name of one column, not {shorten(repr(value))}."
        raise UserError(problem, key, "several_columns")
    if isinstance(value, Mapping):  # Hydra's grammar has no quotes around names
        entries = (as_override(*entry).replace("=", ":", 1) for entry in value.items())
        return f"{key}={{{','.join(entries)}}}"
    try:
        return f"{key}={_value_text(value, key in COLUMN_KEYS, key in LITERAL_KEYS)}"
    except (TypeError, ValueError):
        raise UserError(
            f"{key} must be text, a number, a list or a mapping, not {value!r}.", key, "type"
        ) from None


def _value_text(value: Any, in_quotes: bool, literal: bool) -> str:
    if hasattr(value, "tolist"):  # of NumPy and pandas
        value = value.tolist()
    if isinstance(value, list | tuple):
        return f"[{','.join(_value_text(one, True, literal) for one in value)}]"
    if in_quotes and literal and value is not None:
        value = str(value)
    if isinstance(value, str | os.PathLike):
        return quoted(os.fspath(value)) if in_quotes else os.fspath(value)
    if isinstance(value, float):  # JSON writes infinite ones differently
        return float.__repr__(value)
    return json.dumps(value)


def prepare_overrides(words: Sequence[str], sweep: bool = False) -> list[str]:
    """Check overrides, and quote them for Hydra's grammar.

    Args:
        words: as typed.
        sweep: whether a comma in a string separates two strings.

    Raises:
        UserError: for the first mistake.
    """
    check_overrides(words)
    quoted = quote_overrides(words, sweep)
    for word in quoted:
        check_sweep(word)
    return quoted


def check_overrides(words: Sequence[str]) -> None:
    """Reject overrides that are certainly mistakes, or that Hydra would misread.

    Raises:
        UserError: for the first one.
    """
    for word in words:
        key, equals, value = word.partition("=")
        name = key.strip().lstrip("+~").strip()
        if word != word.encode(errors="replace").decode():
            raise UserError(f"{word!r} is not UTF-8 text.", name, "not_utf8")
        if "\0" in word:
            raise UserError(f"{word!r} contains a null byte.", name, "null_byte")
        if not name:
            raise UserError(f"{word} has no key: write KEY=VALUE.", code="no_key")
        if "hydra" in (part.partition(".")[0].partition("/")[0] for part in name.split("@")):
            raise hydra_setting_error(name)
        if "@" in name:
            raise UserError(
                f"{word}: packages of Hydra (@) are not supported; write GROUP=OPTION.",
                name,
                "package",
            )
        if key.startswith("~"):
            raise UserError(
                f"{word}: settings cannot be removed; change the value with {name}=VALUE.",
                name,
                "removed",
            )
        if key.startswith("+") and name in GROUPS:
            raise UserError(f"{word}: {name} already exists; leave out the +.", name, "added")
        if equals and name in GROUPS and value[:1] in ("[", "{", "_"):  # _NAME is not an option
            raise _wrong_option(name, value)
        if equals and name in FOLDER_KEYS:  # before Hydra makes the folder
            check_folder(name, None if value == "null" else value.strip("'\""))
            if value[:1] in ("[", "{"):
                raise UserError(
                    f"{word}: if this is the name of a folder, write {name}=./{value}.",
                    name,
                    "bracket",
                )


def check_sweep(word: str) -> None:
    """Reject a sweep over no values or over infinitely many.

    Raises:
        UserError: if it is one of these.
    """
    try:
        override = OverridesParser.create().parse_override(word)
    except HydraException:
        return  # Hydra reports it when it parses the overrides
    swept, key = override.value(), override.key_or_group
    if isinstance(swept, IntervalSweep):
        raise UserError(f"{word} has infinitely many values; list some of them.", key, "interval")
    if isinstance(swept, RangeSweep) and key in GROUPS:
        some = ",".join(list(options(key))[:2])
        raise UserError(f"{word}: list options by name, such as {key}={some}.", key, "range")
    if isinstance(swept, RangeSweep):
        start, stop, step = (float(end or 0) for end in (swept.start, swept.stop, swept.step))
        count = (stop - start) / step if step else math.inf
        if not 0 < count <= MAX_JOBS:
            raise UserError(f"{word} must have 1 to {MAX_JOBS} values.", key, "range")
    if isinstance(swept, Glob) and not swept.filter(list(options(key))):
        raise UserError(f"{word} matches no option; see `bnnbench list {key}`.", key, "glob")


def quote_overrides(words: Sequence[str], sweep: bool = False) -> list[str]:
    """Quote values that are options or text, and convert YAML's infinite numbers to Hydra's.

    `depth=1,2` becomes `depth='1','2'`, since Hydra does not accept a bare number as an option;
    `dataset.target=Preis (€)` becomes `dataset.target='Preis (€)'`.
    A quoted value is one string, whatever it contains.

    Args:
        words: overrides, `KEY=VALUE`.
        sweep: whether a comma in a string separates two strings.
    """
    return [_quote(word, sweep) for word in words]


def _quote(word: str, sweep: bool) -> str:
    key, equals, value = word.partition("=")
    name = key.lstrip("+")
    if not equals:
        return word
    in_brackets = value[:1] == "[" and value[-1:] == "]"
    without_brackets = name in TEXT_LIST_KEYS and not sweep and value not in ("", "null")
    if without_brackets or (in_brackets and name in (*TEXT_LIST_KEYS, *TEXT_OR_LIST_KEYS)):
        lists = re.split(r"(?<=\])\s*,\s*(?=\[)", value) if sweep else [value]
        return f"{key}={','.join(map(_quote_list, lists))}"
    if name in TEXT_KEYS or name.endswith(".label"):
        whole = not sweep or (name in PATH_KEYS and os.path.exists(os.path.expanduser(value)))
        texts = [value] if whole else split_parts(value)
        return f"{key}={','.join(_quote_text(name, text) for text in texts)}"
    if is_quoted(value):
        return word
    if name in GROUPS:
        choices = value.split(",")
        return f"{key}={','.join(quoted(c) if _is_hydra_value(c) else c for c in choices)}"
    return f"{key}={with_python_numbers(value)}"


def _quote_list(value: str) -> str:
    """Quote the strings of a list, which may contain matching brackets: `[day,pressure [bar]]`.

    Unmatched brackets are left to Hydra, whose error shows how to quote.
    """
    inner = value[1:-1] if value[0] == "[" and value[-1] == "]" else value
    bare = [part for part in split_parts(inner) if not is_quoted(part.strip())]
    if any(part.count("[") != part.count("]") for part in bare):
        return value
    return f"[{','.join(_literal(text) for text in split_texts(inner))}]"


def _quote_text(name: str, text: str) -> str:
    if name in COLUMN_KEYS:
        return text if text == "null" else _literal(unquoted(text))
    if text == "null" or is_quoted(text):
        return text
    return quoted(os.path.expanduser(text) if name in PATH_KEYS else text)


def _literal(text: str) -> str:
    """Quote a string for Hydra and OmegaConf, so that it refers to no other setting."""
    if text == MISSING_MARK:
        return quoted(f"${{oc.select:_,{text}}}")
    return quoted(re.sub(r"(\\*)\$\{", r"\1\1\${", text))


def _is_hydra_value(choice: str) -> bool:
    """Whether Hydra would read the name of an option as a number, null, true or false."""
    plain = re.fullmatch(r"[\w.-]*", choice)
    named = re.fullmatch(r"[A-Za-z_][\w.-]*", choice)
    return bool(plain) and (not named or choice.lower() in RESERVED_WORDS)


def _wrong_option(group: str, value: str) -> UserError:
    names = [name.strip(" '\"") for name in value.strip("[]").split(",")]
    known = options(group)
    if value.startswith("[") and len(names) > 1 and all(name in known for name in names):
        every = "both" if len(names) == 2 else "all"
        return UserError(
            f"{group}={value} is not an option: write {group}={','.join(names)} and add -m to "
            f"run {every}.",
            group,
            "needs_multirun",
        )
    return unknown_option(group, value, list(known))
