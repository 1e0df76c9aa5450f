"""From settings to the dataclasses that they name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from importlib import import_module
from typing import Any, get_args, get_type_hints

from bnnbench.settings import Evaluation, Network, Training
from bnnbench.types import UserError

Config = dict[str, Any]

PLAIN = {"network": Network, "training": Training, "evaluation": Evaluation}
"""Groups of settings that name no class, and theirs."""


def make(key: str, config: Mapping[str, Any]) -> Any:
    """Builds the dataclass that `config["_target_"]` names, and those nested in it.

    Raises:
        UserError: if the target does not exist or a setting does not fit it.
    """
    cls = target(key, config)
    settings = {
        k: make(f"{key}.{k}", v) if isinstance(v, Mapping) and "_target_" in v else v
        for k, v in config.items()
        if k != "_target_"
    }
    return construct(key, cls, settings)


def target(key: str, config: Mapping[str, Any]) -> Any:
    """The class that `config["_target_"]` names.

    Raises:
        UserError: if there is none.
    """
    module, _, name = str(config.get("_target_")).rpartition(".")
    try:
        return getattr(import_module(module), name)
    except (ImportError, AttributeError, ValueError):
        raise UserError(
            f"{key}._target_ names no class that can be imported: {config.get('_target_')!r}."
        ) from None


def construct(key: str, cls: type, settings: Mapping[str, Any]) -> Any:
    """`cls(**settings)`, once the names are known to fit its fields.

    Raises:
        UserError: if a setting is unknown or missing.
    """
    known = {f.name: f for f in fields(cls) if f.init}
    for unknown in settings.keys() - known.keys():
        raise UserError(f"{key}.{unknown} is not a setting; {key} has {', '.join(known)}.")
    for name, field in known.items():
        bare = field.default is MISSING and field.default_factory is MISSING
        if bare and name not in settings:
            raise UserError(f"{key}.{name} is missing.")
    return cls(**settings)


def as_declared(config: Config, cls: type | None = None) -> Config:
    """Whole numbers as floats where the setting is one, so that 2 and 2.0 name the same run.

    Args:
        config: a copy is returned; what `make` will refuse is left as it is.
        cls: the dataclass that `config` is for, unless it names one.
    """
    if "_target_" in config:
        try:
            cls = target("", config)
        except UserError:
            return config
    declared = get_type_hints(cls) if is_dataclass(cls) else {}
    found = {}
    for key, value in config.items():
        if isinstance(value, dict):
            value = as_declared(value, PLAIN.get(key))
        elif type(value) is int and _only_float(declared.get(key)):
            value = float(value)
        found[key] = value
    return found


def _only_float(hint: Any) -> bool:
    """Whether `float` is declared, alone or beside other than `int`."""
    return {float, int} & {hint, *get_args(hint)} == {float}
