"""From settings to the dataclasses that they name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from importlib import import_module
from typing import Any, get_args, get_origin, get_type_hints

from bnnbench.types import UserError

Config = dict[str, Any]


def make(key: str, config: Mapping[str, Any], cls: type | None = None) -> Any:
    """Builds a dataclass from its settings, and those nested in it.

    Args:
        key: where the settings stand in the configuration, for messages.
        config: the settings; `_target_` names the class.
        cls: the class, where nothing names it.

    Raises:
        UserError: if the target does not exist or a setting does not fit it.
    """
    cls = target(key, config) if cls is None else cls
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

    Whole numbers become floats and lists become tuples where the field is declared so: 2 and 2.0
    are one setting, and frozen settings hold nothing that changes.

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
    hints = get_type_hints(cls)
    return cls(**{name: _declared(value, hints[name]) for name, value in settings.items()})


def make_from_groups(key: str, config: Mapping[str, Any], groups: Mapping[str, Any]) -> Any:
    """Builds a dataclass whose fields are settings of its own or groups of the configuration.

    Args:
        key: where its own settings stand.
        config: its own settings; `_target_` names the class.
        groups: what a field of the same name is built from; it gets no other.

    Raises:
        UserError: if a setting is unknown or missing.
    """
    cls = target(key, config)
    hints, settings = get_type_hints(cls), {k: v for k, v in config.items() if k != "_target_"}
    for field in fields(cls):
        if field.name in settings or field.name not in groups:
            continue
        value, declared = groups[field.name], hints[field.name]
        if isinstance(value, Mapping) and "_target_" in value:
            value = make(field.name, value)
        elif isinstance(value, Mapping) and is_dataclass(declared):
            value = make(field.name, value, declared)  # type: ignore[arg-type]
        settings[field.name] = value
    return construct(key, cls, settings)


def _declared(value: Any, hint: Any) -> Any:
    """A plain value as the type that is declared for it."""
    if type(value) is int and {float, int} & {hint, *get_args(hint)} == {float}:
        return float(value)
    tuples = any(get_origin(one) is tuple for one in (hint, *get_args(hint)))
    return tuple(value) if isinstance(value, list) and tuples else value
