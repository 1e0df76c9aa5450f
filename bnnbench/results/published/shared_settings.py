"""The settings that competing methods share, and how a run differs from the published ones.

Two runs compete on equal terms if they share the data, the noise model, the network, and the search
with its bounds of the precisions. All else is the method's own.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bnnbench.results.method_facts import hyper_names, trains_network
from bnnbench.results.published.published_settings import (
    NOISE_SETTINGS,
    UNSET_SETTINGS,
    is_bounds,
    published_settings,
    with_components,
)
from bnnbench.results.settings import ABSENT, SEARCHED_BY_DEFAULT, differing_from, without_implied

EXPERIMENT, EXPERIMENT_CLASS = "class", "bnnbench.experiment.split_experiment.SplitExperiment"
"""Setting of a run with the class of its experiment, and the class that runs the protocol."""

PRECISIONS = ("method.noise_precision", "method.prior_precision")

PRECISIONS_IN_UNITS = ("fixed_original_units.noise_precision",
                       "fixed_original_units.prior_precision")  # fmt: skip
"""The same in the units of the target."""

EVIDENCE_VALUES = ("learned", "sampled", "marginal_likelihood")
"""Values of settings of methods that determine a precision by the evidence."""

NETWORK_SETTINGS = ("network.depth", "network.width")

SEARCH_SETTINGS = ("search", "search.iterations", "search.initial_points", "search.folds",
                   "search.objective")  # fmt: skip

BOUNDS = ("bounds.noise_precision", "bounds.prior_precision")
"""Search bounds of the hyper-parameters that methods share."""

OPTIONAL_SETTINGS = (
    "search.held_out_fraction",
    *(
        f"{group}.{precision}"
        for group in ("bounds_original_units", "search.values", "search.values_original_units")
        for precision in ("noise_precision", "prior_precision")
    ),
)
"""Further settings of the search of precisions, which few runs have."""

SHARED_SETTINGS = (*NOISE_SETTINGS, *NETWORK_SETTINGS, *SEARCH_SETTINGS, *BOUNDS, *PRECISIONS,
                   *PRECISIONS_IN_UNITS, "dataset.seeded_splits")  # fmt: skip
"""Settings of the protocol, which decide with which runs a run is ranked; all others are the
method's own. So is a precision, unless both are fixed and nothing is searched."""


def is_searched(settings: Mapping[str, Any]) -> bool:
    """Return whether a run searched hyper-parameters."""
    return "search.iterations" in settings and any(map(is_bounds, settings))


def has_fixed_precisions(settings: Mapping[str, Any]) -> bool:
    """Return whether both precisions are numbers and nothing is searched."""
    return not is_searched(settings) and all(_is_number(settings.get(name)) for name in PRECISIONS)


def fixed_hyper_parameters(run: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the hyper-parameters that a run fixes although methods can search them.

    They are those that its record names, and those that our methods search: a class of the user's
    may leave them out of its `hyper_names`.

    Args:
        run: the metadata of its record, and its `settings` (`settings.flatten`).
    """
    settings, known = run["settings"], (n.removeprefix("method.") for n in SEARCHED_BY_DEFAULT)
    return tuple(
        name
        for name in dict.fromkeys((*(hyper_names(run) or ()), *known))
        if _is_number(settings.get(f"method.{name}")) or f"fixed_original_units.{name}" in settings
    )


def _is_number(value: Any) -> bool:
    """Return whether a setting is a number."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def shared_settings(run: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of the protocol in a run.

    Settings without effect are replaced by the published ones: the network of a method that trains
    none, and the search of one that has nothing to search or fixes its hyper-parameters. So are
    the precisions, unless they are fixed for all methods.
    """
    settings, published = with_components(run["settings"]), published_shared_settings(run)
    searched, fixed = is_searched(settings), has_fixed_precisions(settings)
    ignored = {
        *(() if trains_network(run) else NETWORK_SETTINGS),
        *(() if searched else SEARCH_SETTINGS[1:]),
        *(() if searched or fixed else ("search",)),
        *(() if fixed else PRECISIONS),
        *PRECISIONS_IN_UNITS,
        *(name for name in (*BOUNDS, *UNSET_SETTINGS) if name not in settings),
    }
    own = {n: published[n] if n in ignored else settings.get(n, ABSENT) for n in SHARED_SETTINGS}
    own |= {name: settings[name] for name in OPTIONAL_SETTINGS if settings.get(name) is not None}
    experiment = settings.get(EXPERIMENT, EXPERIMENT_CLASS)
    return own if experiment == EXPERIMENT_CLASS else {EXPERIMENT: experiment, **own}


def published_shared_settings(run: Mapping[str, Any]) -> dict[str, Any]:
    """Return the shared settings of the published protocol on the data set of a run."""
    settings = {**UNSET_SETTINGS, **published_settings("", "", str(run["dataset"]))}
    names = (*SHARED_SETTINGS, *OPTIONAL_SETTINGS)
    return {EXPERIMENT: EXPERIMENT_CLASS, **{name: settings.get(name) for name in names}}


def differing_shared_settings(run: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of the protocol in which a run differs from the published one.

    For a run with another noise model, only that is named.
    """
    own, published = shared_settings(run), published_shared_settings(run)
    found = without_implied(differing_from(own, {name: published[name] for name in own}))
    return {name: value for name, value in found.items() if name in NOISE_SETTINGS} or found
