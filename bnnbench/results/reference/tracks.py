"""The track of a run, and how its hyper-parameters were chosen.

Runs are compared within a track, if they have the same `shared_settings`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from bnnbench.files import checksum
from bnnbench.results.method_facts import uses_evidence
from bnnbench.results.published.protocol import (
    EVIDENCE_VALUES,
    differing_shared_settings,
    fixed_hyper_parameters,
    has_fixed_precisions,
    is_searched,
    published_shared_settings,
    shared_settings,
    tuned_on_test,
)
from bnnbench.results.settings import ABSENT, as_typed, same_value

PUBLISHED, FIXED, POSTERIOR, FREE = "book", "fixed", "posterior", "free"

TRACKS: Mapping[str, str] = {
    PUBLISHED: "the published protocol; hyper-parameters searched on folds, or learned",
    FIXED: "the published protocol with fixed hyper-parameters, or settings tuned with test rows",
    POSTERIOR: "one model with fixed precisions for all methods, nothing searched",
    FREE: "other settings",
}
"""Descriptions; the first track is the default."""

PROTOCOL_TRACKS = (PUBLISHED, FIXED)
"""Tracks of the published protocol."""


def tuning_of(run: Mapping[str, Any]) -> str:
    """Return how a run chose its hyper-parameters.

    `folds`: by cross-validation; `held_out`: on the last training rows; `authors`: they are those
    of the authors of the method; `evidence`: by a marginal likelihood or a posterior; `none`: not
    at all.

    Args:
        run: its `family` and its `settings` (`settings.flatten`).
    """
    settings = run["settings"]
    if is_searched(settings):
        return "held_out" if "search.held_out_fraction" in settings else "folds"
    fixed = fixed_hyper_parameters(run) and not has_fixed_precisions(settings)
    if tuned_on_test(run) or fixed:
        return "authors"
    method = {name: value for name, value in settings.items() if name.startswith("method.")}
    learned = any(value in EVIDENCE_VALUES for value in method.values() if isinstance(value, str))
    return "evidence" if learned or uses_evidence(run) else "none"


def fits_of(settings: Mapping[str, Any]) -> int:
    """Return the number of fits per split: those of all evaluations, plus the final fit."""
    if not is_searched(settings):
        return 1
    parts = 1 if "search.held_out_fraction" in settings else int(settings["search.folds"])
    return int(settings["search.iterations"]) * parts + 1


def track_of(run: Mapping[str, Any], tuning: str) -> str:
    """Return the track of a run.

    Args:
        run: the metadata of its record, and its `settings` (`settings.flatten`).
        tuning: the result of `tuning_of`.
    """
    if has_fixed_precisions(run["settings"]):
        return POSTERIOR
    if differing_shared_settings(run):
        return FREE
    fixed = tuning == "authors" or tuned_on_test(run) or fixed_hyper_parameters(run)
    return FIXED if fixed else PUBLISHED


def changed_settings(run: Mapping[str, Any]) -> list[str]:
    """Return how a run differs from the protocol, as typed.

    For example `search.iterations=10 (reference: 30)`.
    """
    published = published_shared_settings(run)
    return [
        f"{name}={as_typed(name, value)} (reference: {as_typed(name, published[name])})"
        for name, value in differing_shared_settings(run).items()
    ]


def protocol_of(run: Mapping[str, Any]) -> str:
    """Return the digest of a run's protocol: its data and its `shared_settings`."""
    shared, published = shared_settings(run), published_shared_settings(run)
    equal = {
        name: published[name] if same_value(value, published[name]) else value
        for name, value in shared.items()
        if value is not ABSENT
    }
    content = [run["settings"].get("table.content"), equal]
    return checksum(json.dumps(content, sort_keys=True).encode())[:12]
