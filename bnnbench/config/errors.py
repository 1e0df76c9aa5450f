"""Turns errors of Hydra, OmegaConf and YAML into user errors."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from hydra.errors import HydraException, OverrideParseException
from omegaconf import DictConfig
from omegaconf.errors import OmegaConfBaseException
from yaml import MarkedYAMLError, YAMLError

from bnnbench.config.configs import (
    CONFIG_NAME,
    GROUPS,
    config_folder,
    config_folders,
    is_option,
    unknown_option,
)
from bnnbench.files import read_text
from bnnbench.near_names import closest_match
from bnnbench.notes import one_line, shorten
from bnnbench.types import UserError

CONFIG_ERRORS = (
    *(HydraException, OmegaConfBaseException, YAMLError, UnicodeDecodeError),
    RecursionError,  # Hydra and PyYAML do not detect a circle
)
"""Errors of a configuration that cannot be read or composed."""


def to_user_error(error: BaseException, config_dir: str | None = None) -> UserError:
    """Return the user error for an error of Hydra, OmegaConf or YAML.

    Args:
        error: the original error.
        config_dir: the folder of `--config-dir`, which may hold the faulty file.
    """
    cause: BaseException | None = error
    while cause is not None:  # raised by one of our resolvers, which reads the data
        if isinstance(cause, UserError):
            return cause
        cause = cause.__cause__ or cause.__context__
    if isinstance(error, RecursionError):
        return UserError(
            "the YAML files of this configuration include each other in a circle, or one is nested "
            "too deeply; check the defaults lists of your own.",
            code="circular",
        )
    text = str(error) or str(error.__cause__)
    if isinstance(error, MarkedYAMLError) and error.problem_mark:
        mark = error.problem_mark
        return UserError(
            f"{mark.name}, line {mark.line + 1}: invalid YAML: {error.problem}.", code="yaml"
        )
    if isinstance(error, UnicodeDecodeError):
        byte = error.object[error.start]
        file = _undecodable_file(config_dir)
        return UserError(
            f"{file} is not UTF-8 text (byte {byte:#x}); save it as UTF-8.", code="not_utf8"
        )
    if isinstance(error, OverrideParseException):
        return _syntax_error(str(error.override))
    for pattern, translate in TRANSLATIONS.items():
        found = re.search(pattern, text)
        if found:
            return translate(text, *found.groups())
    for pattern, (template, code) in TEMPLATES.items():
        if found := re.search(pattern, text):
            return UserError(template.format_map(found.groupdict()), found["key"], code)
    setting = None
    if text.startswith("Error merging override") and error.__cause__:
        setting = text.split()[-1].partition("=")[0]
        text = f"{text.split()[-1]}: {error.__cause__}"
    lines = [line.strip() for line in text.partition("Config search path:")[0].splitlines()]
    useful = [line for line in lines if line not in ("", "full_key:")]
    noise = ("object_type", "reference_type", "See http")
    useful = [line for line in useful if not line.startswith(noise)]
    message = "; ".join(useful).replace(".;", ";").rstrip(".")
    return UserError(f"{message}.", setting, "hydra")


def not_a_mapping(key: str, value: object) -> UserError:
    """Return the error for a value in the place of a group of settings."""
    return UserError(f"{key} must be a group of settings, not {value!r}.", key, "not_a_group")


def hydra_setting_error(key: str) -> UserError:
    """Return the error for a setting of Hydra's own application, such as its launcher."""
    return UserError(
        f"{key}: settings of Hydra itself are not supported; use -m for sweeps and engine= for "
        "clusters (see `bnnbench list engine`).",
        key,
        "hydra_setting",
    )


def _undecodable_file(config_dir: str | None) -> str:
    """Return the first external file that is not UTF-8; Python does not say which one it was."""
    _, *folders = config_folders()
    folders += [Path(config_dir)] if config_dir is not None else []
    for file in (file for folder in folders for file in sorted(folder.glob("*/*.yaml"))):
        try:
            read_text(file)
        except UnicodeDecodeError:
            return str(file)
        except OSError:
            continue
    return "a file of the configuration"


