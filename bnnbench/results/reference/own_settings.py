"""The settings of runs that are the methods' own, for a note on a comparison."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd

from bnnbench.notes import join_words
from bnnbench.results.method_facts import compared_settings, is_of_user, trains_network
from bnnbench.results.published.protocol import BOUNDS
from bnnbench.results.read.labels import labels
from bnnbench.results.settings import (
    IGNORED_SUFFIXES,
    READABLE_NAMES,
    SEARCHED_BY_DEFAULT,
    format_value,
)
from bnnbench.settings import BATCH_SIZE

OTHERS = "others"

TRAINING_SETTINGS = (
    *("training.epochs", "training.final_epochs", "training.batch_size"),
    *("training.learning_rate", "training.samples", "evaluation.samples"),
)
"""Settings of the training and the evaluation that are the method's own."""

OWN_GROUPS = ("method.", "bounds.", "bounds_original_units.", "fixed_original_units.")
"""Beginnings of the names of the other settings that are the method's own, except `BOUNDS`."""

NOISE_MODEL = "method.likelihood"
"""Setting of a method, and beginning of the names of others, that the protocol states."""

SEARCHED = "searched"


def own_settings(
    mine: pd.DataFrame, reference: pd.DataFrame, mark: str, only_differing: bool = False
) -> Iterator[str]:
    """Yield each setting with its values, such as `final epochs 400 (mc_dropout), 40 (others)`.

    All settings of mine are named. Those of the method itself, such as `dropout`, are named only if
    mine have them.

    Args:
        mine: my runs, rows of `Runs.scored`.
        reference: the reference runs.
        mark: follows the labels of my runs, which are never among the others.
        only_differing: whether to leave out the values of others in settings in which mine have the
            most frequent value.
    """
    groups = {f"{name}{mark}": own for name, own in mine.groupby(labels(mine), sort=False)}
    own_names = {*groups}
    groups |= {str(name): own for name, own in reference.groupby(labels(reference), sort=False)}
    for setting in (*TRAINING_SETTINGS, *_settings_of_methods(mine)):
        found: dict[str, list[str]] = {}
        for name, own in groups.items():
            if values := _values(own, setting):
                found.setdefault(values, []).append(name)
        if not found:
            continue
        readable = READABLE_NAMES.get(setting, setting.removeprefix("method."))
        usual = max(found, key=lambda values: sum(n not in own_names for n in found[values]))
        named = [name for name in found[usual] if name in own_names]
        if only_differing and own_names <= {*named}:
            yield f"{readable} {usual}"
            continue
        parts = [f"{v} ({join_words(names)})" for v, names in found.items() if v != usual]
        rest = [OTHERS if parts else "all"] * (len(found[usual]) > len(named) or not parts)
        parts.append(f"{usual} ({join_words([*named, *rest] if parts else rest)})")
        yield f"{readable} {', '.join(parts)}"


def _settings_of_methods(runs: pd.DataFrame) -> list[str]:
    """Return the names of the settings of the methods of some runs that are not shared.

    Hyper-parameters that all of these runs search within their bounds are left out.
    """
    rows = runs.to_dict("records")
    names = dict.fromkeys(name for run in rows for name in run["settings"] if _is_own(name))
    return [name for name in names if {_value(run, name) for run in rows} - {None, SEARCHED}]


def _is_own(name: str) -> bool:
    """Return whether a setting is the method's own, and readers need to see it."""
    technical = name.rpartition(".")[2] in IGNORED_SUFFIXES
    noise = name == NOISE_MODEL or name.startswith(f"{NOISE_MODEL}.")
    return name.startswith(OWN_GROUPS) and not (technical or noise or name in BOUNDS)


def _values(runs: pd.DataFrame, setting: str) -> str:
    """Return the values of a setting in the runs of a method, joined by `or`; empty if unused."""
    found = [_value(run, setting) for run in runs.to_dict("records")]
    return " or ".join(dict.fromkeys(value for value in found if value is not None))


def _value(run: Mapping[Any, Any], setting: str) -> str | None:
    """Return the value of a setting in a run as printed; None if it has no effect."""
    settings, name = run["settings"], setting.removeprefix("method.")
    if setting not in settings or f"fixed_original_units.{name}" in settings:
        return None
    last = name.rpartition(".")[2]
    bounds = (f"bounds.{last}", f"bounds_original_units.{last}")
    is_open = settings[setting] is None or last == BATCH_SIZE
    if is_open and any(one in settings for one in bounds):
        return SEARCHED
    if settings[setting] is None and setting in SEARCHED_BY_DEFAULT:
        return None
    return format_value(settings[setting]) if _affects(run, setting) else None


def _affects(run: Mapping[Any, Any], setting: str) -> bool:
    """Return whether a setting affects the method of a run.

    For a class of the user's, its `compared_settings` do not answer this.
    """
    if setting not in TRAINING_SETTINGS:
        return True
    names = None if is_of_user(run) else compared_settings(run)
    return trains_network(run) and (names is None or setting in names)
