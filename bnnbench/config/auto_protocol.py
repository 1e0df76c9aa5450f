"""Defaults that depend on the number of rows: the resolver `${auto:NAME}` of `protocol=auto`."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any

from omegaconf import DictConfig, OmegaConf

from bnnbench.near_names import with_known
from bnnbench.types import UserError

RESOLVER = "auto"

LARGE, VERY_LARGE = 5_000, 50_000
"""Numbers of rows above which fewer folds, evaluations and splits suffice: scores vary less."""

MIN_STEPS = 2_000
"""Minimum number of steps of a fit, unless that takes more than 40 epochs."""


def auto_setting(name: str, rows: int) -> int:
    """Return a setting for training sets of a given size.

    Minibatches grow so that an epoch has at most about 250 of them. Epochs are chosen to make
    `MIN_STEPS` steps, between 10 and the book's 40. Folds, evaluations and splits are the book's
    for up to a few thousand rows.

    Args:
        name: `batch_size`, `epochs`, `folds`, `iterations` or `splits`.
        rows: size of the training set.

    Raises:
        UserError: for any other name.
    """
    batch = 32
    while batch < 1024 and rows > 250 * batch:
        batch *= 2
    by_size = {"folds": (5, 3, 2), "iterations": (30, 20, 12), "splits": (20, 10, 5)}
    settings = {
        "batch_size": batch,
        "epochs": min(40, max(10, MIN_STEPS * batch // rows)),
        **{key: values[(rows >= LARGE) + (rows >= VERY_LARGE)] for key, values in by_size.items()},
    }
    if name not in settings:
        raise UserError(
            f"${{{RESOLVER}:{name}}}: unknown setting {with_known(name, settings)}.",
            RESOLVER,
        )
    return settings[name]


def resolve(name: str, *, _root_: DictConfig) -> int:
    """Return a setting for the chosen data set, which is read to count its rows."""
    config = OmegaConf.to_container(_root_.dataset, resolve=True)
    assert isinstance(config, dict)
    rows, splits = _dataset_size(json.dumps(config, sort_keys=True))
    setting = auto_setting(name, rows)
    return min(setting, splits) if name == "splits" else setting


@lru_cache(maxsize=8)
def _dataset_size(config: str) -> tuple[int, int]:
    """Return the size of the largest training set, and the number of splits."""
    from bnnbench.config.instantiate import instantiate

    settings: dict[str, Any] = json.loads(config)
    settings.pop("protocol", None)
    table = instantiate("dataset", settings).load()
    return max(len(split.train) for split in table.splits), len(table.splits)
