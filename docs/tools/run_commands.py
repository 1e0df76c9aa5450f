"""The command that repeats a stored run: its options, and the settings that differ from theirs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import reduce
from operator import getitem
from typing import Any

import yaml

from bnnbench.config.compose import single_job
from bnnbench.config.configs import find_options, read_option
from bnnbench.config.overrides import as_override
from bnnbench.experiment.store.run_folder import RunFolder

COMMANDS = "commands"
"""The table of commands of a folder of stored runs: `run` and `command`."""

GROUPS = ("divergence", "likelihood", "loss", "prior", "search")
"""Groups whose option a run may choose, besides those of `NAMES`."""

NAMES = {"experiment": "label", "method": "label", "dataset": "name"}
"""The key of each group that has the name of its option."""

OF_MACHINE = (
    *("outputs_dir", "data_dir", "workers", "figures", "resume", "splits", "device", "engine"),
)
"""Settings that cannot change a number."""


def command_of(folder: RunFolder) -> str:
    """Return the overrides with which `bnnbench run` repeats a run, separated by blanks."""
    config = yaml.safe_load(folder.config.read_text())
    words = [f"seed={config['seed']}"]
    for group, key in NAMES.items():
        name = config[group][key]
        if name in find_options(group):
            words.append(f"{group}={name}")
    words += _swept(config)
    chosen = single_job(words).resolved()
    words += [
        f"{group}={config[group]['label']}"
        for group in GROUPS
        if _label(config, group) != _label(chosen, group)
    ]
    return " ".join([*words, *_differences(config, single_job(words).resolved())])


def _swept(config: Mapping[str, Any]) -> Iterator[str]:
    """Yield the values of the settings, not of groups, that the run's experiment sweeps over."""
    for name in read_option("experiment", config["experiment"]["label"]).get("sweep", {}):
        if "." in name:
            yield as_override(name, reduce(getitem, name.split("."), config))


def _label(config: Mapping[str, Any], group: str) -> str:
    options = config.get(group)
    return options.get("label", "") if isinstance(options, Mapping) else ""


def _differences(
    config: Mapping[str, Any], chosen: Mapping[str, Any], prefix: str = ""
) -> Iterator[str]:
    """Yield an override for each setting that differs; those that no longer exist are left out."""
    for key, value in config.items():
        name, other = f"{prefix}{key}", chosen.get(key)
        if name in OF_MACHINE or key not in chosen:
            continue
        if isinstance(value, Mapping) and isinstance(other, Mapping):
            yield from _differences(value, other, f"{name}.")
        elif value != other:
            yield as_override(name, value).replace(" ", "")
