"""Checks of config groups, and of the components that a method accepts."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import fields
from typing import Any

from bnnbench.config.configs import GROUPS, config_folder, read_option
from bnnbench.config.errors import not_a_mapping
from bnnbench.config.instantiate import Config, check_type, instantiate, target_class
from bnnbench.constraints import check_name
from bnnbench.types import DuplicateConfiguration, UserError

DEFAULTS = {"divergence": "kl", "prior": "gaussian", "likelihood": "gaussian", "loss": "nll"}
"""The options that every method accepts."""

GROUPS_WITH_PUBLISHED_VALUES = ("method", "dataset", "divergence")
"""Groups whose names identify published values in result tables."""

SECTIONS = ("network", "training", "evaluation")
"""Sections of the configuration that are not config groups."""

KEYS_BY_HYPERPARAMETER = ("bounds", "fixed", "fixed_original_units")
"""Settings of a `protocol` that map hyper-parameters to values."""


def check_groups(config: Config) -> None:
    """Reject groups that are not mappings, and labels that cannot be folder names."""
    for group in (*GROUPS, *SECTIONS):
        settings = config.get(group, {})
        _check_mapping(group, settings)
        for key in {"label", "name"} & settings.keys():
            check_name(f"{group}.{key}", settings[key])
        protocol = settings.get("protocol", {})
        _check_mapping(f"{group}.protocol", protocol)
        for key in KEYS_BY_HYPERPARAMETER:
            if protocol.get(key) is not None:
                _check_mapping(f"{group}.protocol.{key}", protocol[key])
        for key in ("_target_", "label") if group in ("experiment", "method") else ():
            if key not in settings:
                raise UserError(f"{group}.{key} is missing.", f"{group}.{key}", "missing")
        if group in GROUPS_WITH_PUBLISHED_VALUES:
            _check_name_not_taken(group, settings)


def _check_mapping(key: str, value: object) -> None:
    if not isinstance(value, Mapping):
        raise not_a_mapping(key, value)


def _check_name_not_taken(group: str, settings: Mapping[str, Any]) -> None:
    """Reject an external class with one of our names, which published values refer to."""
    key = "name" if "name" in settings else "label"
    taken = (config_folder() / group / f"{settings.get(key)}.yaml").is_file()
    if taken and not str(settings.get("_target_", "bnnbench.")).startswith("bnnbench."):
        target_class(group, settings)  # raises an error if there is no such class
        raise UserError(
            f"{group}.{key}={settings[key]} is the name of a {group} of bnnbench; give "
            f"{settings['_target_']} another name.",
            f"{group}.{key}",
            "name_taken",
        )


def check_method_components(groups: Mapping[str, Any], method: type) -> None:
    """Reject components that are invalid or that the method does not accept.

    They are checked before the method that holds them, so that errors name `divergence.alpha`
    rather than `method.divergence.alpha`.

    Raises:
        DuplicateConfiguration: if the method has no choice of divergence or prior.
        UserError: for anything else.
    """
    label, names = groups["method"]["label"], {field.name for field in fields(method)}
    given = groups["divergence"].get("prior")
    prior = given.get("label") if isinstance(given, Mapping) else DEFAULTS["prior"]
    if "divergence" not in names and prior != DEFAULTS["prior"]:
        raise DuplicateConfiguration(
            f"method={label} does not accept prior={prior}, only a Gaussian prior; use method=bbb.",
            "prior",
            "not_accepted",
        )
    divergence = _divergence_name(groups["divergence"])
    if "divergence" not in names and divergence != DEFAULTS["divergence"]:
        raise DuplicateConfiguration(
            f"method={label} does not accept a divergence, but {divergence} is chosen; use "
            "method=bbb.",
            "divergence",
            "not_accepted",
        )
    model = {name: instantiate(name, groups[name]).label for name in ("loss", "likelihood")}
    if "likelihood" not in names and any(model[name] != DEFAULTS[name] for name in model):
        raise UserError(
            f"method={label} needs likelihood=gaussian and loss=nll, not "
            f"likelihood={model['likelihood']} and loss={model['loss']}.",
            "likelihood",
            "not_accepted",
        )
    _check_passed_to_method(
        groups["method"],
        names,
        {
            "divergence": divergence != DEFAULTS["divergence"] or prior != DEFAULTS["prior"],
            "likelihood": any(model[name] != DEFAULTS[name] for name in model),
        },
    )


def _divergence_name(settings: Mapping[str, Any]) -> str:
    """Return the name of a divergence; the default one is not created, since few methods use it."""
    default = {group: read_option(group, DEFAULTS[group]) for group in ("divergence", "prior")}
    if settings == {**default["divergence"], "prior": default["prior"]}:
        return DEFAULTS["divergence"]
    from bnnbench.divergences.base import Divergence

    divergence = instantiate("divergence", settings)
    check_type("divergence", divergence, Divergence)
    return str(divergence.name)


def _check_passed_to_method(
    settings: Mapping[str, Any], names: Collection[str], not_default: Mapping[str, bool]
) -> None:
    """Reject a choice that the YAML file of the method does not pass on to it.

    Args:
        settings: of the method.
        names: of its fields.
        not_default: by component, whether the choice differs from the default.
    """
    for component, chosen in not_default.items():
        if chosen and component in names and component not in settings:
            raise UserError(
                f"method={settings['label']} does not receive the chosen {component}: add the "
                f"line {component}: ${{{component}}} to its YAML file.",
                component,
                "not_passed_on",
            )
