"""Properties of the method of a run that its record states, so that a subclass inherits them.

A record that lacks them, such as those of reference results, has those of its family.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

PACKAGE = "bnnbench."
"""Begins the recorded names of classes of this package."""

FINAL_FIT = ("network.depth", "network.width", "training.final_epochs")

FAMILY_SETTINGS: Mapping[str, tuple[str, ...]] = {
    "hmc": (*FINAL_FIT, "search"),
    "pbp": FINAL_FIT,
    "tagi": (*FINAL_FIT, "training.batch_size", "search"),
    **dict.fromkeys(("linear", "gp", "boosting", "sklearn"), ()),
}
"""`Method.compared_settings` of the families that restrict them; empty without a network."""

FAMILIES_WITH_EVIDENCE = ("pbp", "linear", "gp")
"""Families with `Method.uses_evidence`."""


def compared_settings(run: Mapping[Any, Any]) -> tuple[str, ...] | None:
    """Return the settings, besides the noise model, that affect the method; None for all.

    Args:
        run: the metadata of its record; missing entries may be NaN, as in a table.
    """
    value = run.get("compared_settings")
    if isinstance(value, list | tuple):
        return tuple(value)
    return None if isinstance(value, str) else FAMILY_SETTINGS.get(str(run["family"]))


def trains_network(run: Mapping[Any, Any]) -> bool:
    """Return whether settings of the network affect the method."""
    value = run.get("trains_network")
    return value if isinstance(value, bool) else FAMILY_SETTINGS.get(str(run["family"])) != ()


def is_of_user(run: Mapping[Any, Any]) -> bool:
    """Return whether the class of the method is from outside the package."""
    own = str(run.get("settings", {}).get("method.class", PACKAGE))
    return not own.startswith(PACKAGE) or "." in str(run["family"])


def uses_evidence(run: Mapping[Any, Any]) -> bool:
    """Return whether the method always determines its precisions by the evidence."""
    value = run.get("uses_evidence")
    return value if isinstance(value, bool) else run["family"] in FAMILIES_WITH_EVIDENCE


def hyper_names(run: Mapping[Any, Any]) -> tuple[str, ...] | None:
    """Return the hyper-parameters that the method searches unless fixed; None if not recorded."""
    value = run.get("hyper_names")
    return tuple(value) if isinstance(value, list | tuple) else None
