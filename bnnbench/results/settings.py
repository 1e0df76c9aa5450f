"""Settings of runs by dotted name, and which of them tell runs apart."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

TITLES = ("label", "name")
"""Settings of a component that stand for it: `likelihood` is `gaussian`."""

SAID_LAST = ("class", "table")
"""Last parts of names that say little to readers: paths of classes, fingerprints of data."""

READABLE = {
    "network.width": "width",
    "network.depth": "depth",
    "training.epochs": "epochs",
    "training.final_epochs": "final epochs",
    "training.batch_size": "batch size",
    "training.samples": "samples",
    "training.learning_rate": "learning rate",
    "evaluation.samples": "test samples",
    "search.iterations": "search iterations",
    "search.initial_points": "random search points",
    "search.folds": "folds",
    "search.objective": "search objective",
    "likelihood.loss": "loss",
    "method.noise_precision": "noise precision",
    "method.prior_precision": "prior precision",
    "method.dropout": "dropout",
    "bounds.noise_precision": "bounds of noise precision",
    "bounds.prior_precision": "bounds of prior precision",
    "bounds.dropout": "bounds of dropout",
    "dataset.n_splits": "splits made",
    "dataset.seeded_splits": "seeded splits",
    "dataset.split_seed": "split seed",
    "dataset.test_fraction": "test fraction",
    "table": "data",
}
"""What readers are told of common settings, by dotted name; others go by the dotted name."""

SEARCHED = ("method.noise_precision", "method.prior_precision", "method.dropout")
"""What a search finds for a run that gives it no value."""

ABSENT = object()

Settings = Mapping[str, Any]
"""By dotted name, as on the command line; lists are tuples."""


def flatten(identity: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a run's identity, `training.epochs` for one.

    A component goes by its label or name where it has one, so that `method` is `vadam`. The
    experiment's own label is `experiment`.

    Args:
        identity: of a record.
    """
    own = {"experiment" if key == "label" else key: value for key, value in identity.items()}
    return dict(_leaves(own, ""))


def _leaves(component: Mapping[str, Any], above: str) -> Iterator[tuple[str, Any]]:
    for key, value in component.items():
        name = f"{above}{key}"
        if isinstance(value, Mapping):
            title = next((title for title in TITLES if title in value), None)
            if title:
                yield name, value[title]
            yield from _leaves({k: v for k, v in value.items() if k != title}, f"{name}.")
        else:
            yield name, _fixed(value)


def _fixed(value: Any) -> Any:
    return tuple(map(_fixed, value)) if isinstance(value, list) else value


def spoken(name: str, value: Any) -> str:
    """`epochs 5`: a setting and its value as readers are told."""
    found = value is None and name in SEARCHED
    return f"{READABLE.get(name, name)} {'searched' if found else written(value)}"


def written(value: Any) -> str:
    """A value as it is typed on the command line, but that lists have strokes: `100/200`."""
    if isinstance(value, tuple):
        return "/".join(map(written, value))
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return f"{value:g}" if isinstance(value, float) else str(value)


def differing(settings: Sequence[Settings]) -> dict[str, tuple[Any, ...]]:
    """The settings in which some runs differ, each with the value of every run or `ABSENT`.

    What only some runs have (the folds of a search that others do without) counts if those differ
    in it. Paths of classes and fingerprints are left out.
    """
    names = dict.fromkeys(name for own in settings for name in own)
    columns = {name: tuple(own.get(name, ABSENT) for own in settings) for name in names}
    return {
        name: column
        for name, column in columns.items()
        if len({*column} - {ABSENT}) > 1 and name.rpartition(".")[2] not in SAID_LAST
    }


def telling(settings: Sequence[Settings]) -> tuple[str, ...]:
    """Names of the settings that tell some runs apart, those of equal values once.

    Where such as readers understand do not tell all of them apart, whatever else differs counts:
    what only some runs have, a class, the data.
    """
    chosen = _once(differing(settings))
    if len({tuple(own.get(name, ABSENT) for name in chosen) for own in settings}) == len(settings):
        return chosen
    names = dict.fromkeys(name for own in settings for name in own)
    columns = {name: tuple(own.get(name, ABSENT) for own in settings) for name in names}
    return _once({name: column for name, column in columns.items() if len({*column}) > 1})


def _once(columns: Mapping[str, tuple[Any, ...]]) -> tuple[str, ...]:
    first: dict[tuple[Any, ...], str] = {}
    for name, column in columns.items():
        first.setdefault(column, name)
    return tuple(first.values())


def differing_columns(table: pd.DataFrame) -> pd.DataFrame:
    """A column for every setting that differs between the rows and is no column of theirs yet.

    A depth is there as `depth`. What belongs to the data sets (their columns, their files) is told
    by their names; it has a column where runs on one data set differ in it.

    Args:
        table: rows of `Runs.scored`.
    """
    own = differing(list(table["settings"]))
    described = {name for name in own if name.startswith("dataset.")}
    for _, group in table.groupby("dataset"):
        described -= differing(list(group["settings"])).keys()
    there = {name: tuple(table[name]) for name in table if name != "settings"}
    names = [name for name in own if name not in there and name not in described]
    names = [name for name in names if there.get(name.rpartition(".")[2]) != own[name]]
    # A method's likelihood is that of the run.
    names = [name for name in names if own.get(name.partition(".")[2]) != own[name]]
    cells = {name: [_cell(value) for value in own[name]] for name in names}
    return pd.DataFrame(cells, index=table.index, dtype=object)


def _cell(value: Any) -> Any:
    if value is ABSENT:
        return None
    return written(value) if isinstance(value, tuple) else value
