"""The track of a run, and how its hyper-parameters were chosen.

Two runs compete on equal terms if they share a protocol: the data, the noise model, the network and
the search. Epochs, steps, samples, batch size and learning rate are the method's own, whoever wrote
the method.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from bnnbench.files import checksum
from bnnbench.results.method_facts import hyper_names, trains_network, uses_evidence
from bnnbench.results.published.protocol import (
    NOISE_SETTINGS,
    UNSET_SETTINGS,
    matches,
    published_settings,
    tuned_on_test,
    with_search,
)
from bnnbench.results.settings import ABSENT, as_typed

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

PRECISIONS = ("method.noise_precision", "method.prior_precision")

EVIDENCE_VALUES = ("learned", "sampled", "marginal_likelihood")
"""Values of settings of methods that determine a precision by the evidence."""

NETWORK_SETTINGS = ("network.depth", "network.width")

SEARCH_SETTINGS = ("search", "search.iterations", "search.initial_points", "search.folds",
                   "search.objective")  # fmt: skip

HYPER_SETTINGS = (
    *("bounds.noise_precision", "bounds.prior_precision", *PRECISIONS),
    *("fixed_original_units.noise_precision", "fixed_original_units.prior_precision"),
)
"""Search bounds and fixed values of the hyper-parameters that methods share."""

SHARED_SETTINGS = (*NOISE_SETTINGS, *NETWORK_SETTINGS, *SEARCH_SETTINGS, *HYPER_SETTINGS,
                   "dataset.seeded_splits")  # fmt: skip
"""Settings of the protocol, which decide with which runs a run is ranked; all others are the
method's own."""


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
    if tuned_on_test(run) or fixes_hyper_parameters(run):
        return "authors"
    method = {name: value for name, value in settings.items() if name.startswith("method.")}
    learned = any(value in EVIDENCE_VALUES for value in method.values() if isinstance(value, str))
    return "evidence" if learned or uses_evidence(run) else "none"


def is_searched(settings: Mapping[str, Any]) -> bool:
    """Return whether a run searched hyper-parameters."""
    return "search.iterations" in settings and any(n.startswith("bounds.") for n in settings)


def fixes_hyper_parameters(run: Mapping[str, Any]) -> bool:
    """Return whether a run fixes its hyper-parameters, but does not fix both precisions.

    Without a search, all that a method could search are fixed.
    """
    settings, names = run["settings"], hyper_names(run)
    if is_searched(settings) or has_fixed_precisions(settings):
        return False
    if names is None:
        return any(is_number(settings.get(name)) for name in PRECISIONS) or any(
            name.startswith("fixed_original_units.") for name in settings
        )
    return bool(names)


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
    if differing_settings(run):
        return FREE
    return FIXED if tuning == "authors" or tuned_on_test(run) else PUBLISHED


def has_fixed_precisions(settings: Mapping[str, Any]) -> bool:
    """Return whether both precisions are numbers and nothing is searched."""
    return not is_searched(settings) and all(is_number(settings.get(name)) for name in PRECISIONS)


def shared_settings(run: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of the protocol in a run.

    Those without effect are the published ones: the network of a method that trains none, and the
    search of one that has nothing to search or fixes its hyper-parameters. A precision that the
    method determines by the evidence counts as searched.
    """
    settings, published = with_search(run["settings"]), published_shared_settings(run)
    searched, fixed = is_searched(settings), has_fixed_precisions(settings)
    ignored = {
        *(() if trains_network(run) else NETWORK_SETTINGS),
        *(() if searched else SEARCH_SETTINGS[1:]),
        *(() if searched or fixed else ("search", *HYPER_SETTINGS)),
        *(name for name in PRECISIONS if settings.get(name) in EVIDENCE_VALUES),
        *(name for name in (*HYPER_SETTINGS, *UNSET_SETTINGS) if name not in settings),
    }
    return {
        name: value if name in ignored else settings.get(name, ABSENT)
        for name, value in published.items()
    }


def published_shared_settings(run: Mapping[str, Any]) -> dict[str, Any]:
    """Return `SHARED_SETTINGS` of the published protocol on the data set of a run."""
    settings = {**UNSET_SETTINGS, **published_settings("", "", str(run["dataset"]))}
    return {name: settings.get(name) for name in SHARED_SETTINGS}


def differing_settings(run: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of the protocol in which a run differs from the published one.

    A run with another noise model is another model: only this is named. So is another search.
    """
    published = published_shared_settings(run)
    found = {n: v for n, v in shared_settings(run).items() if not matches(v, published[n])}
    other_noise = {name: value for name, value in found.items() if name in NOISE_SETTINGS}
    hidden = SEARCH_SETTINGS[1:] if "search" in found else ()
    return other_noise or {name: value for name, value in found.items() if name not in hidden}


def changed_settings(run: Mapping[str, Any]) -> list[str]:
    """Return how a run differs from the protocol, as typed.

    For example `search.iterations=10 (reference: 30)`.
    """
    published = published_shared_settings(run)
    return [
        f"{name}={as_typed(name, value)} (reference: {as_typed(name, published[name])})"
        for name, value in differing_settings(run).items()
    ]


def protocol_of(run: Mapping[str, Any]) -> str:
    """Return the digest of a run's protocol: its data and its `shared_settings`."""
    shared, published = shared_settings(run), published_shared_settings(run)
    equal = {
        name: published[name] if matches(value, published[name]) else value
        for name, value in shared.items()
        if value is not ABSENT
    }
    content = [run["settings"].get("table.content"), equal]
    return checksum(json.dumps(content, sort_keys=True).encode())[:12]
