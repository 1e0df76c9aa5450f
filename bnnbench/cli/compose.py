"""Composing configurations as plain containers, and one sentence for what goes wrong there."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hydra.errors import HydraException, OverrideParseException
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException
from yaml import MarkedYAMLError, YAMLError

from bnnbench.cli import groups_help, scale, search_path
from bnnbench.cli.absent import no_option
from bnnbench.cli.configs import (
    ALL_GROUPS,
    OWN_GROUPS,
    bringing,
    config_folder,
    config_folders,
    is_choice,
)
from bnnbench.cli.read_once import read_once
from bnnbench.types import UserError

CONFIG_NAME = "run"

groups_help.register()
scale.register()
search_path.register()

REFUSED = f"{UserError.__name__} raised while resolving interpolation: "
"""How OmegaConf passes on what a resolver of ours refuses."""

CONFIGURATION = (HydraException, OmegaConfBaseException, YAMLError, UnicodeDecodeError)
"""What is raised for a configuration that cannot be read or composed."""


def plain(config: DictConfig) -> dict[str, Any]:
    """The resolved configuration as plain containers.

    Raises:
        UserError: if a value is missing or cannot be resolved.
    """
    for group in ALL_GROUPS:  # first, since settings refer to what stands in them
        if group in config and not isinstance(config[group], DictConfig):
            raise UserError(f"{group} must be a group of settings, not {config[group]!r}.")
    try:
        return OmegaConf.to_container(config, resolve=True, throw_on_missing=True)  # type: ignore[return-value]
    except OmegaConfBaseException as error:
        first = str(error).partition("\n")[0]
        if first.startswith(REFUSED):  # by what reads the data, in words of its own
            raise UserError(first.removeprefix(REFUSED)) from None
        raise UserError(sentence(error)) from None


@contextmanager
def initialised(own: str | None = None) -> Iterator[None]:
    """Hydra, ready to compose outside of its own `main`.

    Args:
        own: the folder of `--config-dir`, where options are looked for after `configs`.
    """
    from hydra import initialize_config_dir
    from hydra._internal.hydra import Hydra
    from hydra._internal.utils import create_config_search_path
    from hydra.core.config_search_path import SearchPathQuery
    from hydra.core.global_hydra import GlobalHydra

    with initialize_config_dir(str(config_folder()), version_base="1.3"):
        if own is not None:
            path = create_config_search_path(str(config_folder()))
            folder = f"file://{Path(own).absolute()}"
            path.prepend("command-line", folder, SearchPathQuery(provider="schema"))
            GlobalHydra.instance().clear()
            Hydra.create_main_hydra2("bnnbench", path)
        read_once()
        yield


def sentence(error: Exception, own: str | None = None) -> str:
    """One sentence for an error of Hydra, OmegaConf or YAML.

    Args:
        error: what was raised.
        own: the folder of `--config-dir`, in which a file may be at fault.
    """
    text = str(error)
    if isinstance(error, MarkedYAMLError) and error.problem_mark:
        mark = error.problem_mark
        return f"{mark.name}, line {mark.line + 1}: this is no YAML: {error.problem}."
    if isinstance(error, UnicodeDecodeError):
        byte = error.object[error.start]
        return f"{_no_text(own)} is not UTF-8 text: byte {byte:#x} is not."
    if isinstance(error, OverrideParseException):
        return _unreadable(str(error.override))
    for pattern, answer in ANSWERS.items():
        found = re.search(pattern, text)
        if found:
            return answer(text, *found.groups())
    if text.startswith("Error merging override") and error.__cause__:
        text = f"{text.split()[-1]}: {error.__cause__}"
    lines = [line.strip() for line in text.partition("Config search path:")[0].splitlines()]
    useful = [line for line in lines if line and not line.startswith(("object_type", "See http"))]
    return "; ".join(useful).replace(".;", ";").rstrip(".") + "."


def _no_text(own: str | None) -> str:
    """The first file from outside that is no text; Python does not say which one it was."""
    folders = [folder.path for folder in config_folders()[1:]]
    folders += [Path(own)] if own is not None else []
    for file in (file for folder in folders for file in sorted(folder.glob("*/*.yaml"))):
        try:
            file.read_text("utf-8")
        except UnicodeDecodeError:
            return str(file)
        except OSError:
            continue
    return "a file of the configuration"


def _no_option(text: str, group: str, choice: str) -> str:
    offered = re.findall(r"^\t(\S+)$", text, re.MULTILINE)
    if group == "dataset" and "." in choice:
        own = f"dataset=csv dataset.path={choice} dataset.target=COLUMN"
        return f"dataset={choice} does not exist; for a table of your own write {own}."
    brought = "provider=command-line" in text  # --config-dir, in Hydra's list of folders
    return no_option(group, choice, [name for name in offered if is_choice(name)], brought)


def _no_setting(text: str, key: str) -> str:
    if key in OWN_GROUPS:
        return f"{key} is chosen with experiment={' or '.join(bringing(key))} only."
    keys, (place, dot, name) = _all_keys(), key.rpartition(".")
    # What is known by this name in another place is meant, rather than what is spelt alike.
    close = [known for known in keys if known.rpartition(".")[2] == name]
    if not close:
        beside = [known.rpartition(".")[2] for known in keys if known.rpartition(".")[0] == place]
        close = [place + dot + one for one in difflib.get_close_matches(name, beside, n=1)]
    known = bool(close) and key not in close
    hint = f"did you mean {close[0]}?" if known else "see `bnnbench run --help`."
    return f"{key} is not a setting; {hint}"


def _sweep(text: str, word: str) -> str:
    return f"{word} stands for several values: add -m to run all."


def _missing(text: str, key: str) -> str:
    return f"{key} needs a value: give {key}=VALUE."


def _no_group(text: str, key: str) -> str:
    return f"{key} must be a group of settings; give single ones with {key}.KEY=VALUE."


def _refers(text: str, to: str, key: str) -> str:
    return f"{key} is taken from {to}, which is not there; give {key}=VALUE."


def _forgotten_sweep(text: str, key: str, values: str) -> str:
    values = values.replace("'", "")  # of numbers that are options
    every = "both" if values.count(",") == 1 else "all"
    listed = "" if key in ALL_GROUPS else f", or write {key}=[{values}] for a list"
    return f"{key}={values} holds several values: add -m to run {every}{listed}."


def _unreadable(word: str) -> str:
    """How to quote what Hydra's grammar does not take."""
    key, equals, value = word.partition("=")
    if not equals or not re.fullmatch(r"[\w./@+~-]+", key):
        return f"{word} cannot be read as KEY=VALUE."
    quoted = "'" + value.strip("'\"").replace("'", "\\'") + "'"
    return f'{word} cannot be read; if {value} is text, put it in quotes twice: "{key}={quoted}".'


