"""The protocol that published values rest on, and in what a run departs from it.

Hernandez-Lobato & Adams (2015) set the splits and the widths, Khan et al. (2018) the minibatches
and the search (their code; book, sections 4.7.3 and 4.7.4). What else is known of the settings
behind single values is `published_settings`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from bnnbench.results.settings import ABSENT, spoken

SETTINGS: Mapping[str, Any] = {
    "likelihood": "gaussian",
    "likelihood.loss": "nll",
    "network.depth": 1,
    "network.width": 50,
    "training.epochs": 40,
    "training.final_epochs": 40,
    "training.batch_size": 32,
    "training.learning_rate": 0.01,
    "evaluation.samples": 100,
    "search": "bo",
    "search.iterations": 30,
    "search.initial_points": 5,
    "search.folds": 5,
    "search.objective": "per_point",
}
"""By dotted name, of all methods and data sets but for the exceptions below."""

LARGE: Mapping[str, Any] = {"training.batch_size": 128}

OF_DATASETS: Mapping[str, Mapping[str, Any]] = {
    **dict.fromkeys(("kin8nm", "naval", "power", "wine"), LARGE),
    "protein": {**LARGE, "network.width": 100},
}

OF_FAMILIES: Mapping[str, Mapping[str, Any]] = {
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

OF_METHODS: Mapping[str, Mapping[str, Any]] = {
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
"""Configurations that go by the protocol in their own way."""

OF_METHODS_ON: Mapping[tuple[str, str], Mapping[str, Any]] = {
    ("mc_dropout_gal2016", "protein"): {"training.final_epochs": 200},
    ("renyi_vi_2016", "protein"): {"training.samples": 10, "training.final_epochs": 100},
    ("bbb_slang", "yacht"): {"training.learning_rate": 0.02},
    **{
        ("bbb_slang", name): {"training.batch_size": 100}
        for name in ("kin8nm", "naval", "power", "protein", "wine")
    },
}
"""The same on single data sets."""

NOISE = ("likelihood", "likelihood.loss")
"""The noise law."""

ALONE: Mapping[str, tuple[str, ...]] = {
    "hmc": (*NOISE, "network.depth", "network.width", "training.final_epochs", "search"),
    "pbp": (*NOISE, "network.depth", "network.width", "training.final_epochs"),
    **dict.fromkeys(("linear", "gp", "boosting"), NOISE),
}
"""Families of which only these settings count: they search nothing and take no steps of a learning
rate, and the last have no network."""

SEARCHED = ("method.noise_precision", "method.prior_precision", "method.dropout")
"""What is searched rather than given, where anything is."""

OPEN: Mapping[str, Any] = dict.fromkeys((*SEARCHED, "dataset.seeded_splits"))
"""What is searched, or published, rather than given; of runs that have these settings."""

WAYS: Mapping[str, Any] = {"method.noise": "bernoulli", "method.minibatch_weights": "uniform"}
"""Of methods that have more than one: what was published is the first."""

BOUNDS: Mapping[str, tuple[float, float]] = {
    "bounds.noise_precision": (1.0, math.exp(5)),
    "bounds.prior_precision": (math.exp(-4), math.exp(4)),
    "bounds.dropout": (0.005, 0.5),
}
"""Between which values the search looks, standardised units, of runs that search these."""

NARROW: Mapping[str, tuple[float, float]] = {
    "bounds.noise_precision": (math.e, math.exp(5)),
    "bounds.prior_precision": (math.exp(-3), math.exp(4)),
}

BOUNDS_OF: Mapping[str, Mapping[str, tuple[float, float]]] = {"naval": NARROW, "power": NARROW}
"""The exceptions."""

SPLITS, SPLITS_OF = 20, {"protein": 5}
"""Of every data set, and the exceptions."""

SOURCES = ("bnnbench.data.uci.UCI", "bnnbench.data.embedded.Diabetes")
"""Classes of the data sets that have the protocol: others may go by the same name."""

PLAIN_DIVERGENCES = ("", "none", "kl")
"""The divergences behind published results: KL, or none to choose."""


def protocol_of(run: Mapping[str, Any]) -> dict[str, Any]:
    """The published protocol's settings for the data set and the method of a run.

    Args:
        run: `dataset`, `family` and `method`.
    """
    found = {
        **SETTINGS,
        **OF_DATASETS.get(run["dataset"], {}),
        **OF_FAMILIES.get(run["family"], {}),
        **OF_METHODS.get(run["method"], {}),
        **OF_METHODS_ON.get((run["method"], run["dataset"]), {}),
    }
    return {name: found[name] for name in ALONE.get(run["family"], tuple(found))}


def usual_of(run: Mapping[str, Any]) -> dict[str, Any]:
    """The same, and what runs have of `WAYS` and `BOUNDS` where nobody says otherwise."""
    return {**WAYS, **BOUNDS, **BOUNDS_OF.get(run["dataset"], {}), **protocol_of(run)}


def has_protocol(run: Mapping[str, Any]) -> bool:
    """Whether a run is on a data set that the protocol is for."""
    return run["settings"].get("dataset.class") in SOURCES


def departures(run: Mapping[str, Any]) -> tuple[str, ...]:
    """In what a run differs from the published protocol, `epochs 5` or `2 of 20 splits`.

    Args:
        run: the names of its record, its `settings` (of `settings.flatten`) and how many `splits`
            it has.

    Returns:
        Nothing where it follows the protocol, or its data set has none.
    """
    if not has_protocol(run):
        return ()
    return other_noise(run) or (*other_settings(run), *missing_splits(run))


def other_noise(run: Mapping[str, Any]) -> tuple[str, ...]:
    """The noise law of a run, where it is not the protocol's.

    That makes it another model, whose other settings need not be those.
    """
    own = {name: run["settings"].get(name) for name in NOISE}
    return tuple(spoken(n, value) for n, value in own.items() if value != SETTINGS[n])


def other_settings(run: Mapping[str, Any]) -> tuple[str, ...]:
    """Every setting of a run that is not the protocol's, but for the number of splits."""
    return (*other_divergence(run), *_settings(run))


