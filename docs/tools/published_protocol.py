"""Write the settings of the published protocol: `python docs/tools/published_protocol.py`.

They are those of the YAML files in `configs`; the package reads them from `FILE`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from omegaconf import DictConfig, OmegaConf

from bnnbench.config.configs import CONFIG_NAME, config_folder, is_option, read_option
from bnnbench.config.instantiate import instantiate
from bnnbench.results.published import protocol
from bnnbench.results.published.protocol import ANY

FILE = Path(protocol.__file__).with_name("protocol.json")

SETTINGS = (
    *("network.width", "training.epochs", "training.final_epochs", "training.batch_size"),
    *("training.learning_rate", "training.samples", "evaluation.samples"),
    *("search.iterations", "search.initial_points", "search.folds", "search.objective"),
    "search.held_out_fraction",
)
"""Settings that published results determine, in addition to the choice of options."""

HYPER_PARAMETERS = ("prior_precision", "noise_precision", "dropout")
"""Searched if the YAML file of a method says null."""


def option_names(group: str) -> Iterator[str]:
    """Yield our options of a group."""
    files = sorted((config_folder() / group).glob("*.yaml"))
    return (file.stem for file in files if is_option(file.stem))


@cache
def composed_settings(method: str, dataset: str) -> dict[str, Any]:
    """Return the settings of a method on a data set under the published protocol.

    The protocol is the default option, or the one that a preset chooses. Merging a few files is
    far faster than composing.

    Args:
        method: an option of `method`, or `ANY`: the settings of most methods.
        dataset: an option of `dataset`, or `ANY`.

    Returns:
        Values by dotted name, such as `training.epochs`, and search bounds such as
        `bounds.dropout`; `search` is the option, or `none` if all hyper-parameters are fixed.
    """
    defaults = {**default_options(), **chosen_options(method)}
    config = OmegaConf.merge(
        {group: {"label": defaults[group]} for group in ("likelihood", "loss")},
        {"method": read_option("method", method) or {"protocol": {}}},
        {"dataset": read_option("dataset", dataset) or read_option("dataset", "_base")},
        {"dataset": {"name": dataset}, "search": read_option("search", defaults["search"])},
        read_option("protocol", defaults["protocol"]),
    )
    assert isinstance(config, DictConfig)
    free = searched_names(config)
    return {
        "likelihood": defaults["likelihood"],
        "likelihood.loss": defaults["loss"],
        "network.depth": int(defaults["depth"]),
        "search": defaults["search"] if free else "none",
        **{name: OmegaConf.select(config, name) for name in SETTINGS},
        "tuned_on_test": bool(config.method.get("tuned_on_test")),
        **search_settings(config, free),
    }


def searched_names(config: DictConfig) -> list[str]:
    """Return the hyper-parameters that the protocol leaves open.

    They are all that a method may have if it does not name any, as for `ANY`.
    """
    fixed = OmegaConf.select(config, "method.protocol.fixed_original_units") or {}
    method = config.method
    if method.get("predicts_noise"):
        return []
    has_noise = config.likelihood.label == default_options()["likelihood"]
    given = [n for n in HYPER_PARAMETERS if n in method and (has_noise or n != "noise_precision")]
    if not given:
        return [*HYPER_PARAMETERS]
    return [n for n in given if method[n] is None and fixed.get(n) is None]


def search_settings(config: DictConfig, free: Sequence[str]) -> dict[str, Any]:
    """Return the search bounds, and for a grid its values and the number of evaluations."""
    bounds: dict[str, Any] = {}
    for group in ("dataset", "method"):
        own = OmegaConf.select(config, f"{group}.protocol.bounds") or OmegaConf.create()
        bounds |= OmegaConf.to_container(own, resolve=True)
    in_units: Any = OmegaConf.select(config, "method.protocol.bounds_original_units") or {}
    found = {f"bounds.{name}": ends for name, ends in bounds.items()}
    found |= {f"bounds_original_units.{n}": [*ends] for n, ends in in_units.items() if ends}
    if config.search.label != "grid":
        return found
    grid = instantiate("search", OmegaConf.to_container(config.search, resolve=True))
    grid = grid.for_method(HYPER_PARAMETERS, free)
    found |= {f"search.values.{n}": [*values] for n, values in grid.values.items()}
    for name in (*free, *grid.training_settings):
        dimension = grid.dimension(name, bounds, in_units)
        if dimension.original_units:
            values = grid.values_original_units[name]
            found[f"search.values_original_units.{name}"] = [*values]
        units = "_original_units" * dimension.original_units
        found[f"bounds{units}.{name}"] = [dimension.low, dimension.high]
    # A grid has no random points, and runs do not record the setting that it ignores.
    return {**found, "search.iterations": grid.iterations, "search.initial_points": None}


@cache
def default_options() -> dict[str, str]:
    """Return the default option of each group."""
    main: Any = OmegaConf.to_container(OmegaConf.load(config_folder() / f"{CONFIG_NAME}.yaml"))
    entries = [entry for entry in main["defaults"] if isinstance(entry, dict)]
    return {group: option for entry in entries for group, option in entry.items()}


@cache
def chosen_options(method: str) -> dict[str, str]:
    """Return the options that a method chooses in other groups.

    A preset does so by `override /likelihood@_global_.likelihood: heteroscedastic` in `defaults`.
    """
    file = config_folder() / "method" / f"{method}.yaml"
    own: Any = OmegaConf.load(file) if file.is_file() else {}
    defaults = own.get("defaults", ())
    overrides = (item for one in defaults if not isinstance(one, str) for item in one.items())
    return {key.removeprefix("override /").split("@")[0]: option for key, option in overrides}


def protocol_table() -> dict[str, dict[str, dict[str, Any]]]:
    """Return the settings by method and data set.

    `ANY` has those of most methods or data sets; the others have only what differs.
    """
    datasets = (ANY, *option_names("dataset"))
    table: dict[str, dict[str, dict[str, Any]]] = {}
    for method in (ANY, *option_names("method")):
        table[method] = {}
        for dataset in datasets:
            parts = (table[ANY].get(ANY), table[ANY].get(dataset), table[method].get(ANY))
            known = {name: value for part in parts for name, value in (part or {}).items()}
            composed = composed_settings(method, dataset)
            own = {n: v for n, v in composed.items() if n not in known or known[n] != v}
            if own:
                table[method][dataset] = own
    return table


def as_text(table: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> str:
    """Return the content of the file: a line for each data set of a method."""
    blocks = []
    for method, rows in table.items():
        lines = [f'"{dataset}": {json.dumps(own)}' for dataset, own in rows.items()]
        blocks.append(f'"{method}": {{' + ",\n  ".join(lines) + "}")
    return "{\n" + ",\n".join(blocks) + "\n}\n"


if __name__ == "__main__":
    FILE.write_text(as_text(protocol_table()))
