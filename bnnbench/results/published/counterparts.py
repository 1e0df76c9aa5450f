"""The published value that a run is compared with, and how their settings differ.

Published settings follow the protocol except as listed here. The sources are the authors' own code:
github.com/emtiyaz/vadam (`pytorch/uci_code/run_experiments.py`), the code of the SLANG paper,
github.com/yaringal/DropoutUncertaintyExps (the first version; for 2018 `net/net.py` at 6eb4497),
github.com/evwalz/easyuq (`ML_example/deep_ens` at cbeebe1), and github.com/stanfordmlgroup/ngboost
(`examples/experiments/regression_exp.py`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from bnnbench.results.method_facts import is_of_user, trains_network
from bnnbench.results.published.protocol import (
    describe_settings,
    divergence_difference,
    has_protocol,
    missing_splits,
    noise_differences,
    relevant_settings,
    settings_differing_from,
)
from bnnbench.results.published.published_settings import published_settings
from bnnbench.results.published.values import Published, Values, published_values
from bnnbench.results.settings import ABSENT

VADAM, VPROP, BBVI = "Vadam", "Vprop", "BBVI"
SLANG = "BBB (SLANG paper baseline)"
DROPOUT = "MC-Dropout original (1x50, 400 epochs, BO tau shared across splits)"
DROPOUT_2018 = "MC-Dropout grid search per split (1 layer, 4000 epochs)"
PBP = "PBP"
DEEP_ENSEMBLE = "Deep Ensembles (M=5, 40 epochs, adv. training)"
"""Names of methods in `published/uci.csv`."""

HMC = "HMC (1x50 BNN, HMC-1)"
NGBOOST = "NGBoost (trees, Normal)"
LAPLACE_2024 = "Laplace (1 layer, 400 epochs)"
DROPOUT_2024 = "MC-Dropout (1 layer, 400 epochs)"
SINGLE_GAUSSIAN = "Single Gaussian (1 layer, 400 epochs)"
EASYUQ = "EasyUQ (1 layer, 400 epochs)"
SPLIT_CONFORMAL = "Split conformal (1 layer, 400 epochs)"
DEEP_ENSEMBLE_2024 = "Deep Ensembles (M=5, 40 epochs, no adv. training)"
"""Names of methods in `published/modern.csv`."""

TAGI = "TAGI (epochs and sigma_v chosen per set)"
TAGI_V = "TAGI-V (epochs chosen per set, gain 1)"
TAGI_V_GAINS = "TAGI-V (epochs and gains chosen per set)"
"""Names of methods in `published/modern.csv`; the test splits chose these settings."""

COUNTERPARTS = {
    "vadam": (VADAM,),
    "vprop": (VPROP,),
    # Only the SLANG paper prints a (joint) log-likelihood for it.
    "bbb": (BBVI, SLANG),
    "mc_dropout": (DROPOUT, DROPOUT_2018, DROPOUT_2024),
    "laplace": (LAPLACE_2024,),
    "pbp": (PBP,),
    "deep_ensemble": (DEEP_ENSEMBLE, DEEP_ENSEMBLE_2024),
    "hmc": (HMC,),
    "tagi": (TAGI, TAGI_V, TAGI_V_GAINS),
    "ngboost": (NGBOOST,),
}
"""Published names of our method families or presets, best match first; networks have one hidden
layer."""

UNPUBLISHED_METHODS = ("mc_dropout_x10",)
"""Methods of these families with unpublished settings (here 40 final epochs)."""

UNDOCUMENTED_METHODS = (
    *(HMC, LAPLACE_2024, DROPOUT_2024, SINGLE_GAUSSIAN, EASYUQ, SPLIT_CONFORMAL),
)  # fmt: skip
"""Methods whose priors, noise and other settings were not published."""

PRESETS: Mapping[str, str] = {
    VPROP: "vprop_khan2018",
    BBVI: "bbb_x2",
    SLANG: "bbb_slang",
    DROPOUT: "mc_dropout_gal2016",
    DROPOUT_2018: "mc_dropout_2018",
    DEEP_ENSEMBLE: "deep_ensemble_2017",
    DEEP_ENSEMBLE_2024: "deep_ensemble_easyuq",
    TAGI: "tagi_2024",
    TAGI_V: "tagi_v_2024",
    TAGI_V_GAINS: "tagi_v_gains_2024",
    NGBOOST: "ngboost",
}
"""The method configuration with the published settings, by the paper's name of the method."""

