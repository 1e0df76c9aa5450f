"""Checks of config groups, and of the components that a method accepts."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import fields
from typing import Any

from bnnbench.config.configs import GROUPS, config_folder, read_option
from bnnbench.config.errors import not_a_mapping
from bnnbench.config.instantiate import Config, check_type, instantiate, target_class
from bnnbench.constraints import check_name
from bnnbench.near_names import with_known
from bnnbench.settings import PRECISIONS
from bnnbench.types import DuplicateConfiguration, UserError

DEFAULTS = {"divergence": "kl", "prior": "gaussian", "likelihood": "gaussian", "loss": "nll"}
"""The options that every method accepts."""

SECTIONS = ("network", "training", "evaluation")
"""Sections of the configuration that are not config groups."""

SAMPLE_BUDGETS = ("small", "large")
"""Names of the numbers of samples below `protocol.samples`; a data set has one of them."""

PROTOCOL_KEYS: Mapping[str, frozenset[str]] = {
    "method": frozenset({
        *("epochs", "final_epochs", "passes", "batch_size", "batch_sizes", "samples"),
        *("test_samples", "learning_rate", "learning_rates", "betas", "step_size"),
        *("preconditioned_step", "initial_precision", "noise_precision", "out_of_fold", "width"),
        "objective",
        *("bounds", "bounds_original_units", "fixed_original_units", "published"),
        *("grid", "grid_original_units", "held_out_fraction"),
    }),
    "dataset": frozenset({
        *("sample_budget", "batch_size", "epochs", "width", "widths", "bounds", "fixed"),
        *("fixed_original_units", "trajectory_quarter_periods", "trajectory_lengths"),
        "precisions",
    }),
}  # fmt: skip
"""Settings below `protocol` that the configurations read, or look up in a table, by group."""

KEYS_BY_HYPERPARAMETER = (
    *("bounds", "bounds_original_units", "fixed", "fixed_original_units"),
    *("grid", "grid_original_units"),
)
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
        _check_protocol(group, protocol)
        for key in ("_target_", "label") if group in ("experiment", "method") else ():
            if key not in settings:
                raise UserError(f"{group}.{key} is missing.", f"{group}.{key}", "missing")
        _check_name_not_taken(group, settings)


def _check_mapping(key: str, value: object) -> None:
    if not isinstance(value, Mapping):
        raise not_a_mapping(key, value)


def _check_protocol(group: str, protocol: Mapping[str, Any]) -> None:
    """Reject settings below `protocol` that nothing reads in this group, such as misspelt ones."""
    for key, value in protocol.items():
        setting = f"{group}.protocol.{key}"
        if key not in PROTOCOL_KEYS.get(group, ()):
            raise _unknown_setting(setting, key, PROTOCOL_KEYS.get(group, ()))
        if value is not None and key in (*KEYS_BY_HYPERPARAMETER, "samples"):
            _check_mapping(setting, value)
        for budget in value if key == "samples" and value is not None else ():
            if budget not in SAMPLE_BUDGETS:
                raise _unknown_setting(f"{setting}.{budget}", budget, SAMPLE_BUDGETS)


def check_method_bounds(settings: Mapping[str, Any], method: type) -> None:
    """Reject search bounds of a hyper-parameter that is not a field of the method's class.

    Bounds in original units are those of a precision, and replace all bounds in standardised units.
    """
    protocol, known = settings.get("protocol", {}), [field.name for field in fields(method)]
    bounds, in_units = (protocol.get(key) or {} for key in ("bounds", "bounds_original_units"))
    precisions = [name for name in PRECISIONS if name in known]
    for key, names, accepted in (
        ("bounds", bounds, known),
        ("bounds_original_units", in_units, precisions),
    ):
        for name in names:
            if name not in accepted:
                raise _unknown_setting(f"method.protocol.{key}.{name}", name, accepted)
    for name, pair in in_units.items():
        if pair is not None and bounds.get(name) is not None:
            raise UserError(
                f"method.protocol.bounds.{name} has no effect, since "
                f"method.protocol.bounds_original_units.{name} is given; set one to null.",
                f"method.protocol.bounds.{name}",
                "two_units",
            )


def _unknown_setting(setting: str, name: str, known: Collection[str]) -> UserError:
    """Return the error for a setting below `protocol` that nothing reads."""
    found = with_known(name, sorted(known))
    return UserError(f"{setting} has no effect: unknown name {found}.", setting, "unknown")


def _check_name_not_taken(group: str, settings: Mapping[str, Any]) -> None:
    """Reject an external class with one of our names, which results and protocols refer to.

    A name that is inherited from one of our classes is allowed.
    """
    if str(settings.get("_target_", "bnnbench.")).startswith("bnnbench."):
        return
    cls = target_class(group, settings)
    key = "name" if "name" in settings else "label"
    name = settings.get(key, getattr(cls, key, None))
    if (config_folder() / group / f"{name}.yaml").is_file():
        raise UserError(
            f"{group}.{key}={name} is the name of a {group} of bnnbench; give "
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
    not_default = {
        "divergence": divergence != DEFAULTS["divergence"] or prior != DEFAULTS["prior"],
        "likelihood": any(model[name] != DEFAULTS[name] for name in model),
    }
    for component, chosen in not_default.items():
        if chosen and component in names and component not in groups["method"]:
            raise UserError(
                f"method={label} does not receive the chosen {component}: add the line "
                f"{component}: ${{{component}}} to its YAML file.",
                component,
                "not_passed_on",
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
