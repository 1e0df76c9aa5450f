"""What is known of the settings behind single published values, and in what a run differs.

All share the protocol but for what stands here. The sources are the authors' own code: that of
github.com/emtiyaz/vadam (`pytorch/uci_code/run_experiments.py`) and of the SLANG paper, and the
first version of github.com/yaringal/DropoutUncertaintyExps.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bnnbench.results.published_protocol import (
    ALONE,
    OF_DATASETS,
    OF_FAMILIES,
    OF_METHODS,
    OF_METHODS_ON,
    SETTINGS,
    differing_from,
    missing_splits,
    other_divergence,
)
from bnnbench.results.settings import ABSENT, spoken

VADAM, VPROP, BBVI = "Vadam", "Vprop", "BBVI"
SLANG = "BBB (SLANG paper baseline)"
DROPOUT = "MC-Dropout original (1x50, 400 epochs, BO tau shared across splits)"
PBP = "PBP"
"""Methods by their names in `published_uci.csv`."""

HMC = "HMC (1x50 BNN, HMC-1)"
"""By its name in `published_modern.csv`."""

UNKNOWN = (HMC,)
"""Methods of whose priors, noise and other settings nothing was published: a band, no target."""

LARGER = ("kin8nm", "naval", "power", "wine")

BEHIND: Mapping[str, Mapping[str, Any]] = {
    VADAM: {"search.objective": "joint"},
    VPROP: {"search.objective": "joint"},
    BBVI: {"search.objective": "joint", "training.samples": 20},
    SLANG: {**OF_METHODS["bbb_slang"], "training.samples": 4},
    DROPOUT: OF_METHODS["mc_dropout_gal2016"],
}
"""By the paper's name of a method, what its runs had instead of the protocol."""

BEHIND_ON: Mapping[tuple[str, str], Mapping[str, Any]] = {
    **{(BBVI, name): {"training.samples": 10} for name in LARGER},
    **{(SLANG, n): {**OF_METHODS_ON["bbb_slang", n], "training.samples": 2} for n in LARGER},
    (SLANG, "yacht"): OF_METHODS_ON["bbb_slang", "yacht"],
    (DROPOUT, "protein"): OF_METHODS_ON["mc_dropout_gal2016", "protein"],
}
"""The same of single data sets."""

SLIGHT = ("training.samples", "evaluation.samples", "search.objective")
"""Settings that are named where they differ, and that keep no value from being compared."""


@dataclass(frozen=True)
class Difference:
    """In what a run differs from those behind a published value.

    Attributes:
        words: in everything that is known, `epochs 5, samples 10`; empty where in nothing.
        slight: whether the two may be compared all the same.
        grave: how many settings do not allow that; fewer splits are none.
        known: whether anything is known of those settings.
    """

    words: str
    slight: bool
    grave: int
    known: bool = True


def difference(run: Mapping[str, Any], method: str) -> Difference:
    """In what a run differs from the settings behind a published value.

    Args:
        run: the names of its record, its `settings` and how many `splits` it has.
        method: the paper's name for it.
    """
    if method in UNKNOWN:
        return Difference("settings that were not published", False, 0, known=False)
    known = {
        **SETTINGS,
        **OF_DATASETS.get(run["dataset"], {}),
        **OF_FAMILIES.get(run["family"], {}),
        **BEHIND.get(method, {}),
        **BEHIND_ON.get((method, run["dataset"]), {}),
    }
    stated = {name: known[name] for name in ALONE.get(run["family"], tuple(known))}
    found = differing_from(run, stated)
    other, fewer = list(other_divergence(run)), list(missing_splits(run))
    said = [spoken(n, "not on record" if v is ABSENT else v) for n, v in found.items()]
    grave = len(other) + len(set(found) - set(SLIGHT))
    return Difference(", ".join([*said, *other, *fewer]), not (grave or fewer), grave)
