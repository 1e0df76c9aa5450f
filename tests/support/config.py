"""Composes configurations as the command line does, each once per process."""

from __future__ import annotations

from copy import deepcopy
from functools import cache
from typing import Any

from hydra import compose as hydra_compose
from omegaconf import OmegaConf

from bnnbench.config.compose import initialise_hydra
from bnnbench.config.configs import CONFIG_NAME, GROUPS
from bnnbench.config.overrides import quote_overrides

# Settings that make a run fast and keep all of its steps.
TINY = [
    *("search.iterations=3", "search.initial_points=2", "search.folds=3", "splits=2"),
    *("training.epochs=2", "training.final_epochs=2", "training.samples=2"),
    *("training.batch_size=16", "evaluation.samples=5", "network.width=4"),
]

PATHS = ("outputs_dir", "dataset.path")
"""Settings that differ between tests, set after composing since nothing refers to them."""


def compose(*overrides: str) -> dict[str, Any]:
    """Return the configuration of `bnnbench run` as plain containers."""
    paths = [words for words in (o.split("=", 1) for o in overrides) if words[0] in PATHS]
    rest = tuple(quote_overrides([o for o in overrides if o.split("=", 1)[0] not in PATHS]))
    config = deepcopy(_composed(CONFIG_NAME, rest))
    for key, value in paths:
        *above, name = key.split(".")
        group = config[above[0]] if above else config
        group[name] = value
    return config


def compose_only(*overrides: str) -> dict[str, Any]:
    """Compose only the given groups, which takes half the time.

    Args:
        overrides: such as `divergence=renyi`, `prior=gaussian` and `divergence.alpha=2`.
    """
    added = (f"+{o}" if o.partition("=")[0] in (*GROUPS, "data_dir") else o for o in overrides)
    return deepcopy(_composed(None, tuple(added)))


@cache
def _composed(name: str | None, overrides: tuple[str, ...]) -> Any:
    with initialise_hydra():
        config = hydra_compose(name, overrides=list(overrides))
    return OmegaConf.to_container(config, resolve=True)
