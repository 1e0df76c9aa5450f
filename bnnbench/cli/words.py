"""The words of a command line before Hydra reads them: in order, quoted, and none that misleads."""

from __future__ import annotations

import argparse
import math
import os
import re
from collections.abc import Sequence
from typing import NoReturn

from hydra._internal.utils import get_args_parser
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import (
    Glob,
    IntervalSweep,
    Quote,
    QuotedString,
    RangeSweep,
)
from hydra.errors import HydraException

from bnnbench.checks import check_folder
from bnnbench.cli.absent import no_option
from bnnbench.cli.configs import ALL_GROUPS, options
from bnnbench.types import UserError

FOLDERS = ("outputs_dir", "data_dir")

PATHS = (*FOLDERS, "dataset.path")

COLUMNS = ("dataset.target", "dataset.group", "dataset.time", "dataset.test")

TEXTS = (*PATHS, *COLUMNS, "dataset.name", "dataset.sheet", "dataset.encoding")
"""Settings that are text whatever they look like; so is every label."""

TEXT_LISTS = ("dataset.columns", "dataset.drop")
"""Settings that are lists of text; brackets may be left out."""

VALUES = ("null", "true", "false", "nan", "inf")
"""Words that are values in Hydra's grammar."""

MOST_JOBS = 10_000
"""Of one sweep."""

FORCE = "--force"
"""Stands for the setting `AGAIN`."""

AGAIN = "resume=false"

DRY = "--dry-run"
"""Asks for the plan of each run and for nothing else."""

ACTIONS = ("run", "multirun", "cfg", "info", "shell_completion")
"""Options of Hydra of which a line can have but one."""


def hydra_words(words: Sequence[str]) -> list[str]:
    """The words as Hydra takes them: options before settings, these quoted for its grammar.

    Raises:
        UserError: for what Hydra would take for something else than it says.
    """
    words = forced(words)
    given = _parsed(words)
    settings = list(given.overrides)
    others = list(words)
    for setting in settings:
        others.remove(setting)
    if others[-1:] in (["--info"], ["-i"]):  # or it would take the first setting for its value
        others.append(given.info)
    if given.shell_completion:
        return [*others, *settings]
    check_words(settings)
    quoted = quote_words(settings, sweep=given.multirun)
    for word in quoted:
        _check_sweep(word)
    return [*others, *quoted]


def forced(words: Sequence[str]) -> list[str]:
    """The words with the setting that `--force` stands for, last, so that it counts."""
    others = [word for word in words if word != FORCE]
    return [*others, *([AGAIN] if len(others) < len(words) else [])]


def config_dir_of(words: Sequence[str]) -> str | None:
    """The folder of `--config-dir`, if one is given that is there; the line may be unfinished."""
    try:
        given = get_args_parser().parse_known_args(list(words))[0].config_dir
    except SystemExit:  # it lacks its value
        return None
    return given if given is not None and os.path.isdir(given) else None


def check_words(words: Sequence[str]) -> None:
    """Refuses settings that cannot be meant, or that Hydra would read as something else.

    Raises:
        UserError: naming the first.
    """
    for word in words:
        if word != word.encode(errors="replace").decode():
            raise UserError(f"{word!r} is not UTF-8 text.")
        key, equals, value = word.partition("=")
        name = key.lstrip("+~")
        if not name:
            raise UserError(f"{word} names no setting: write KEY=VALUE.")
        if key.startswith("~") and not name.startswith("hydra"):
            raise UserError(
                f"{word}: no setting can be taken away; give it another value with {name}=VALUE."
            )
        if key.startswith("+") and name in ALL_GROUPS:
            raise UserError(f"{word}: there is one {name} already; leave out the +.")
        if equals and name in ALL_GROUPS and value[:1] in ("[", "{", "_"):  # _NAME: parts of others
            raise UserError(_no_option(name, value))
        if equals and name in FOLDERS:  # before Hydra makes the folder
            check_folder(name, None if value == "null" else value.strip("'\""))
            if value[:1] in ("[", "{"):
                raise UserError(f"{word}: write {name}=./{value} if that is the folder's name.")


def _check_sweep(word: str) -> None:
    """Refuses a sweep over nothing, which would end at once, or without end.

    Raises:
        UserError: naming it.
    """
    try:
        override = OverridesParser.create().parse_override(word)
    except HydraException:
        return  # Hydra says so itself, in its place
    swept = override.value()
    if isinstance(swept, IntervalSweep):
        raise UserError(f"{word} stands for values without end; list some of them.")
    if isinstance(swept, RangeSweep) and override.key_or_group in ALL_GROUPS:
        name = override.key_or_group
        raise UserError(f"{word}: options are listed by name, such as {name}={_some(name)}.")
    if isinstance(swept, RangeSweep):
        start, stop, step = (float(end or 0) for end in (swept.start, swept.stop, swept.step))
        count = (stop - start) / step if step else math.inf
        if not 0 < count <= MOST_JOBS:
            raise UserError(f"{word} must stand for 1 to {MOST_JOBS} values.")
    if isinstance(swept, Glob) and not swept.filter(list(options(override.key_or_group))):
        raise UserError(f"{word} stands for no option; see `bnnbench list`.")


