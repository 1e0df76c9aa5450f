"""Known settings of published methods, and how a run differs from them.

They follow the protocol except as listed here. The sources are the authors' own code:
github.com/emtiyaz/vadam (`pytorch/uci_code/run_experiments.py`), the code of the SLANG paper, and
the first version of github.com/yaringal/DropoutUncertaintyExps.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bnnbench.results.published.protocol import (
    DATASET_SETTINGS,
    DEFAULT_SETTINGS,
    FAMILY_SETTINGS,
    METHOD_DATASET_SETTINGS,
    METHOD_SETTINGS,
    RELEVANT_SETTINGS,
    divergence_difference,
    missing_splits,
    settings_differing_from,
)
from bnnbench.results.settings import ABSENT, describe_setting

VADAM, VPROP, BBVI = "Vadam", "Vprop", "BBVI"
SLANG = "BBB (SLANG paper baseline)"
DROPOUT = "MC-Dropout original (1x50, 400 epochs, BO tau shared across splits)"
PBP = "PBP"
"""Names of methods in `published/uci.csv`."""

HMC = "HMC (1x50 BNN, HMC-1)"
"""Name of a method in `published/modern.csv`."""

UNDOCUMENTED_METHODS = (HMC,)
"""Methods whose priors, noise and other settings were not published."""

LARGE_DATASETS = ("kin8nm", "naval", "power", "wine")

PUBLISHED_SETTINGS: Mapping[str, Mapping[str, Any]] = {
    VADAM: {"search.objective": "joint"},
    VPROP: {"search.objective": "joint"},
    BBVI: {"search.objective": "joint", "training.samples": 20},
    SLANG: {**METHOD_SETTINGS["bbb_slang"], "training.samples": 4},
    DROPOUT: METHOD_SETTINGS["mc_dropout_gal2016"],
}
"""Deviations of published runs from the protocol, by the paper's name of the method."""

PUBLISHED_DATASET_SETTINGS: Mapping[tuple[str, str], Mapping[str, Any]] = {
    **{(BBVI, name): {"training.samples": 10} for name in LARGE_DATASETS},
    **{
        (SLANG, n): {**METHOD_DATASET_SETTINGS["bbb_slang", n], "training.samples": 2}
        for n in LARGE_DATASETS
    },
    (SLANG, "yacht"): METHOD_DATASET_SETTINGS["bbb_slang", "yacht"],
    (DROPOUT, "protein"): METHOD_DATASET_SETTINGS["mc_dropout_gal2016", "protein"],
}
"""Further deviations on single data sets."""

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
    known = {
        **DEFAULT_SETTINGS,
        **DATASET_SETTINGS.get(run["dataset"], {}),
        **FAMILY_SETTINGS.get(run["family"], {}),
        **PUBLISHED_SETTINGS.get(method, {}),
        **PUBLISHED_DATASET_SETTINGS.get((method, run["dataset"]), {}),
    }
    expected = {name: known[name] for name in RELEVANT_SETTINGS.get(run["family"], tuple(known))}
    differing = settings_differing_from(run, expected)
    other, fewer = list(divergence_difference(run)), list(missing_splits(run))
    changed = [describe_setting(n, "unknown" if v is ABSENT else v) for n, v in differing.items()]
    n_major = len(other) + len(set(differing) - set(MINOR_SETTINGS))
    return Difference(", ".join([*changed, *other, *fewer]), not (n_major or fewer), n_major)
