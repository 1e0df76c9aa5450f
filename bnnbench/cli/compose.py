"""Composing configurations as plain containers, and one sentence for what goes wrong there."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from typing import Any

from hydra.errors import HydraException, OverrideParseException
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from bnnbench.cli.configs import config_folder, quote_options
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

    try:
        with initialize_config_dir(str(config_folder()), version_base="1.3"):
            jobs = jobs_of(quote_options(overrides))
            return [plain(compose(CONFIG_NAME, job)) for job in jobs]
    except (HydraException, OmegaConfBaseException) as error:
        raise UserError(sentence(error)) from None


def sentence(error: Exception) -> str:
    """One sentence for an error of Hydra or OmegaConf."""
    text = str(error)
    option = re.search(r"Could not find '([\w/]+)/([^'/]+)'", text)
    if option:
        group, choice = option.groups()
        offered = re.findall(r"^\t(\S+)$", text, re.MULTILINE)
        names = ", ".join(name for name in offered if not name.startswith("_"))
        return f"{group}={choice} does not exist; {group} is one of {names}."
    key = re.search(r"Could not override '([\w./]+)'|No match in the defaults list", text)
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
        return f"{error.override} cannot be read as KEY=VALUE: {text.splitlines()[0].rstrip('.')}."
    lines = [line.strip() for line in text.splitlines()]
    useful = [line for line in lines if line and not line.startswith(("object_type", "See http"))]
    return "; ".join(useful).rstrip(".") + "."


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