def _some(group: str) -> str:
    return ",".join(list(options(group))[:2])


def quote_words(words: Sequence[str], sweep: bool = False) -> list[str]:
    """Values quoted where they are known to be options or text.

    `depth=1,2` becomes `depth='1','2'`, since Hydra takes a bare number for a value and no option;
    `dataset.target=Preis (€)` becomes `dataset.target='Preis (€)'`.

    Args:
        words: `KEY=VALUE` each.
        sweep: whether a comma in a text stands between two texts.
    """
    return [_quoted(word, sweep) for word in words]


def _quoted(word: str, sweep: bool) -> str:
    key, equals, value = word.partition("=")
    name = key.lstrip("+")
    if not equals or _is_quoted(value):
        return word
    if name in ALL_GROUPS:
        choices = value.split(",")
        return f"{key}={','.join(_text(c) if _looks_like_a_value(c) else c for c in choices)}"
    if name in TEXTS or name.endswith(".label"):
        whole = not sweep or (name in PATHS and os.path.exists(os.path.expanduser(value)))
        texts = [value] if whole else value.split(",")
        return f"{key}={','.join(_value(name, text) for text in texts)}"
    if name in TEXT_LISTS and value not in ("", "null") and (value[0] == "[" or not sweep):
        return f"{key}={_list(value)}"
    return word


def _list(value: str) -> str:
    """Texts between commas, brackets around them or not, each in quotes; others are left alone.

    A text may have brackets of its own: `[day,pressure [bar]]`.
    """
    inner = value[1:-1] if value[0] == "[" and value[-1] == "]" else value
    texts = [text.strip() for text in inner.split(",") if text.strip()]
    if any(mark in inner for mark in "{}\"'") or any(t.count("[") != t.count("]") for t in texts):
        return value
    return f"[{','.join(map(_text, texts))}]"


def _value(name: str, text: str) -> str:
    """One text in quotes; `null` stays what it is, and so do quotes that are there."""
    if text == "null" or _is_quoted(text):
        return text
    return _text(os.path.expanduser(text) if name in PATHS else text)


def _text(text: str) -> str:
    return QuotedString(text=text, quote=Quote.single).with_quotes()


def _is_quoted(value: str) -> bool:
    return len(value) > 1 and value[0] in "'\"" and value[-1] == value[0]


def _looks_like_a_value(choice: str) -> bool:
    """Whether Hydra would take the name of an option for a number, for nothing, true or false."""
    plain = re.fullmatch(r"[\w.-]*", choice)
    named = re.fullmatch(r"[A-Za-z_][\w.-]*", choice)
    return bool(plain) and (not named or choice.lower() in VALUES)


def _no_option(group: str, value: str) -> str:
    names = [name.strip(" '\"") for name in value.strip("[]").split(",")]
    known = options(group)
    if value.startswith("[") and len(names) > 1 and all(name in known for name in names):
        every = "both" if len(names) == 2 else "all"
        return (
            f"{group}={value} is no option of {group}: "
            f"write {group}={','.join(names)} and add -m to run {every}."
        )
    return no_option(group, value, list(known))


class _Parser(argparse.ArgumentParser):
    """Reports a wrong option as every other mistake is reported."""

    def error(self, message: str) -> NoReturn:
        raise UserError(f"{message}; see `bnnbench run --help`.")


def _parsed(words: Sequence[str]) -> argparse.Namespace:
    """Hydra's options and, apart from them, the settings, wherever in the line they stand.

    Raises:
        UserError: if an option is unknown, lacks its value or does not go with another.
    """
    known = get_args_parser()
    parser = _Parser(add_help=False, parents=[known], conflict_handler="resolve")
    given = parser.parse_intermixed_args(list(words))
    actions = [name for name in ACTIONS if getattr(given, name) not in (None, False)]
    if len(actions) > 1:
        first, second = (name.replace("_", "-") for name in actions[:2])
        raise UserError(f"--{first} and --{second} do not go together; give one of them.")
    if given.resolve and not (given.cfg or given.help):
        raise UserError("--resolve goes with --cfg job only.")
    if given.shell_completion and not given.overrides:
        raise UserError("-sc needs install=SHELL, such as install=bash.")
    return given