def _unknown_option(text: str, group: str, choice: str) -> UserError:
    if group == "dataset" and "." in choice:
        own = f"dataset=csv dataset.path={choice} dataset.target=COLUMN"
        return UserError(
            f"unknown dataset {shorten(choice)!r}; for your own table, write {own}.", group, "file"
        )
    found = re.findall(r"^\t(\S+)$", text, re.MULTILINE)
    has_config_dir = "provider=command-line" in text  # in Hydra's list of folders
    return unknown_option(
        group, choice, [name for name in found if is_option(name)], has_config_dir
    )


def _unknown_setting(text: str, key: str) -> UserError:
    keys, (parent, dot, name) = _all_keys(), key.rpartition(".")
    # The same name elsewhere is a better guess than a similar name here.
    close = [known for known in keys if known.rpartition(".")[2] == name]
    if not close:
        siblings = [
            known.rpartition(".")[2] for known in keys if known.rpartition(".")[0] == parent
        ]
        close = [parent + dot + one for one in filter(None, [closest_match(name, siblings)])]
    known = bool(close) and key not in close
    hint = f"did you mean {close[0]}?" if known else "see `bnnbench run --cfg job`."
    return UserError(f"unknown setting {key}; {hint}", key, "unknown_setting")


def _ambiguous(text: str, key: str, values: str) -> UserError:
    values = values.replace("'", "")  # quotes around options that are numbers
    every = "both" if values.count(",") == 1 else "all"
    or_list = "" if key in GROUPS else f", or write {key}=[{values}] for a list"
    return UserError(
        f"{key}={values} has several values: add -m to run {every}{or_list}.",
        key,
        "needs_multirun",
    )


def _syntax_error(word: str) -> UserError:
    word = one_line(word)
    key, equals, value = word.partition("=")
    if not equals or not re.fullmatch(r"[\w./@+~-]+", key):
        return UserError(f"cannot parse {word} as KEY=VALUE.", key.lstrip("+~"), "syntax")
    quoted = "'" + value.strip("'\"").replace("'", "\\'") + "'"
    return UserError(
        f'cannot parse {word}; if {value} is text, put it in quotes twice: "{key}={quoted}".',
        key.lstrip("+~"),
        "syntax",
    )


TRANSLATIONS: dict[str, Callable[..., UserError]] = {
    r"Could not find '(\w+)/([^']*)'": _unknown_option,
    r"Ambiguous value for argument '([^=]+)=(.*)'": _ambiguous,
    r"Could not override '([\w./@]+)'": _unknown_setting,
    r"HydraConfig was not set\s+full_key: (\S+)": lambda _, key: hydra_setting_error(key),
    r"Incompatible key type '(\w+)'": lambda _, kind: UserError(
        f"a key in a YAML file of your own is not text ({kind}); put it in quotes.", code="yaml_key"
    ),
}
"""Patterns of messages of Hydra and OmegaConf; each function gets the message and the groups."""

TEMPLATES = {
    r"Sweep parameters '(?P<word>(?P<key>[^=]*).*)' requires --multirun": (
        "{word} has several values: add -m to run all.",
        "needs_multirun",
    ),
    r"Missing mandatory value: (?P<key>[\w.]+)": (
        "{key} needs a value: give {key}=VALUE.",
        "missing",
    ),
    r"node `(?P<key>[\w.]+)` is not a container": (
        "{key} must be a group of settings; give single settings as {key}.KEY=VALUE.",
        "not_a_group",
    ),
    r"Recursive interpolation detected\s+full_key: (?P<key>\S+)": (
        "{key} refers to itself; give it a value.",
        "circular",
    ),
    r"Interpolation key '(?P<source>.+)' not found\s+full_key: (?P<key>\S+)": (
        "{key} is taken from {source}, which does not exist; give {key}=VALUE.",
        "unresolved",
    ),
}
"""Further patterns, with our message and its code; the setting is `key`."""


@cache
def _all_keys() -> list[str]:
    """Return the dotted keys of the default configuration, groups included."""
    from hydra import compose, initialize_config_dir

    from bnnbench.config.hydra_state import own_hydra

    with own_hydra(), initialize_config_dir(str(config_folder()), version_base="1.3"):
        config = compose(CONFIG_NAME)

    def keys(node: Any, prefix: str = "") -> list[str]:
        found = []
        for key, value in node.items_ex(resolve=False):
            if str(key).startswith("_"):  # _target_ is not a setting
                continue
            found.append(prefix + str(key))
            if isinstance(value, DictConfig):
                found += keys(value, f"{prefix}{key}.")
        return found

    return keys(config)
