"""Instantiates the dataclasses that settings name."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import MISSING, fields, is_dataclass
from importlib import import_module
from traceback import extract_tb
from typing import Any, get_args, get_origin, get_type_hints

import yaml

from bnnbench.config.configs import find_options
from bnnbench.discovery import FILE, is_own_module
from bnnbench.files import read_bytes
from bnnbench.near_names import with_known
from bnnbench.types import UserError

Config = dict[str, Any]

PACKAGES = {
    "method": ("methods",),
    "dataset": ("data",),
    "images": ("data",),
    "experiment": ("experiment", "suites"),
    "divergence": ("divergences",),
    "prior": ("divergences",),
    "likelihood": ("likelihoods",),
    "loss": ("losses",),
    "search": ("search",),
    "engine": ("experiment.engines",),
}
"""The packages of bnnbench whose classes a group may name."""


def instantiate(key: str, config: Mapping[str, Any], cls: type | None = None) -> Any:
    """Instantiate a dataclass and those nested in its settings.

    Args:
        key: of the settings in the configuration, for messages.
        config: the settings; `_target_` names the class.
        cls: the class, if `_target_` is missing.

    Raises:
        UserError: if the class does not exist or a setting does not fit it.
    """
    cls = target_class(key, config) if cls is None else cls
    settings = {
        k: instantiate(f"{key}.{k}", v) if isinstance(v, Mapping) and "_target_" in v else v
        for k, v in config.items()
        if k != "_target_"
    }
    return construct(key, cls, settings)


def target_class(key: str, config: Mapping[str, Any]) -> Any:
    """Return the class that `config["_target_"]` names.

    The name is checked before anything is imported, since the configuration may be that of a
    received run.

    Raises:
        UserError: if there is none, the group may not name it, its module cannot be imported, or it
            is not a dataclass.
    """
    named, setting = config.get("_target_"), f"{key}._target_"
    if not isinstance(named, str):
        raise UserError(f"{setting} must name a class, not {named!r}.", setting, "not_a_name")
    module, _, name = named.rpartition(".")
    if not all(part.isidentifier() for part in module.split(".")):
        raise _unknown_class(setting, named)
    _check_package(setting, named)
    try:
        found = getattr(import_module(module), name, None)
    except (Exception, SystemExit) as error:
        absent = isinstance(error, ModuleNotFoundError) and error.name
        if absent and f"{module}.".startswith(f"{absent}."):
            raise _unknown_class(setting, named) from None
        raise UserError(
            f"{setting}: cannot import {named}: {_location(error)}.", setting, "import_error"
        ) from None
    if not isinstance(found, type):
        raise _unknown_class(setting, named)
    missing = sorted(getattr(found, "__abstractmethods__", ()))
    if missing:
        raise UserError(
            f"{setting}: {name} must implement {', '.join(missing)}.", setting, "abstract"
        )
    if _lacks_decorator(found):
        raise UserError(
            f"{setting}: {name} is not a dataclass; decorate it with @dataclass.",
            setting,
            "not_a_dataclass",
        )
    return found


def _check_package(setting: str, named: str) -> None:
    """Raise `UserError` unless the group may name this class; nothing is imported."""
    module = named.rpartition(".")[0]
    group = setting.split(".")[-2]
    if module.partition(".")[0] != "bnnbench":
        if not is_own_module(module):
            raise _unknown_class(setting, named)
        return
    packages = PACKAGES.get(group) or tuple(name for some in PACKAGES.values() for name in some)
    if not any(f"{module}.".startswith(f"bnnbench.{package}.") for package in packages):
        raise UserError(
            f"{setting} must name a class of bnnbench.{' or bnnbench.'.join(packages)}, or of your "
            f"own, not {named}.",
            setting,
            "wrong_type",
        )


def _unknown_class(setting: str, named: str) -> UserError:
    return UserError(
        f"{setting}: no class {named!r} was found in bnnbench or among your own modules, whose "
        f"folders a {FILE} lists.",
        setting,
        "unknown_class",
    )


def _lacks_decorator(cls: type) -> bool:
    """Whether a class declares settings but is not decorated with `@dataclass`."""
    hints = vars(cls).get("__annotations__", {}).values()
    own = [hint for hint in hints if "ClassVar" not in str(hint)]
    return not is_dataclass(cls) or (bool(own) and "__dataclass_fields__" not in vars(cls))


def _location(error: BaseException) -> str:
    """Return file, line and message of an error."""
    if isinstance(error, SyntaxError):
        return f"{error.filename}, line {error.lineno}: {error.msg}"
    frame = extract_tb(error.__traceback__)[-1]
    return f"{frame.filename}, line {frame.lineno}: {type(error).__name__}: {error}"


def check_saved_estimator(method: Mapping[str, Any]) -> None:
    """Raise `UserError` unless a saved run may name its estimator; nothing is imported.

    It must be a class of scikit-learn, or named in an option of `method`. The arguments must
    be numbers, or those of this option: others can be names of files.

    Args:
        method: settings of the method in a run, which may come from someone else.
    """
    estimator, arguments = method.get("estimator"), method.get("options") or {}
    if estimator is None:
        return
    named = [yaml.safe_load(read_bytes(option.file)) for option in find_options("method").values()]
    own = [option for option in named if option.get("estimator") == estimator]
    if str(estimator).startswith("sklearn."):
        own.append({"options": {}})
    others = {n: v for n, v in dict(arguments).items() if type(v) not in (int, float)}
    if not any(others.items() <= (option.get("options") or {}).items() for option in own):
        raise UserError(
            f"method.estimator: this run names {estimator}, with options that no method of yours "
            "has; add them to a YAML file of a trusted project, or run the method yourself.",
            "method.estimator",
            "untrusted",
        )


def construct(key: str, cls: type, settings: Mapping[str, Any]) -> Any:
    """Return `cls(**settings)` after checking the names.

    Integers become floats and lists become tuples if the field is declared so: 2 and 2.0 are the
    same setting, and frozen settings contain nothing mutable.

    Raises:
        UserError: if a setting is unknown or missing.
    """
    known = {f.name: f for f in fields(cls) if f.init}
    for unknown in settings.keys() - known.keys():
        raise UserError(
            f"{key}: unknown setting {with_known(unknown, known)}.",
            f"{key}.{unknown}",
            "unknown_setting",
        )
    for name, field in known.items():
        required = field.default is MISSING and field.default_factory is MISSING
        if required and name not in settings:
            raise UserError(f"{key}.{name} is missing.", f"{key}.{name}", "missing")
    hints = get_type_hints(cls)
    for name, value in settings.items():
        check_type(f"{key}.{name}", value, hints[name])
    return cls(**{name: _convert(value, hints[name]) for name, value in settings.items()})


def instantiate_from_groups(key: str, config: Mapping[str, Any], groups: Mapping[str, Any]) -> Any:
    """Instantiate a dataclass whose fields are its own settings or config groups.

    Args:
        key: of its own settings, for messages.
        config: its own settings; `_target_` names the class.
        groups: settings of the groups; each goes to the field of the same name, if there is one.

    Raises:
        UserError: if a setting is unknown or missing.
    """
    cls = target_class(key, config)
    hints, settings = get_type_hints(cls), {k: v for k, v in config.items() if k != "_target_"}
    for field in fields(cls):
        if field.name in settings or field.name not in groups:
            continue
        value, declared = groups[field.name], hints[field.name]
        if isinstance(value, Mapping) and "_target_" in value:
            value = instantiate(field.name, value)
        elif isinstance(value, Mapping) and is_dataclass(declared):
            value = instantiate(field.name, value, declared)  # type: ignore[arg-type]
        check_type(field.name, value, declared)
        settings[field.name] = value
    return construct(key, cls, settings)


def check_type(key: str, value: Any, hint: Any) -> None:
    """Raise `UserError` unless the value is of the declared component class, if it is one."""
    kinds = [kind for kind in (hint, *get_args(hint)) if isinstance(kind, type)]
    own = [kind for kind in kinds if kind.__module__.startswith("bnnbench.")]
    if not own or (value is None and type(None) in kinds):
        return
    if not any(_is_instance(value, kind) for kind in own):
        given = type(value).__name__ if is_dataclass(value) else repr(value)
        raise UserError(f"{key} must be a {own[0].__name__}, not {given}.", key, "wrong_type")


def _is_instance(value: Any, kind: Any) -> bool:
    """Whether a value is an instance of a class, or has the attributes of a protocol."""
    if getattr(kind, "_is_protocol", False):
        return all(hasattr(value, name) for name in vars(kind) if not name.startswith("_"))
    return isinstance(value, kind)


def _convert(value: Any, hint: Any) -> Any:
    """Return a plain value as its declared type."""
    if type(value) is int and {float, int} & {hint, *get_args(hint)} == {float}:
        with suppress(OverflowError):  # the constraint of the field refuses it
            return float(value)
    tuples = any(get_origin(one) is tuple for one in (hint, *get_args(hint)))
    return tuple(value) if isinstance(value, list) and tuples else value
