"""Composes configurations as the command line does, without reading a file twice."""

from __future__ import annotations

import pickle
from functools import cache
from typing import Any

from hydra import compose as hydra_compose
from hydra.core.override_parser.overrides_parser import OverridesParser
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from bnnbench.config.compose import initialise_hydra
from bnnbench.config.configs import CONFIG_NAME, GROUPS
from bnnbench.config.overrides import quote_overrides

# Settings that make a run fast and keep all of its steps.
TINY = [
    *("search.iterations=3", "search.initial_points=2", "search.folds=3", "splits=2"),
    *("training.epochs=2", "training.final_epochs=2", "training.samples=2"),
    *("training.batch_size=16", "evaluation.samples=5", "network.width=4"),
]


def compose(*overrides: str) -> dict[str, Any]:
    """Return the configuration of `bnnbench run` as plain containers."""
    return OmegaConf.to_container(unresolved(*overrides), resolve=True)  # type: ignore[return-value]


def unresolved(*overrides: str) -> DictConfig:
    """Compose as Hydra does: options of groups first, once per process, and then values."""
    words = quote_overrides(overrides)
    options = tuple(word for word in words if word.partition("=")[0] in GROUPS)
    values = [word for word in words if word not in options]
    config: DictConfig = pickle.loads(_composed(CONFIG_NAME, options))
    parsed = OverridesParser.create().parse_overrides(values)
    try:
        if any(one.is_add() or one.is_force_add() or one.is_delete() for one in parsed):
            return pickle.loads(_composed(CONFIG_NAME, tuple(words)))
        for one in parsed:
            OmegaConf.update(config, one.key_or_group, one.value(), merge=True)
    except OmegaConfBaseException:  # Hydra raises the error that users see
        return pickle.loads(_composed(CONFIG_NAME, tuple(words)))
    return config


def compose_only(*overrides: str) -> dict[str, Any]:
    """Compose only the given groups, which takes half the time.

    Args:
        overrides: such as `divergence=renyi`, `prior=gaussian` and `divergence.alpha=2`.
    """
    added = (f"+{o}" if o.partition("=")[0] in (*GROUPS, "data_dir") else o for o in overrides)
    config = pickle.loads(_composed(None, tuple(added)))
    return OmegaConf.to_container(config, resolve=True)  # type: ignore[return-value]


@cache
def _composed(name: str | None, overrides: tuple[str, ...]) -> bytes:
    with initialise_hydra():
        return pickle.dumps(hydra_compose(name, overrides=list(overrides)))
