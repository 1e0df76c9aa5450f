"""The protocol behind published values, and how a run deviates from it.

Splits and widths are those of Hernandez-Lobato & Adams (2015), minibatches and search those of
Khan et al. (2018; their code; book, sections 4.7.3 and 4.7.4). `settings` lists the known settings
of single published methods.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from bnnbench.results.settings import ABSENT, SEARCHED_BY_DEFAULT, describe_setting

DEFAULT_SETTINGS: Mapping[str, Any] = {
    "likelihood": "gaussian",
    "likelihood.loss": "nll",
    "network.depth": 1,
    "network.width": 50,
    "training.epochs": 40,
    "training.final_epochs": 40,
    "training.batch_size": 32,
    "training.learning_rate": 0.01,
    "evaluation.samples": 100,
    "search": "bayesian_optimisation",
    "search.iterations": 30,
    "search.initial_points": 5,
    "search.folds": 5,
    "search.objective": "per_point",
}
"""Settings by dotted name, of all methods and data sets except as listed below."""

LARGE_DATASET: Mapping[str, Any] = {"training.batch_size": 128}

DATASET_SETTINGS: Mapping[str, Mapping[str, Any]] = {
    **dict.fromkeys(("kin8nm", "naval", "power", "wine"), LARGE_DATASET),
    "protein": {**LARGE_DATASET, "network.width": 100},
}

FAMILY_SETTINGS: Mapping[str, Mapping[str, Any]] = {
    "ivon": {
        "training.learning_rate": 0.03,
        "training.epochs": 120,
        "training.final_epochs": 120,
    },
    "hmc": {"search": "none", "training.final_epochs": 1500},
    **{key: {"training.final_epochs": 400} for key in ("bb_alpha_dropout", "mc_dropout")},
    **{key: {"training.epochs": 400, "training.final_epochs": 400} for key in ("sghmc", "sgld")},
    "swag": {"training.epochs": 100, "training.final_epochs": 100},
}

METHOD_SETTINGS: Mapping[str, Mapping[str, Any]] = {
    "mc_dropout_x10": {"training.final_epochs": 40},
    "mc_dropout_gal2016": {
        "search": "none",
        "training.learning_rate": 0.001,
        "training.batch_size": 32,
        "evaluation.samples": 10_000,
    },
    "svgd_liu2016": {
        "search": "none",
        "training.epochs": 400,
        "training.final_epochs": 400,
        "training.learning_rate": 0.001,
        "training.batch_size": 100,
    },
    "renyi_vi_2016": {
        "search": "none",
        "training.samples": 100,
        "training.final_epochs": 500,
        "training.learning_rate": 0.001,
        "training.batch_size": 32,
    },
    "bbb_slang": {
        "training.epochs": 120,
        "training.final_epochs": 120,
        "training.batch_size": 10,
        "evaluation.samples": 20,
    },
}
"""Settings of single method configurations."""

METHOD_DATASET_SETTINGS: Mapping[tuple[str, str], Mapping[str, Any]] = {
    ("mc_dropout_gal2016", "protein"): {"training.final_epochs": 200},
    ("renyi_vi_2016", "protein"): {"training.samples": 10, "training.final_epochs": 100},
    ("bbb_slang", "yacht"): {"training.learning_rate": 0.02},
    **{
        ("bbb_slang", name): {"training.batch_size": 100}
        for name in ("kin8nm", "naval", "power", "protein", "wine")
    },
}
"""Settings of single method configurations on single data sets."""

NOISE_SETTINGS = ("likelihood", "likelihood.loss")
"""Settings of the noise model."""

RELEVANT_SETTINGS: Mapping[str, tuple[str, ...]] = {
    "hmc": (*NOISE_SETTINGS, "network.depth", "network.width", "training.final_epochs", "search"),
    "pbp": (*NOISE_SETTINGS, "network.depth", "network.width", "training.final_epochs"),
    **dict.fromkeys(("linear", "gp", "boosting"), NOISE_SETTINGS),
}
"""The only settings that matter for these families: none has a search or a learning rate, and
`linear`, `gp` and `boosting` have no network."""

UNSET_SETTINGS: Mapping[str, Any] = dict.fromkeys((*SEARCHED_BY_DEFAULT, "dataset.seeded_splits"))
"""Settings that are null in the protocol: searched hyper-parameters, and published splits."""

METHOD_DEFAULTS: Mapping[str, Any] = {
    "method.noise": "bernoulli",
    "method.minibatch_weights": "uniform",
}
"""Settings of methods with variants: those of the published values."""

SEARCH_BOUNDS: Mapping[str, tuple[float, float]] = {
    "bounds.noise_precision": (1.0, math.exp(5)),
    "bounds.prior_precision": (math.exp(-4), math.exp(4)),
    "bounds.dropout": (0.005, 0.5),
}
"""Search bounds in standardised units."""

NARROW_BOUNDS: Mapping[str, tuple[float, float]] = {
    "bounds.noise_precision": (math.e, math.exp(5)),
    "bounds.prior_precision": (math.exp(-3), math.exp(4)),
}

DATASET_SEARCH_BOUNDS: Mapping[str, Mapping[str, tuple[float, float]]] = {
    "naval": NARROW_BOUNDS,
    "power": NARROW_BOUNDS,
}
"""Search bounds of the exceptions."""

N_SPLITS, DATASET_N_SPLITS = 20, {"protein": 5}
"""Number of published splits of most data sets, and the exceptions."""

DATASET_CLASSES = ("bnnbench.data.uci.UCI", "bnnbench.data.bundled.Diabetes")
"""Classes of the data sets with the protocol; other data may have the same names."""

PLAIN_DIVERGENCES = ("", "none", "kl")
"""Divergences of published results: KL, or none."""


def protocol_settings(run: Mapping[str, Any]) -> dict[str, Any]:
    """Return the protocol's settings for the `dataset`, `family` and `method` of a run."""
    settings = {
        **DEFAULT_SETTINGS,
        **DATASET_SETTINGS.get(run["dataset"], {}),
        **FAMILY_SETTINGS.get(run["family"], {}),
        **METHOD_SETTINGS.get(run["method"], {}),
        **METHOD_DATASET_SETTINGS.get((run["method"], run["dataset"]), {}),
    }
    return {name: settings[name] for name in RELEVANT_SETTINGS.get(run["family"], tuple(settings))}


