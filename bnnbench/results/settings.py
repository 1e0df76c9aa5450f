"""Settings of runs by dotted name: as printed, which differ from expected ones or between runs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import pandas as pd

LABEL_KEYS = ("label", "name")
"""Settings that give a component its value: `likelihood` is `gaussian`."""

IGNORED_SUFFIXES = ("class", "table")
"""Last parts of names that readers need not see: class paths, fingerprints of data."""

TECHNICAL_SETTINGS = (
    *("training.compile", "evaluation.out_of_fold", "evaluation.score_training_rows"),
    *("evaluation.save_objective", "evaluation.save_predictive_mixture"),
    "evaluation.save_fold_predictions",
)
"""Settings that change no score, up to rounding; they name a run only if nothing else does."""

READABLE_NAMES = {
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
    "search.held_out_fraction": "held-out fraction of training rows",
    "likelihood.loss": "loss",
    "method.noise_precision": "noise precision",
    "method.prior_precision": "prior precision",
    "method.dropout": "dropout",
    "bounds.noise_precision": "bounds of noise precision",
    "bounds.prior_precision": "bounds of prior precision",
    "bounds.dropout": "bounds of dropout",
    "bounds_original_units.noise_precision": "bounds of noise precision in original units",
    "bounds_original_units.prior_precision": "bounds of prior precision in original units",
    "bounds.batch_size": "bounds of batch size",
    "search.values.noise_precision": "tried noise precisions",
    "search.values.prior_precision": "tried prior precisions",
    "search.values.dropout": "tried dropout",
    "search.values.batch_size": "tried batch sizes",
    "search.values_original_units.noise_precision": "tried noise precisions in original units",
    "search.values_original_units.prior_precision": "tried prior precisions in original units",
    "dataset.n_splits": "generated splits",
    "dataset.seeded_splits": "seeded splits",
    "dataset.split_seed": "split seed",
    "dataset.test_fraction": "test fraction",
    "table": "data",
}
"""Printed names of common settings; others are printed with their dotted name."""

SEARCHED_BY_DEFAULT = ("method.noise_precision", "method.prior_precision", "method.dropout")
"""Hyper-parameters that are searched unless a run sets them."""

ABSENT = object()
"""Value of a setting that a run does not have."""

Settings = Mapping[str, Any]
"""Values by dotted name, as on the command line; lists become tuples."""


def flatten(identity: Mapping[str, Any]) -> dict[str, Any]:
    """Flatten the identity of a run to dotted names such as `training.epochs`.

    A component with a label or name also gets an entry itself: `method` is `vadam`. The
    experiment's label becomes `experiment`.
    """
    entries = {"experiment" if key == "label" else key: value for key, value in identity.items()}
    return dict(_leaves(entries, ""))


def _leaves(component: Mapping[str, Any], above: str) -> Iterator[tuple[str, Any]]:
    for key, value in component.items():
        name = f"{above}{key}"
        if isinstance(value, Mapping):
            title = next((title for title in LABEL_KEYS if title in value), None)
            if title:
                yield name, _hashable(value[title])
            yield from _leaves({k: v for k, v in value.items() if k != title}, f"{name}.")
        else:
            yield name, _hashable(value)


def _hashable(value: Any) -> Any:
    if isinstance(value, Mapping):
        return tuple((name, _hashable(part)) for name, part in value.items())
    return tuple(map(_hashable, value)) if isinstance(value, list) else value


def describe_settings(settings: Settings) -> list[str]:
    """Return settings and their values as printed, such as `epochs 5`."""
    return [describe_setting(name, value) for name, value in settings.items()]


def describe_setting(name: str, value: Any) -> str:
    """Return a setting and its value as printed, `epochs 5`."""
    return f"{READABLE_NAMES.get(name, name)} {_value_or_searched(name, value)}"


def as_typed(name: str, value: Any) -> str:
    """Return the value of a setting as on the command line; `searched` for what is searched."""
    if isinstance(value, list | tuple):
        return f"[{','.join(map(format_value, value))}]"
    return _value_or_searched(name, value)


def _value_or_searched(name: str, value: Any) -> str:
    is_searched = value is None and name in SEARCHED_BY_DEFAULT
    return "searched" if is_searched else format_value(value)


def format_value(value: Any) -> str:
    """Format a value as on the command line, except that lists use slashes: `100/200`.

    `ABSENT` is unknown.
    """
    if value is ABSENT:
        return "unknown"
    if isinstance(value, tuple):
        return "/".join(map(format_value, value))
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return f"{value:g}" if isinstance(value, float) else str(value)


def same_value(value: Any, expected: Any, rel_tol: float = 1e-9) -> bool:
    """Return whether two values are equal, numbers up to rounding; `[50]` equals `50`."""
    value, expected = _without_brackets(value), _without_brackets(expected)
    if isinstance(value, list | tuple) and isinstance(expected, list | tuple):
        same = partial(same_value, rel_tol=rel_tol)
        return len(value) == len(expected) and all(map(same, value, expected))
    if isinstance(value, bool) or isinstance(expected, bool):
        return value is expected
    if isinstance(value, int | float) and isinstance(expected, int | float):
        return math.isclose(value, expected, rel_tol=rel_tol)
    return bool(value == expected)


def _without_brackets(value: Any) -> Any:
    return value[0] if isinstance(value, list | tuple) and len(value) == 1 else value


def differing_from(settings: Settings, expected: Settings) -> dict[str, Any]:
    """Return the settings of a run that differ from expected ones, or are `ABSENT`.

    A setting that the run does not have equals null.
    """
    return {
        name: settings.get(name, ABSENT)
        for name, value in expected.items()
        if not same_value(settings.get(name), value)
    }


def without_implied(differing: Settings) -> dict[str, Any]:
    """Leave out differences that follow from others.

    They are the settings of another search, and `final_epochs` equal to `epochs`.
    """
    implied = [name for name in differing if name.startswith("search.") and "search" in differing]
    if differing.get("training.final_epochs") == differing.get("training.epochs"):
        implied.append("training.final_epochs")
    return {name: value for name, value in differing.items() if name not in implied}


def differing_settings(settings: Sequence[Settings]) -> dict[str, tuple[Any, ...]]:
    """Return the settings in which runs differ, each with the value of every run or `ABSENT`.

    A setting that only some runs have (such as the folds of a search) counts if its value differs
    between them. Class paths and fingerprints are left out.
    """
    return {
        name: column
        for name, column in _columns(settings).items()
        if len({*column} - {ABSENT}) > 1 and name.rpartition(".")[2] not in IGNORED_SUFFIXES
    }


def distinguishing_settings(settings: Sequence[Settings]) -> tuple[str, ...]:
    """Return the names of the settings that distinguish runs, one per set of equal columns.

    If readable settings do not distinguish all runs, everything else that differs is added:
    settings that only some runs have, technical ones, classes, data.
    """
    differing = differing_settings(settings).items()
    readable = _without_duplicates({n: v for n, v in differing if n not in TECHNICAL_SETTINGS})
    values = {tuple(one_run.get(name, ABSENT) for name in readable) for one_run in settings}
    if len(values) == len(settings):
        return readable
    columns = _columns(settings).items()
    return _without_duplicates({name: column for name, column in columns if len({*column}) > 1})


def _columns(settings: Sequence[Settings]) -> dict[str, tuple[Any, ...]]:
    """Return the value of every run, or `ABSENT`, by name of the setting."""
    names = dict.fromkeys(name for one_run in settings for name in one_run)
    return {name: tuple(one_run.get(name, ABSENT) for one_run in settings) for name in names}


def _without_duplicates(columns: Mapping[str, tuple[Any, ...]]) -> tuple[str, ...]:
    first: dict[tuple[Any, ...], str] = {}
    for name, column in columns.items():
        first.setdefault(column, name)
    return tuple(first.values())


def differing_columns(table: pd.DataFrame) -> pd.DataFrame:
    """Return a column for every setting that differs between rows and is not yet a column.

    Settings of data sets (columns, files) get a column only if runs on one data set differ in
    them, because otherwise the data set's name identifies them.
    """
    differing = differing_settings(list(table["settings"]))
    described = {name for name in differing if name.startswith("dataset.")}
    for _, group in table.groupby("dataset"):
        described -= differing_settings(list(group["settings"])).keys()
    existing = {name: tuple(table[name]) for name in table if name != "settings"}
    names = [name for name in differing if name not in existing and name not in described]
    names = [name for name in names if existing.get(name.rpartition(".")[2]) != differing[name]]
    # A method's likelihood equals that of the run.
    names = [name for name in names if differing.get(name.partition(".")[2]) != differing[name]]
    cells = {name: [_cell(value) for value in differing[name]] for name in names}
    return pd.DataFrame(cells, index=table.index, dtype=object)


def _cell(value: Any) -> Any:
    if value is ABSENT:
        return None
    return format_value(value) if isinstance(value, tuple) else value
