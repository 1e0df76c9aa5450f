"""Composing configurations as plain containers, and one sentence for what goes wrong there."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from typing import Any

from hydra.errors import HydraException, OverrideParseException
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from bnnbench.cli.configs import GROUPS, config_folder
from bnnbench.cli.words import check_words, quote_words
from bnnbench.types import UserError

CONFIG_NAME = "run"


def plain(config: DictConfig) -> dict[str, Any]:
    """The resolved configuration as plain containers.

    Raises:
        UserError: if a value is missing or cannot be resolved.
    """
    try:
        return OmegaConf.to_container(config, resolve=True, throw_on_missing=True)  # type: ignore[return-value]
    except OmegaConfBaseException as error:
        raise UserError(sentence(error)) from None


def jobs_of(overrides: Sequence[str]) -> list[list[str]]:
    """The overrides of each job that `bnnbench run -m OVERRIDES` starts.

    Hydra must be initialised.

    Raises:
        HydraException: if they cannot be composed.
    """
    from hydra import compose
    from hydra._internal.core_plugins.basic_sweeper import BasicSweeper
    from hydra.core.override_parser.overrides_parser import OverridesParser

    parser = OverridesParser.create()
    given = parser.parse_overrides(list(overrides))
    single = [str(o.input_line) for o in given if not o.is_sweep_override()]
    config = compose(CONFIG_NAME, overrides=single, return_hydra_config=True)
    swept = config.hydra.sweeper.params or {}
    parsed = parser.parse_overrides([f"{key}={value}" for key, value in swept.items()])
    (jobs,) = BasicSweeper.split_arguments([*parsed, *given], None)
    return [[o for o in job if not o.startswith("hydra.")] for job in jobs]


def configs_of(overrides: Sequence[str]) -> list[dict[str, Any]]:
    """The resolved configuration of each of those jobs, as plain containers.

    Raises:
        UserError: if one of them cannot be composed.
    """
    from hydra import compose, initialize_config_dir

    check_words(overrides)
    try:
        with initialize_config_dir(str(config_folder()), version_base="1.3"):
            jobs = jobs_of(quote_words(overrides, sweep=True))
            return [plain(compose(CONFIG_NAME, job)) for job in jobs]
    except (HydraException, OmegaConfBaseException) as error:
        raise UserError(sentence(error)) from None


def sentence(error: Exception) -> str:
    """One sentence for an error of Hydra or OmegaConf."""
    text = str(error)
    option = re.search(r"Could not find '([\w/]+)/([^'/]*)'", text)
    if option:
        group, choice = option.groups()
        offered = re.findall(r"^\t(\S+)$", text, re.MULTILINE)
        names = ", ".join(name for name in offered if not name.startswith("_"))
        return f"{group}={choice} does not exist; {group} is one of {names}."
    several = re.search(r"Ambiguous value for argument '([^=]+)=(.*)'", text)
    if several:
        return _forgotten_sweep(*several.groups())
    sweep = re.search(r"Sweep parameters '(.*)' requires --multirun", text)
    if sweep:
        return f"{sweep.group(1)} stands for several values: add -m to run all."
    key = re.search(r"Could not override '([\w./@]+)'|No match in the defaults list", text)
    if key and key.group(1):
        close = difflib.get_close_matches(key.group(1), _all_keys(), n=1)
        hint = (
            f"did you mean {close[0]}?"
            if close and close[0] != key.group(1)
            else "see `bnnbench run --help`."
        )
        return f"{key.group(1)} is not a setting; {hint}"
    missing = re.search(r"Missing mandatory value: ([\w.]+)", text)
    if missing:
        return f"{missing.group(1)} needs a value: give {missing.group(1)}=VALUE."
    if isinstance(error, OverrideParseException):
        return _unreadable(str(error.override))
    if text.startswith("Error merging override") and error.__cause__:
        text = f"{text.split()[-1]}: {error.__cause__}"
    lines = [line.strip() for line in text.splitlines()]
    useful = [line for line in lines if line and not line.startswith(("object_type", "See http"))]
    return "; ".join(useful).rstrip(".") + "."


def _forgotten_sweep(key: str, values: str) -> str:
    values = values.replace("'", "")  # of numbers that are options
    every = "both" if values.count(",") == 1 else "all"
    listed = "" if key in GROUPS else f", or write {key}=[{values}] for a list"
    return f"{key}={values} holds several values: add -m to run {every}{listed}."


def _unreadable(word: str) -> str:
    """How to quote what Hydra's grammar does not take."""
    key, equals, value = word.partition("=")
    if not equals or not re.fullmatch(r"[\w./@+~-]+", key):
        return f"{word} cannot be read as KEY=VALUE."
    quoted = "'" + value.strip("'\"").replace("'", "\\'") + "'"
    return f'{word} cannot be read; if {value} is text, put it in quotes twice: "{key}={quoted}".'


def _all_keys() -> list[str]:
    """Dotted keys of the default configuration, and the groups."""
    from hydra import compose, initialize_config_dir
    from hydra.core.global_hydra import GlobalHydra

    GlobalHydra.instance().clear()
    with initialize_config_dir(str(config_folder()), version_base="1.3"):
        config = compose(CONFIG_NAME)

    def keys(node: Any, prefix: str = "") -> list[str]:
        found = []
        for key, value in node.items_ex(resolve=False):
            found.append(prefix + str(key))
            if isinstance(value, DictConfig):
                found += keys(value, f"{prefix}{key}.")
        return found

    return keys(config)
