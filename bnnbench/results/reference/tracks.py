"""The track of a run, and how its hyper-parameters were chosen.

Two runs compete on equal terms if they share a protocol: everything in their identities except what
is the method's own.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from bnnbench.files import checksum
from bnnbench.results.published.protocol import (
    NOISE_SETTINGS,
    divergence_difference,
    noise_differences,
    protocol_settings,
    published_settings,
    settings_differing_from,
    with_search,
)

PUBLISHED, FIXED, POSTERIOR, FREE = "book", "fixed", "posterior", "free"

TRACKS: Mapping[str, str] = {
    PUBLISHED: "the published protocol; hyper-parameters searched on folds, or learned",
    FIXED: "the published protocol with hyper-parameters that the authors of a method fixed",
    POSTERIOR: "one model with fixed precisions for all methods, nothing searched",
    FREE: "other settings",
}
"""Descriptions; the first track is the default."""

PROTOCOL_TRACKS = (PUBLISHED, FIXED)
"""Tracks of the published protocol."""

PRECISIONS = ("method.noise_precision", "method.prior_precision")

EVIDENCE_FAMILIES = ("pbp", "linear", "gp")
"""Families that always determine their precisions from the evidence."""

EVIDENCE_VALUES = ("learned", "sampled", "marginal_likelihood")
"""Values of settings of the other methods that do."""

SHARED_SETTINGS = (*NOISE_SETTINGS, "network.depth", "network.width", "search", "search.iterations",
                   "search.folds", "search.objective")  # fmt: skip
"""Settings of the protocol that all methods share, next to the data and the search bounds."""


def tuning_of(run: Mapping[str, Any]) -> str:
    """Return how a run chose its hyper-parameters.

    `folds`: by cross-validation; `authors`: they are those of the authors of the method;
    `evidence`: by a marginal likelihood or a posterior; `none`: not at all.

    Args:
        run: its `family` and its `settings` (`settings.flatten`).
    """
    settings = run["settings"]
    if is_searched(settings):
        return "folds"
    if settings_of_authors(settings):
        return "authors"
    method = {name: value for name, value in settings.items() if name.startswith("method.")}
    learned = any(value in EVIDENCE_VALUES for value in method.values() if isinstance(value, str))
    return "evidence" if learned or run["family"] in EVIDENCE_FAMILIES else "none"


def is_searched(settings: Mapping[str, Any]) -> bool:
    """Return whether a run searched hyper-parameters."""
    return "search.iterations" in settings and any(n.startswith("bounds.") for n in settings)


def settings_of_authors(settings: Mapping[str, Any]) -> bool:
    """Return whether a run fixes values of hyper-parameters, but does not fix both precisions."""
    fixed = [name for name in PRECISIONS if is_number(settings.get(name))]
    return any(name.startswith("fixed_original_units.") for name in settings) or len(fixed) == 1


def is_number(value: Any) -> bool:
    """Return whether a setting is a number."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def fits_of(settings: Mapping[str, Any]) -> int:
    """Return the number of fits per split: evaluations times folds, plus the final fit."""
    if not is_searched(settings):
        return 1
    return int(settings["search.iterations"]) * int(settings["search.folds"]) + 1


def track_of(run: Mapping[str, Any], tuning: str) -> str:
    """Return the track of a run.

    Args:
        run: the metadata of its record, and its `settings` (`settings.flatten`).
        tuning: the result of `tuning_of`.
    """
    if has_fixed_precisions(run["settings"]):
        return POSTERIOR
    if follows_protocol(run):
        return FIXED if tuning == "authors" else PUBLISHED
    return FREE


def has_fixed_precisions(settings: Mapping[str, Any]) -> bool:
    """Return whether both precisions are numbers and nothing is searched."""
    return not is_searched(settings) and all(is_number(settings.get(name)) for name in PRECISIONS)


def follows_protocol(run: Mapping[str, Any]) -> bool:
    """Return whether a run follows the published protocol, whatever its number of splits.

    A precision that the method determines by the evidence counts as searched.
    """
    if noise_differences(run) or divergence_difference(run):
        return False
    expected = protocol_settings(run)
    if tuning_of(run) == "evidence":
        expected = {n: value for n, value in expected.items() if not n.startswith("search")}
    settings = {
        name: value
        for name, value in run["settings"].items()
        if not (name in PRECISIONS and value in EVIDENCE_VALUES)
    }
    return not settings_differing_from({**run, "settings": settings}, expected)


def protocol_of(run: Mapping[str, Any]) -> str:
    """Return the digest of a run's protocol.

    Epochs, steps and samples count as the method's own. A run that follows the published protocol
    has the digest of that protocol, also if it has nothing to search or no network.
    """
    settings = with_search(run["settings"])
    names = [*SHARED_SETTINGS, *PRECISIONS, *(n for n in settings if n.startswith("bounds."))]
    if follows_protocol(run) and not has_fixed_precisions(settings):
        settings = published_settings("", "", str(run["dataset"]))
        names = list(SHARED_SETTINGS)
    elif not is_searched(settings):
        names = [name for name in names if not name.startswith("search.")]
    shared = {name: settings[name] for name in sorted(names) if settings.get(name) is not None}
    content = run["settings"].get("table.content")
    return checksum(json.dumps([content, shared]).encode())[:12]