def other_divergence(run: Mapping[str, Any]) -> Iterator[str]:
    """The divergence of a run, where it is not KL."""
    if str(run["divergence"]).lower() not in PLAIN_DIVERGENCES:
        yield f"divergence {run['divergence']}"


def _settings(run: Mapping[str, Any]) -> Iterator[str]:
    for name, value in differing_from(run, protocol_of(run)).items():
        yield spoken(name, "not on record" if value is ABSENT else value)


def differing_from(run: Mapping[str, Any], stated: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a run that are not those stated, `ABSENT` where they are not on record.

    Args:
        run: with its `settings`.
        stated: by dotted name.
    """
    own, searches = with_search(run["settings"]), stated.get("search") != "none"
    there = {**WAYS, **OPEN, **BOUNDS, **BOUNDS_OF.get(run["dataset"], {})}
    there = {n: v for n, v in there.items() if n in own and (searches or n not in SEARCHED)}
    expected = {n: v for n, v in stated.items() if searches or not n.startswith("search.")} | there
    other = {n: own.get(n, ABSENT) for n in expected if not _alike(own.get(n), expected[n])}
    # Final fits as long as the others, and the inner settings of another search, say nothing.
    repeated = other.get("training.final_epochs") == other.get("training.epochs")
    return {
        name: value
        for name, value in other.items()
        if not (repeated and name == "training.final_epochs")
        and not (name.startswith("search.") and "search" in other)
    }


def with_search(settings: Mapping[str, Any]) -> Mapping[str, Any]:
    """The settings, `search` being none where nothing was left to search but folds to fit."""
    idle = "search.folds" in settings and "search" not in settings
    return {**settings, "search": "none"} if idle else settings


def _alike(value: Any, stated: Any) -> bool:
    """Whether a value is the stated one, but for rounding; a list of one width is that width."""
    if isinstance(stated, tuple):
        return bool(value) and all(map(math.isclose, value, stated))
    return bool((value[0] if isinstance(value, tuple) and len(value) == 1 else value) == stated)


def missing_splits(run: Mapping[str, Any]) -> Iterator[str]:
    """How many splits a run has, where they are fewer than published."""
    published = SPLITS_OF.get(run["dataset"], SPLITS)
    if run["splits"] < published:
        yield f"{run['splits']} of {published} splits"
