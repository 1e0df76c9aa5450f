"""Known settings of published methods, and how a run differs from them.

They follow the protocol except as listed here. The sources are the authors' own code:
github.com/emtiyaz/vadam (`pytorch/uci_code/run_experiments.py`), the code of the SLANG paper,
the first version of github.com/yaringal/DropoutUncertaintyExps, and
github.com/stanfordmlgroup/ngboost (`examples/experiments/regression_exp.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bnnbench.results.published.protocol import (
    COMPARED_SETTINGS,
    RELEVANT_SETTINGS,
    divergence_difference,
    missing_splits,
    published_settings,
    settings_differing_from,
)
from bnnbench.results.settings import ABSENT, describe_setting

VADAM, VPROP, BBVI = "Vadam", "Vprop", "BBVI"
SLANG = "BBB (SLANG paper baseline)"
DROPOUT = "MC-Dropout original (1x50, 400 epochs, BO tau shared across splits)"
PBP = "PBP"
DEEP_ENSEMBLE = "Deep Ensembles (M=5, 40 epochs, adv. training)"
"""Names of methods in `published/uci.csv`."""

HMC = "HMC (1x50 BNN, HMC-1)"
NGBOOST = "NGBoost (trees, Normal)"
"""Names of methods in `published/modern.csv`."""

TAGI = "TAGI (epochs and sigma_v chosen per set)"
TAGI_V = "TAGI-V (epochs chosen per set, gain 1)"
TAGI_V_GAINS = "TAGI-V (epochs and gains chosen per set)"
"""Names of methods in `published/modern.csv`; the test splits chose these settings."""

UNDOCUMENTED_METHODS = (HMC,)
"""Methods whose priors, noise and other settings were not published."""

PRESETS: Mapping[str, str] = {
    BBVI: "bbb_x2",
    SLANG: "bbb_slang",
    DROPOUT: "mc_dropout_gal2016",
    DEEP_ENSEMBLE: "deep_ensemble_2017",
    TAGI: "tagi_2024",
    TAGI_V: "tagi_v_2024",
    TAGI_V_GAINS: "tagi_v_gains_2024",
    NGBOOST: "ngboost",
}
"""The method configuration with the published settings, by the paper's name of the method."""

PUBLISHED_SETTINGS: Mapping[str, Mapping[str, Any]] = {
    **{name: {"search.objective": "joint"} for name in (VADAM, VPROP, BBVI)},
    DEEP_ENSEMBLE: {"method.adversarial": True, "method.members": 5},
    TAGI: {"method.predicts_noise": False},
    TAGI_V: {"method.predicts_noise": True, "method.output_gain": 1.0, "method.noise_gain": 1.0},
    TAGI_V_GAINS: {"method.predicts_noise": True},
    NGBOOST: {
        "method.estimator": "ngboost.NGBRegressor",
        "method.options.n_estimators": 2000,
        "method.options.learning_rate": 0.01,
        "method.select_n_estimators": "likelihood",
    },
}
"""Deviations of published runs from the protocol, by the paper's name of the method."""

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
        return Difference("settings that were not published", False, 0, known=False)
    family = str(run["family"])
    settings = published_settings(PRESETS.get(method, family), family, str(run["dataset"]))
    names = (*COMPARED_SETTINGS, *(("training.samples",) if method in KNOWN_SAMPLES else ()))
    known = {name: settings[name] for name in RELEVANT_SETTINGS.get(family, names)}
    expected = {**known, **PUBLISHED_SETTINGS.get(method, {})}
    differing = settings_differing_from(run, expected)
    other, fewer = list(divergence_difference(run)), list(missing_splits(run))
    changed = [describe_setting(n, "unknown" if v is ABSENT else v) for n, v in differing.items()]
    n_major = len(other) + len(set(differing) - set(MINOR_SETTINGS))
    return Difference(", ".join([*changed, *other, *fewer]), not (n_major or fewer), n_major)