def expected_settings(run: Mapping[str, Any]) -> dict[str, Any]:
    """Return the protocol's settings with `METHOD_DEFAULTS` and search bounds."""
    return {
        **METHOD_DEFAULTS,
        **SEARCH_BOUNDS,
        **DATASET_SEARCH_BOUNDS.get(run["dataset"], {}),
        **protocol_settings(run),
    }


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
    noise_settings = {name: run["settings"].get(name) for name in NOISE_SETTINGS}
    return tuple(
        describe_setting(n, value)
        for n, value in noise_settings.items()
        if value != DEFAULT_SETTINGS[n]
    )


def setting_differences(run: Mapping[str, Any]) -> tuple[str, ...]:
    """Describe all settings that deviate from the protocol, except the number of splits."""
    return (*divergence_difference(run), *_settings(run))


def divergence_difference(run: Mapping[str, Any]) -> Iterator[str]:
    """Describe the divergence of a run if it is not KL."""
    if str(run["divergence"]).lower() not in PLAIN_DIVERGENCES:
        yield f"divergence {run['divergence']}"


def _settings(run: Mapping[str, Any]) -> Iterator[str]:
    for name, value in settings_differing_from(run, protocol_settings(run)).items():
        yield describe_setting(name, "unknown" if value is ABSENT else value)


def settings_differing_from(
    run: Mapping[str, Any], expected_values: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the settings of a run that differ from the expected ones; `ABSENT` if not recorded.

    Args:
        run: a run with its `settings`.
        expected_values: expected values by dotted name.
    """
    settings, searches = with_search(run["settings"]), expected_values.get("search") != "none"
    defaults = {
        **METHOD_DEFAULTS,
        **UNSET_SETTINGS,
        **SEARCH_BOUNDS,
        **DATASET_SEARCH_BOUNDS.get(run["dataset"], {}),
    }
    defaults = {
        n: v
        for n, v in defaults.items()
        if n in settings and (searches or n not in SEARCHED_BY_DEFAULT)
    }
    expected = {
        n: v for n, v in expected_values.items() if searches or not n.startswith("search.")
    } | defaults
    different = {
        n: settings.get(n, ABSENT) for n in expected if not _matches(settings.get(n), expected[n])
    }
    # `final_epochs` equal to `epochs`, and settings of another search, add no information.
    repeated = different.get("training.final_epochs") == different.get("training.epochs")
    return {
        name: value
        for name, value in different.items()
        if not (repeated and name == "training.final_epochs")
        and not (name.startswith("search.") and "search" in different)
    }


def with_search(settings: Mapping[str, Any]) -> Mapping[str, Any]:
    """Set `search` to none for runs that only fitted folds because nothing was searched."""
    nothing_searched = "search.folds" in settings and "search" not in settings
    return {**settings, "search": "none"} if nothing_searched else settings


def _matches(value: Any, expected: Any) -> bool:
    """Return whether a value equals the expected one up to rounding; `[50]` equals `50`."""
    if isinstance(expected, tuple):
        return bool(value) and all(map(math.isclose, value, expected))
    return bool((value[0] if isinstance(value, tuple) and len(value) == 1 else value) == expected)


def missing_splits(run: Mapping[str, Any]) -> Iterator[str]:
    """Describe the number of splits of a run if it has fewer than published."""
    published = DATASET_N_SPLITS.get(run["dataset"], N_SPLITS)
    if run["splits"] < published:
        yield f"{run['splits']} of {published} splits"
