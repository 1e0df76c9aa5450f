"""What is wrong with choices before anything is made of them, and with the parts of a method."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import fields
from types import NoneType
from typing import Any

from bnnbench.checks import check_name
from bnnbench.cli.configs import ALL_GROUPS, config_folder
from bnnbench.cli.make import Config, make
from bnnbench.types import Redundant, UserError

PARTS_OF_METHODS = ("divergence", "loss", "likelihood")
"""Groups that a method holds, if it has a choice there, in the order in which they are checked."""

USUAL = {"divergence": "kl", "prior": "gaussian", "likelihood": "gaussian", "loss": "nll"}
"""What stands for "no choice was made" where a method has none."""

JUDGED = ("method", "dataset", "divergence")
"""Groups whose names stand in tables, beside what was published for them."""

SECTIONS = ("network", "training", "evaluation", "schedule")
"""Settings that stand together and are no group to choose from."""

PAIRS = ("bounds", "fixed", "fixed_in_target_units")
"""Settings of a `protocol` that are by hyper-parameter."""


def check_groups(config: Config) -> None:
    """Refuses groups that hold no settings, and labels that are no names: they become folders."""
    for group in (*ALL_GROUPS, *SECTIONS):
        held = config.get(group, {})
        if not isinstance(held, Mapping):
            raise UserError(f"{group} must be a group of settings, not {held!r}.")
        for key in {"label", "name"} & held.keys():
            check_name(f"{group}.{key}", held[key])
        if not isinstance(held.get("protocol", {}), Mapping):
            raise UserError(f"{group}.protocol must be settings, not {held['protocol']!r}.")
        for key in PAIRS:
            pairs = held.get("protocol", {}).get(key)
            if not isinstance(pairs, Mapping | NoneType):
                raise UserError(f"{group}.protocol.{key} must be settings, not {pairs!r}.")
        for key in ("_target_", "label") if group in ("experiment", "method") else ():
            if key not in held:
                raise UserError(f"{group}.{key} is missing.")
        if group in JUDGED:
            _check_not_ours(group, held)


def _check_not_ours(group: str, held: Mapping[str, Any]) -> None:
    """Refuses a class from outside that goes by a name of ours, beside what is published for it.

    Args:
        group: of settings.
        held: those settings.
    """
    key = "name" if "name" in held else "label"
    taken = (config_folder() / group / f"{held.get(key)}.yaml").is_file()
    if taken and not str(held.get("_target_", "bnnbench.")).startswith("bnnbench."):
        raise UserError(
            f"{group}.{key}={held[key]} is a name of bnnbench's own, and {held['_target_']} is "
            "not; give it another."
        )


def check_parts(groups: Mapping[str, Any], method: type) -> None:
    """Refuses what is wrong with the parts of a method, or would name a run and change nothing.

    Before the method, which holds them, so that a mistake has the shorter name.

    Raises:
        Redundant: if a divergence or prior is chosen for a method that has none to choose.
        UserError: for the rest.
    """
    from bnnbench.divergences.base import Divergence

    label, names = groups["method"]["label"], {field.name for field in fields(method)}
    given = groups["divergence"].get("prior")
    prior = given.get("label") if isinstance(given, Mapping) else USUAL["prior"]
    if "divergence" not in names and prior != USUAL["prior"]:
        raise Redundant(f"prior={prior}, but method={label} has a Gaussian prior; use method=bbb.")
    parts = {name: make(name, groups[name]) for name in PARTS_OF_METHODS}
    if not isinstance(parts["divergence"], Divergence):
        raise UserError(
            f"divergence={parts['divergence'].label} is bounded by a network that tells two "
            f"samples apart, which method={label} does not train."
        )
    if "divergence" not in names and parts["divergence"].name != USUAL["divergence"]:
        raise Redundant(
            f"divergence is {parts['divergence'].name}, but method={label} has none to choose; "
            "use method=bbb."
        )
    model = {name: parts[name].label for name in ("likelihood", "loss")}
    if "likelihood" not in names and any(model[name] != USUAL[name] for name in model):
        raise UserError(
            f"likelihood={model['likelihood']} with loss={model['loss']} does not go with "
            f"method={label}, which is made for likelihood=gaussian and loss=nll."
        )
    _check_handed_on(
        groups["method"],
        names,
        {
            "divergence": parts["divergence"].name != USUAL["divergence"]
            or prior != USUAL["prior"],
            "likelihood": any(model[name] != USUAL[name] for name in model),
        },
    )


def _check_handed_on(
    settings: Mapping[str, Any], names: Collection[str], unusual: Mapping[str, bool]
) -> None:
    """Refuses a choice that the YAML of a method does not hand on to it.

    Args:
        settings: of the method.
        names: of its fields.
        unusual: by part, whether the choice is another than the one that it has by itself.
    """
    for part, chosen in unusual.items():
        if chosen and part in names and part not in settings:
            raise UserError(
                f"method={settings['label']} is not given the {part} that is chosen: its YAML "
                f"needs the line {part}: ${{{part}}}."
            )
