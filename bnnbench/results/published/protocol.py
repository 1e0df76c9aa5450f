"""The protocol behind published values, and how a run deviates from it.

Splits and widths are those of Hernández-Lobato & Adams (2015), minibatches and search those of
Khan et al. (2018; their code; book, sections 4.7.3 and 4.7.4). `counterparts` lists the known
settings of single published methods.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bnnbench.results.method_facts import compared_settings, is_of_user
from bnnbench.results.published.published_settings import (
    NOISE_SETTINGS,
    UNSET_SETTINGS,
    is_bounds,
    published_settings,
    with_components,
)
from bnnbench.results.published.shared_settings import differing_shared_settings
from bnnbench.results.settings import (
    SEARCHED_BY_DEFAULT,
    describe_settings,
    differing_from,
    without_implied,
)

COMPARED_SETTINGS = (
    *("likelihood", "likelihood.loss", "network.depth", "network.width"),
    *("training.epochs", "training.final_epochs", "training.batch_size", "training.learning_rate"),
    *("evaluation.samples", "search", "search.iterations", "search.initial_points"),
    *("search.folds", "search.objective", "search.held_out_fraction"),
)
"""Settings that are compared with the protocol, except as listed below."""

ADDED_SETTINGS: Mapping[str, tuple[str, ...]] = {
    "renyi_vi_2016": ("training.samples",),
    "renyi_vi_vrbound": ("training.samples",),
}
"""Further settings of single method configurations that are compared."""

OTHER_PRESETS = ("pbp_200",)
"""Method configurations that differ from the published ones of their family on purpose."""

METHOD_DEFAULTS: Mapping[str, Any] = {
    "method.noise": "bernoulli",
    "method.minibatch_weights": "uniform",
}
"""Settings of methods with variants: those of the published values."""

OMITTED_DEFAULTS: Mapping[str, Any] = {
    "method.search_with": "vprop",
    "method.weight_init": "fan_in",
    "method.bias_prior": True,
    "method.searched_members": None,
}
"""Values of settings that an identity leaves out if they are the default."""

N_SPLITS, DATASET_N_SPLITS = 20, {"protein": 5}
"""Number of published splits of most data sets, and the exceptions."""

DATASET_CLASSES = ("bnnbench.data.uci.UCI", "bnnbench.data.bundled.Diabetes")
"""Classes of the data sets with the protocol; other data may have the same names."""

PLAIN_DIVERGENCES = ("", "none", "kl")
"""Divergences of published results: KL, or none."""


def protocol_settings(run: Mapping[str, Any]) -> dict[str, Any]:
    """Return the protocol's settings for the `dataset`, `family` and `method` of a run."""
    added = ADDED_SETTINGS.get(run["method"], ())
    return relevant_settings(_settings_of(run), run, added)


def relevant_settings(
    settings: Mapping[str, Any], run: Mapping[str, Any], added: Sequence[str]
) -> dict[str, Any]:
    """Return those of the protocol's settings that affect the method of a run, and `added`."""
    own = compared_settings(run)
    names = (*COMPARED_SETTINGS, *added) if own is None else (*NOISE_SETTINGS, *own)
    return {name: settings[name] for name in names}


def tuned_on_test(run: Mapping[Any, Any]) -> bool:
    """Return whether settings of a run's method were chosen with the help of test rows.

    If its record does not say so, the preset with its name decides.
    """
    value = run.get("tuned_on_test")
    if isinstance(value, bool):
        return value
    return bool(published_settings(str(run["method"]), "", str(run["dataset"]))["tuned_on_test"])


def expected_settings(run: Mapping[str, Any]) -> dict[str, Any]:
    """Return the protocol's settings with `METHOD_DEFAULTS` and search bounds."""
    return {**METHOD_DEFAULTS, **search_bounds(run), **protocol_settings(run)}


def search_bounds(run: Mapping[str, Any]) -> dict[str, tuple[float, float]]:
    """Return the protocol's search bounds, and the values of a grid, by dotted name."""
    return {name: ends for name, ends in _settings_of(run).items() if is_bounds(name)}


def _settings_of(run: Mapping[str, Any]) -> Mapping[str, Any]:
    family = str(run["family"])
    method = family if run["method"] in OTHER_PRESETS else str(run["method"])
    return published_settings(method, family, str(run["dataset"]))


def has_protocol(run: Mapping[str, Any]) -> bool:
    """Return whether the protocol applies to a run's data set."""
    return run["settings"].get("dataset.class") in DATASET_CLASSES


def protocol_differences(run: Mapping[str, Any]) -> tuple[str, ...]:
    """Describe how a run deviates from the protocol, such as `epochs 5` or `2 of 20 splits`.

    Args:
        run: the metadata of its record, its `settings` (`settings.flatten`) and its number of
            `splits`.

    Returns:
        Empty if it follows the protocol, or if none applies to its data set.
    """
    if not has_protocol(run):
        return ()
    return noise_differences(run) or (*setting_differences(run), *missing_splits(run))


def noise_differences(run: Mapping[str, Any]) -> tuple[str, ...]:
    """Describe the noise model of a run if it is not the protocol's.

    Such a run is another model, so its other settings are not compared.
    """
    protocol = {name: _settings_of(run)[name] for name in NOISE_SETTINGS}
    settings = {**dict.fromkeys(NOISE_SETTINGS), **with_components(run["settings"])}
    return tuple(describe_settings(differing_from(settings, protocol)))


def setting_differences(run: Mapping[str, Any]) -> tuple[str, ...]:
    """Describe all settings that deviate from the protocol, except the number of splits.

    A class of the user's has no published values, so only the settings that methods share count.
    """
    if is_of_user(run):
        return tuple(describe_settings(differing_shared_settings(run)))
    differing = settings_differing_from(run, protocol_settings(run))
    return (*divergence_difference(run), *describe_settings(differing))


def divergence_difference(run: Mapping[str, Any]) -> tuple[str, ...]:
    """Describe the divergence of a run if it is not KL."""
    is_plain = str(run["divergence"]).lower() in PLAIN_DIVERGENCES
    return () if is_plain else (f"divergence {run['divergence']}",)


def settings_differing_from(
    run: Mapping[str, Any], expected_values: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the settings of a run that differ from the expected ones; `ABSENT` if not recorded.

    Args:
        run: a run with its `settings`.
        expected_values: expected values by dotted name.
    """
    settings = {**OMITTED_DEFAULTS, **with_components(run["settings"])}
    searches = expected_values.get("search") != "none"
    defaults = {
        n: v
        for n, v in {**METHOD_DEFAULTS, **UNSET_SETTINGS, **search_bounds(run)}.items()
        if n in settings and (searches or n not in SEARCHED_BY_DEFAULT)
    }
    expected = {
        n: v for n, v in expected_values.items() if searches or not n.startswith("search.")
    } | defaults
    different = differing_from(settings, expected)
    if "search" not in different:  # the same search, but of further settings or in other units
        own = {name: value for name, value in settings.items() if is_bounds(name)}
        different |= {name: value for name, value in own.items() if name not in search_bounds(run)}
    return without_implied(different)


def missing_splits(run: Mapping[str, Any], published: float | None = None) -> tuple[str, ...]:
    """Describe the number of splits of a run if it has fewer than published.

    Args:
        run: its `dataset` and its number of `splits`.
        published: number of published splits, by default of the data sets with the protocol.
    """
    if published is None:
        published = DATASET_N_SPLITS.get(run["dataset"], N_SPLITS)
    return (f"{run['splits']} of {published:.0f} splits",) if run["splits"] < published else ()
