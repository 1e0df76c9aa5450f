"""The protocol behind published values, and how a run deviates from it.

Splits and widths are those of Hernández-Lobato & Adams (2015), minibatches and search those of
Khan et al. (2018; their code; book, sections 4.7.3 and 4.7.4). `protocol.json` has its settings by
method and data set; `methods.toml` lists the known settings of single published methods.

Two runs compete on equal terms if they share the data, the noise model, the network, and the search
with its bounds of the precisions. All else is the method's own.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from bnnbench.results.method_facts import compared_settings, hyper_names, is_of_user, trains_network
from bnnbench.results.settings import (
    ABSENT,
    SEARCHED_BY_DEFAULT,
    describe_settings,
    differing_from,
    without_implied,
)

NOISE_SETTINGS = ("likelihood", "likelihood.loss")
"""Settings of the noise model."""

UNSET_SETTINGS: Mapping[str, Any] = dict.fromkeys((*SEARCHED_BY_DEFAULT, "dataset.seeded_splits"))
"""Settings that are null in the protocol: searched hyper-parameters, and published splits."""

COMPONENT_CLASSES: Mapping[str, str] = {
    "gaussian": "bnnbench.likelihoods.gaussian.Gaussian",
    "heteroscedastic": "bnnbench.likelihoods.heteroscedastic.Heteroscedastic",
    "heteroscedastic_softplus": (
        "bnnbench.likelihoods.heteroscedastic_softplus.HeteroscedasticSoftplus"
    ),
    "nll": "bnnbench.losses.nll.NLL",
    "bayesian_optimisation": "bnnbench.search.bayesian_optimisation.BayesianOptimisation",
    "grid": "bnnbench.search.grid.Grid",
    "none": "bnnbench.search.no_search.NoSearch",
}
"""Classes of the likelihoods, losses and searches of published results, by label."""

ANY = "*"
"""Key of `protocol.json` for most methods or data sets."""


@cache
def published_settings(method: str, family: str, dataset: str) -> Mapping[str, Any]:
    """Return the settings of a method on a data set under the published protocol.

    `docs/tools/published_protocol.py` writes them, from the YAML files, to `protocol.json`.

    Args:
        method: an option of `method`.
        family: used if there is no such option; without it, the settings of most methods.
        dataset: an option of `dataset`; any other name has the settings of most data sets.

    Returns:
        Values by dotted name, such as `training.epochs`, and search bounds such as
        `bounds.dropout`; `search` is the option, or `none` if all hyper-parameters are fixed;
        `tuned_on_test` says whether the authors chose settings with the help of test rows.
    """
    table = _protocol_table()
    settings: dict[str, Any] = {}
    for rows in (table[ANY], table.get(method, table.get(family, {}))):
        settings |= {**rows.get(ANY, {}), **rows.get(dataset, {})}
    return {n: tuple(v) if isinstance(v, list) else v for n, v in settings.items()}


@cache
def _protocol_table() -> Any:
    """Return the settings by method and data set; only those that differ from `ANY`."""
    return json.loads(files(__package__).joinpath("protocol.json").read_text("utf-8"))


def is_bounds(name: str) -> bool:
    """Return whether a setting has the search bounds of a hyper-parameter, or its values."""
    groups = ("bounds", "bounds_original_units", "search.values", "search.values_original_units")
    return name.rpartition(".")[0] in groups


def with_components(settings: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return settings with unambiguous names of the noise model and the search.

    A component whose class is not that of its label is named by its class. `search` is none for
    runs that only fitted folds because nothing was searched. The held-out fraction is None if it
    is not recorded.
    """
    found: dict[str, Any] = {"search.held_out_fraction": settings.get("search.held_out_fraction")}
    if "search" not in settings and "search.folds" in settings:
        found["search"] = "none"
    for name in (*NOISE_SETTINGS, "search"):
        known = COMPONENT_CLASSES.get(str(settings.get(name)))
        own = settings.get(f"{name}.class", known)
        if known and own != known:
            found[name] = own
    return {**settings, **found}


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
