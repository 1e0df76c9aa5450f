"""From settings to the dataclasses that they name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from importlib import import_module
from traceback import extract_tb
from typing import Any, get_args, get_origin, get_type_hints

from bnnbench.project import FILE, enter_project
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
        UserError: if there is none, its module cannot be imported, or it is no dataclass.
    """
    named = str(config.get("_target_"))
    module, _, name = named.rpartition(".")
    wrong = UserError(
        f"{key}._target_ names no class that can be imported: {named!r}; "
        f"{FILE} says in which folders modules of yours are."
    )
    if not all(part.isidentifier() for part in module.split(".")):
        raise wrong
    enter_project()
    try:
        found = getattr(import_module(module), name, None)
    except (Exception, SystemExit) as error:
        absent = isinstance(error, ModuleNotFoundError) and error.name
        if absent and f"{module}.".startswith(f"{absent}."):
            raise wrong from None
        raise UserError(f"{key}._target_: {named} cannot be imported: {_place(error)}.") from None
    if not isinstance(found, type):
        raise wrong
    missing = sorted(getattr(found, "__abstractmethods__", ()))
    if missing:
        raise UserError(f"{key}._target_: {name} does not have {', '.join(missing)} yet.")
    if _bare(found):
        raise UserError(f"{key}._target_: {name} is no dataclass: put @dataclass above the class.")
    return found


def _bare(cls: type) -> bool:
    """Whether `@dataclass` is missing above a class that declares settings of its own."""
    hints = vars(cls).get("__annotations__", {}).values()
    own = [hint for hint in hints if "ClassVar" not in str(hint)]
    return not is_dataclass(cls) or (bool(own) and "__dataclass_fields__" not in vars(cls))


def _place(error: BaseException) -> str:
    """Where in a module something went wrong, and what."""
    if isinstance(error, SyntaxError):
        return f"{error.filename}, line {error.lineno}: {error.msg}"
    frame = extract_tb(error.__traceback__)[-1]
    return f"{frame.filename}, line {frame.lineno}: {type(error).__name__}: {error}"


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
    for name, value in settings.items():
        check_kind(f"{key}.{name}", value, hints[name])
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
        check_kind(field.name, value, declared)
        settings[field.name] = value
    return construct(key, cls, settings)


def check_kind(key: str, value: Any, hint: Any) -> None:
    """Raises `UserError` if a component is declared and the value is none of its kind."""
    kinds = [kind for kind in (hint, *get_args(hint)) if isinstance(kind, type)]
    own = [kind for kind in kinds if kind.__module__.startswith("bnnbench.")]
    if not own or (value is None and type(None) in kinds):
        return
    if not any(_is_a(value, kind) for kind in own):
        given = type(value).__name__ if is_dataclass(value) else repr(value)
        raise UserError(f"{key} must be a {own[0].__name__}, not {given}.")


def _is_a(value: Any, kind: Any) -> bool:
    """Whether a value is of a class or, where that is a protocol, has what it asks for."""
    if getattr(kind, "_is_protocol", False):
        return all(hasattr(value, name) for name in vars(kind) if not name.startswith("_"))
    return isinstance(value, kind)


def _declared(value: Any, hint: Any) -> Any:
    """A plain value as the type that is declared for it."""
    if type(value) is int and {float, int} & {hint, *get_args(hint)} == {float}:
        return float(value)
    tuples = any(get_origin(one) is tuple for one in (hint, *get_args(hint)))
    return tuple(value) if isinstance(value, list) and tuples else value
