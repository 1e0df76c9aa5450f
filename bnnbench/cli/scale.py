"""Settings that follow from the number of rows: `${for_rows:NAME}` in a YAML."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any

from omegaconf import DictConfig, OmegaConf

from bnnbench.types import UserError

RESOLVER = "for_rows"

SMALL, LARGE = 5_000, 50_000
"""Rows from which less of everything is enough, since what it is for varies less."""

STEPS = 2_000
"""Of a fit, at the least where that takes no more than the usual epochs."""


def for_rows(name: str, rows: int) -> int:
    """One setting for training parts of so many rows.

    Minibatches grow so that an epoch has at most about 250 of them; epochs are as many as make
    `STEPS` steps, 10 to the book's 40. Folds, evaluations and splits are the book's up to some
    thousand rows.

    Args:
        name: `batch_size`, `epochs`, `folds`, `iterations` or `splits`.
        rows: of a training part.

    Raises:
        UserError: for another name.
    """
    batch = 32
    while batch < 1024 and rows > 250 * batch:
        batch *= 2
    sizes = {"folds": (5, 3, 2), "iterations": (30, 20, 12), "splits": (20, 10, 5)}
    found = {
        "batch_size": batch,
        "epochs": min(40, max(10, STEPS * batch // rows)),
        **{key: many[(rows >= SMALL) + (rows >= LARGE)] for key, many in sizes.items()},
    }
    if name not in found:
        raise UserError(f"${{{RESOLVER}:{name}}}: {name} must be one of {', '.join(found)}.")
    return found[name]


def register() -> None:
    """Makes the resolver known, which reads the configuration's data set to count its rows."""
    OmegaConf.register_new_resolver(RESOLVER, _resolve, replace=True)


def _resolve(name: str, *, _root_: DictConfig) -> int:
    config = OmegaConf.to_container(_root_.dataset, resolve=True)
    assert isinstance(config, dict)
    trained, splits = _sizes(json.dumps(config, sort_keys=True))
    found = for_rows(name, trained)
    return min(found, splits) if name == "splits" else found


@lru_cache(maxsize=8)
def _sizes(config: str) -> tuple[int, int]:
    """Rows of the largest training part of a data set, and how many splits it has."""
    from bnnbench.cli.make import make

    settings: dict[str, Any] = json.loads(config)
    settings.pop("protocol", None)
    table = make("dataset", settings).load()
    return max(len(split.train) for split in table.splits), len(table.splits)
