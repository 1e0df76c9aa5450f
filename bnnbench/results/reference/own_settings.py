"""The settings of runs that are the methods' own, for a note on a comparison."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from bnnbench.notes import join_words
from bnnbench.results.labels import labels
from bnnbench.results.method_facts import compared_settings, trains_network
from bnnbench.results.published.protocol import OWN_SETTINGS
from bnnbench.results.settings import READABLE_NAMES, format_value

OTHERS = "others"


def own_settings(
    mine: pd.DataFrame, reference: pd.DataFrame, mark: str, only_differing: bool = False
) -> Iterator[str]:
    """Yield each setting with its values, such as `final epochs 400 (mc_dropout), 40 (others)`.

    Args:
        mine: my runs, rows of `Runs.scored`.
        reference: the reference runs.
        mark: follows the labels of my runs, which are never among the others.
        only_differing: whether to leave out settings in which mine have the most frequent value.
    """
    groups = {f"{name}{mark}": own for name, own in mine.groupby(labels(mine), sort=False)}
    own_names = {*groups}
    groups |= {str(name): own for name, own in reference.groupby(labels(reference), sort=False)}
    for setting in OWN_SETTINGS:
        found: dict[str, list[str]] = {}
        for name, own in groups.items():
            if values := _values(own, setting):
                found.setdefault(values, []).append(name)
        if not found:
            continue
        usual = max(found, key=lambda values: sum(n not in own_names for n in found[values]))
        if only_differing and own_names <= {*found[usual]}:
            continue
        parts = [f"{v} ({join_words(names)})" for v, names in found.items() if v != usual]
        named = [name for name in found[usual] if name in own_names]
        rest = [OTHERS if parts else "all"] * (len(found[usual]) > len(named) or not parts)
        parts.append(f"{usual} ({join_words([*named, *rest] if parts else rest)})")
        yield f"{READABLE_NAMES[setting]} {', '.join(parts)}"


def _values(runs: pd.DataFrame, setting: str) -> str:
    """Return the values of a setting in the runs of a method, joined by `or`; empty if unused."""
    used = [
        format_value(run["settings"][setting])
        for run in runs.to_dict("records")
        if setting in run["settings"] and _affects(run, setting)
    ]
    return " or ".join(dict.fromkeys(used))


def _affects(run: dict[str, object], setting: str) -> bool:
    """Return whether a setting affects the method of a run."""
    names = compared_settings(run)
    return trains_network(run) and (names is None or setting in names)