PUBLISHED_SETTINGS: Mapping[str, Mapping[str, Any]] = {
    **{name: {"search.objective": "joint"} for name in (VADAM, BBVI)},
    VPROP: {"method.search_with": "vadam"},
    SLANG: {"method.weight_init": "zero", "method.bias_prior": False},
    DEEP_ENSEMBLE: {"method.adversarial": True, "method.members": 5},
    DROPOUT_2018: {"method.weight_init": "glorot", "method.bias_prior": False},
    DEEP_ENSEMBLE_2024: {
        "method.adversarial": False,
        "method.members": 5,
        "method.searched_members": 1,
        "method.weight_init": "glorot",
    },
    TAGI: {"method.predicts_noise": False, "method.with_replacement": True},
    TAGI_V: {
        "method.predicts_noise": True,
        "method.output_gain": 1.0,
        "method.noise_gain": 1.0,
        "method.with_replacement": True,
    },
    TAGI_V_GAINS: {"method.predicts_noise": True, "method.with_replacement": True},
    NGBOOST: {
        "method.estimator": "ngboost.NGBRegressor",
        "method.options.n_estimators": 2000,
        "method.options.learning_rate": 0.01,
        "method.select_n_estimators": "likelihood",
    },
}
"""Deviations of published runs from the protocol, by the paper's name of the method."""

LIKELIHOODS: Mapping[str, str] = {DEEP_ENSEMBLE: "heteroscedastic_softplus"}
"""The likelihood of a paper whose preset has another one; runs with either are compared."""

KNOWN_SAMPLES = (BBVI, SLANG)
"""Methods whose number of samples per step was published."""

MINOR_SETTINGS = ("training.samples", "evaluation.samples", "search.objective")
"""Settings whose differences are reported but do not prevent a comparison."""


@dataclass(frozen=True)
class Difference:
    """How a run differs from the settings of a published value.

    Attributes:
        description: all known differences, `epochs 5, samples 10`; empty if there are none.
        comparable: whether the two may be compared despite the differences.
        n_major: number of settings that prevent a comparison; fewer splits do not count.
        known: whether anything is known about the published settings.
    """

    description: str
    comparable: bool
    n_major: int
    known: bool = True


def difference(run: Mapping[str, Any], method: str) -> Difference:
    """Return how a run differs from the settings of a published method.

    `run` has the metadata of its record, its `settings` and its number of `splits`.
    """
    if method in UNDOCUMENTED_METHODS:
        return Difference("unknown", comparable=False, n_major=0, known=False)
    family = str(run["family"])
    settings = published_settings(PRESETS.get(method, family), family, str(run["dataset"]))
    added = ("training.samples",) if method in KNOWN_SAMPLES else ()
    known = relevant_settings(settings, run, added)
    differing = settings_differing_from(run, {**known, **PUBLISHED_SETTINGS.get(method, {})})
    if differing.get("likelihood") == LIKELIHOODS.get(method, ABSENT):
        del differing["likelihood"]
    other, fewer = divergence_difference(run), missing_splits(run)
    n_major = len(other) + len(set(differing) - set(MINOR_SETTINGS))
    description = ", ".join([*describe_settings(differing), *other, *fewer])
    return Difference(description, not (n_major or fewer), n_major)


def counterpart(
    run: Mapping[Any, Any], metric: str, user_published: Values = MappingProxyType({})
) -> Published | None:
    """Return the published value to compare a run with, if there is one.

    A value from the user's file for the run's method takes precedence. Otherwise, the published
    networks have one hidden layer, a Gaussian likelihood and KL, so other runs match nothing. Of
    several values, the one whose settings are most like the run's is returned, one with unknown
    settings last, then the best match of `COUNTERPARTS`. `difference` tells whether the two are
    comparable. `run` has the metadata of its record, its `settings` and its number of `splits`.
    """
    if user_value := user_published.get((run["dataset"], metric, run["method"])):
        return user_value
    is_comparable = (
        has_protocol(run)
        and not is_of_user(run)
        and run["depth"] == int(trains_network(run))
        and not divergence_difference(run)
        and not noise_differences(run)
        and run["method"] not in UNPUBLISHED_METHODS
    )
    known = COUNTERPARTS.get(run["family"]) or COUNTERPARTS.get(run["method"], ())
    names = known if is_comparable else ()
    candidates = [
        value for n in names if (value := published_values().get((run["dataset"], metric, n)))
    ]

    def distance(value: Published) -> tuple[bool, int]:
        found = difference(run, value.method)
        return not found.known, found.n_major

    return min(candidates, key=distance, default=None)


def z_score(ours: float, our_stderr: float, theirs: float, their_stderr: float) -> float:
    """Return `ours - theirs` in combined standard errors; NaN if either error is unknown."""
    combined = math.hypot(our_stderr, their_stderr)
    return (ours - theirs) / combined if combined > 0 else math.nan


def run_difference(run: Mapping[Any, Any], theirs: Published) -> Difference:
    """Return how a run differs from the settings of a published value, as far as known."""
    if not theirs.by_user:
        return difference(run, theirs.method)
    fewer = run["splits"] < theirs.splits  # False if the number is missing
    suffix = f", {run['splits']} of {theirs.splits:.0f} splits" if fewer else ""
    return Difference(f"unknown{suffix}", comparable=not fewer, n_major=0, known=False)


def run_z_score(run: Mapping[Any, Any], metric: str, theirs: Published) -> float:
    """Return the z-score of a run against a published value; NaN if major settings differ."""
    if not run_difference(run, theirs).comparable:
        return math.nan
    return z_score(run[f"{metric}_mean"], run[f"{metric}_stderr"], theirs.mean, theirs.stderr)
