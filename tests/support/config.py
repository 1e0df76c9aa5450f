"""Composes configurations as the command line does, but the options of groups only once."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any
from unittest.mock import patch

from hydra.core.override_parser.overrides_parser import OverridesParser
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from bnnbench.config import compose as product
from bnnbench.config.compose import initialise_hydra, sweep_jobs
from bnnbench.config.configs import GROUPS, config_folders, read_option
from bnnbench.config.hydra_state import own_hydra
from bnnbench.config.overrides import quote_overrides

# Settings that make a run fast and keep all of its steps.
TINY = [
    *("search.iterations=3", "search.initial_points=2", "search.folds=3", "splits=2"),
    *("training.epochs=2", "training.final_epochs=2", "training.samples=2"),
    *("training.batch_size=16", "evaluation.samples=5", "network.width=4"),
]

compose_all = product._compose
"""Hydra's composition, which takes most of the time of many tests."""


@contextmanager
def cached_composition() -> Iterator[None]:
    """Let commands in this process use `compose_cached`."""
    with patch.object(product, "_compose", compose_cached):
        yield


def compose_cached(words: Sequence[str]) -> DictConfig:
    """Compose as Hydra does: options of groups first, once per process, and then values.

    Files of one's own and errors are left to Hydra.
    """
    if product._config_dirs.get() != () or len(config_folders()) > 1:
        return compose_all(words)
    parsed = OverridesParser.create().parse_overrides(list(words))
    options = [one for one in parsed if one.key_or_group in GROUPS]
    values = [one for one in parsed if one.key_or_group not in GROUPS]
    plain = all("=" in word and word[0] not in "+~" and "@" not in word for word in words)
    if not plain or any(one.is_sweep_override() for one in parsed):
        return compose_all(words)
    config: DictConfig = pickle.loads(_composed(tuple(str(one.input_line) for one in options)))
    try:
        for one in values:
            OmegaConf.update(config, one.key_or_group, one.value(), merge=True)
    except OmegaConfBaseException:
        return compose_all(words)
    return config


@cache
def _composed(options: tuple[str, ...]) -> bytes:
    return pickle.dumps(compose_all(options))


def compose(*overrides: str) -> dict[str, Any]:
    """Return the configuration of `bnnbench run` as plain containers."""
    with own_hydra():
        return OmegaConf.to_container(unresolved(*overrides), resolve=True)  # type: ignore[return-value]


def unresolved(*overrides: str) -> DictConfig:
    """Return the configuration of `bnnbench run` with a single job."""
    words = quote_overrides(overrides)
    with initialise_hydra():
        return product._job(words, compose_cached(words)).config


def job_overrides(*overrides: str) -> list[list[str]]:
    """Return the overrides of each job of `bnnbench run -m`, given quoted overrides."""
    with initialise_hydra():
        given = product._parse(overrides)
        experiment = product._compose_experiment(given)
        return product._split_jobs(given, experiment.get(product.SWEEP) or {})


def compose_only(*overrides: str) -> dict[str, Any]:
    """Merge only the files of the given options, without Hydra.

    Args:
        overrides: such as `divergence=renyi`, `prior=gaussian` and `divergence.alpha=2`.
    """
    config = OmegaConf.create()
    for one in OverridesParser.create().parse_overrides(list(overrides)):
        key, value = one.key_or_group, one.value()
        option = read_option(key, value) if key in GROUPS else value  # type: ignore[arg-type]
        OmegaConf.update(config, key, option, force_add=True)
    return OmegaConf.to_container(config, resolve=True)  # type: ignore[return-value]


def compose_configs(
    overrides: Sequence[str], max_jobs: int | None = None, config_dir: str | None = None
) -> list[dict[str, Any]]:
    """Return the resolved configuration of each of the `sweep_jobs`."""
    return [job.resolved() for job in sweep_jobs(overrides, max_jobs, config_dir)]
