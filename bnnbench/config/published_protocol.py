"""Reads the published protocol of a method on a data set from their YAML files."""

from __future__ import annotations

from functools import cache
from typing import Any

from omegaconf import DictConfig, OmegaConf

from bnnbench.config.configs import CONFIG_NAME, chosen_options, config_folder, read_option

SETTINGS = (
    *("network.width", "training.epochs", "training.final_epochs", "training.batch_size"),
    *("training.learning_rate", "training.samples", "evaluation.samples"),
    *("search.iterations", "search.initial_points", "search.folds", "search.objective"),
)
"""Settings that published results determine, in addition to the choice of options."""

HYPER_PARAMETERS = ("prior_precision", "noise_precision", "dropout")
"""Searched if the YAML file of a method says null."""


@cache
def published_protocol(method: str, family: str, dataset: str) -> dict[str, Any]:
    """Return the settings of a method on a data set under the published protocol.

    The protocol is the default option, or the one that a preset chooses. Merging a few files is
    far faster than composing.

    Args:
        method: an option of `method`.
        family: used if there is no such option; without it, the settings of most methods.
        dataset: an option of `dataset`; any other name has the settings of most data sets.

    Returns:
        Values by dotted name, such as `training.epochs`, and search bounds such as
        `bounds.dropout`; `search` is the option, or `none` if all hyper-parameters are fixed.
    """
    defaults = {**_default_options(), **chosen_options("method", method)}
    config = OmegaConf.merge(
        {group: {"label": defaults[group]} for group in ("likelihood", "loss")},
        {
            "method": read_option("method", method)
            or read_option("method", family)
            or {"protocol": {}}
        },
        {"dataset": read_option("dataset", dataset) or read_option("dataset", "_base")},
        {"dataset": {"name": dataset}, "search": read_option("search", defaults["search"])},
        read_option("protocol", defaults["protocol"]),
    )
    assert isinstance(config, DictConfig)
    sections = (OmegaConf.select(config, f"{g}.protocol.bounds") for g in ("dataset", "method"))
    bounds: Any = OmegaConf.to_container(OmegaConf.merge(*(one or {} for one in sections)))
    return {
        "likelihood": defaults["likelihood"],
        "likelihood.loss": defaults["loss"],
        "network.depth": int(defaults["depth"]),
        "search": defaults["search"] if _is_searched(config) else "none",
        **{name: OmegaConf.select(config, name) for name in SETTINGS},
        **{f"bounds.{name}": tuple(ends) for name, ends in bounds.items()},
    }


def use_published_protocols() -> None:
    """Let results be compared with published protocols, which their layer cannot read."""
    from bnnbench.results.published.protocol import set_protocol_reader

    set_protocol_reader(published_protocol)


def _is_searched(config: DictConfig) -> bool:
    """Return whether the protocol leaves a hyper-parameter open."""
    fixed = OmegaConf.select(config, "method.protocol.fixed_original_units") or {}
    method = config.method
    if method.get("predicts_noise"):
        return False
    has_noise = config.likelihood.label == _default_options()["likelihood"]
    given = [n for n in HYPER_PARAMETERS if n in method and (has_noise or n != "noise_precision")]
    return not given or any(method[n] is None and fixed.get(n) is None for n in given)


@cache
def _default_options() -> dict[str, str]:
    """Return the default option of each group."""
    main: Any = OmegaConf.to_container(OmegaConf.load(config_folder() / f"{CONFIG_NAME}.yaml"))
    entries = [entry for entry in main["defaults"] if isinstance(entry, dict)]
    return {group: option for entry in entries for group, option in entry.items()}