ANSWERS: dict[str, Callable[..., str]] = {
    r"Could not find '([\w/]+)/([^'/]*)'": _no_option,
    r"Ambiguous value for argument '([^=]+)=(.*)'": _forgotten_sweep,
    r"Sweep parameters '(.*)' requires --multirun": _sweep,
    r"Could not override '([\w./@]+)'": _no_setting,
    r"Missing mandatory value: ([\w.]+)": _missing,
    r"node `([\w.]+)` is not a container": _no_group,
    r"Interpolation key '(.+)' not found\s+full_key: (\S+)": _refers,
}
"""By what Hydra and OmegaConf say, what is said here, from their text and the pattern's groups."""


def _all_keys() -> list[str]:
    """Dotted keys of the default configuration, and the groups."""
    from hydra import compose
    from hydra.core.global_hydra import GlobalHydra

    GlobalHydra.instance().clear()
    with initialised():
        config = compose(CONFIG_NAME)

    def keys(node: Any, prefix: str = "") -> list[str]:
        found = []
        for key, value in node.items_ex(resolve=False):
            if str(key).startswith("_"):  # _target_ is no one's to set
                continue
            found.append(prefix + str(key))
            if isinstance(value, DictConfig):
                found += keys(value, f"{prefix}{key}.")
        return found

    return keys(config)
