"""The identity of a run: all settings of all components, except fields marked `no_identity`.

A class is identified by its attribute `identity_name`, so that its file can move. Classes outside
the package need none: they are identified by their module and name.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import MISSING, Field, field, fields, is_dataclass
from pathlib import Path
from typing import Any


def no_identity(default: Any = MISSING) -> Any:
    """Declare a dataclass field that cannot change a result and is not part of the identity.

    Args:
        default: of the field; required field if not given.
    """
    return field(default=default, metadata={"identity": False})


def optional_identity(default: Any) -> Any:
    """Declare a field that is part of the identity only if it differs from its default.

    For a setting that runs did not have before: its default does not change their identity.
    """
    return field(default=default, metadata={"optional": True})


def is_identity(setting: Field[Any], component: Any) -> bool:
    """Whether a field of a component is part of its identity."""
    if setting.metadata.get("optional"):
        return bool(getattr(component, setting.name) != setting.default)
    return bool(setting.metadata.get("identity", True))


def is_of_package(cls: type) -> bool:
    """Whether a class is defined in this package."""
    return cls.__module__.startswith("bnnbench.")


def has_own_code(component: Any) -> bool:
    """Whether a component, or one inside it, is of a class from outside the package."""
    if not is_dataclass(component):
        return False
    parts = (getattr(component, setting.name) for setting in fields(component))
    return not is_of_package(type(component)) or any(map(has_own_code, parts))


def identity_name(cls: type) -> str:
    """Return the name of a class in identities: its own `identity_name`, which is not inherited.

    Raises:
        TypeError: if a class of the package has none.
    """
    if "identity_name" in vars(cls):
        return str(vars(cls)["identity_name"])
    if is_of_package(cls):
        raise TypeError(f"{cls.__qualname__} needs a class attribute `identity_name`.")
    return f"{cls.__module__}.{cls.__qualname__}"


def identity_of(component: Any) -> Any:
    """Convert a component and those inside it to plain JSON values.

    Args:
        component: a dataclass, or a mapping, sequence or plain value inside one. A dataclass is
            identified by its `identity_name` and all fields except `no_identity` ones.

    Raises:
        TypeError: for anything else, or a class of the package without `identity_name`.
    """
    if is_dataclass(component) and not isinstance(component, type):
        cls = type(component)
        kept = [f.name for f in fields(cls) if is_identity(f, component)]
        settings = {name: getattr(component, name) for name in kept}
        return {"class": identity_name(cls), **identity_of(settings)}
    if isinstance(component, Mapping):
        return {str(key): identity_of(value) for key, value in component.items()}
    if isinstance(component, list | tuple):
        return [identity_of(value) for value in component]
    if isinstance(component, float) and not math.isfinite(component):
        return str(component)  # not valid in JSON
    if component is None or isinstance(component, bool | int | float | str):
        return component
    if isinstance(component, Path):
        return str(component)
    raise TypeError(f"{type(component).__name__} has no identity; make it a dataclass.")


def digest(identity: Any) -> str:
    """Hash an identity to twelve hexadecimal digits; the order of keys does not matter."""
    text = json.dumps(identity, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:12]
