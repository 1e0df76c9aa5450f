"""What makes two runs the same run: every setting of every component, unless it says otherwise."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import MISSING, Field, field, fields, is_dataclass
from pathlib import Path
from typing import Any


def no_identity(default: Any = MISSING) -> Any:
    """A dataclass field that can change no number: two runs that differ in it are one run.

    Args:
        default: of the field; none if not given.
    """
    return field(default=default, metadata={"identity": False})


def is_identity(setting: Field[Any]) -> bool:
    """Whether runs that differ in this field are different runs."""
    return bool(setting.metadata.get("identity", True))


def identity_of(component: Any) -> Any:
    """A component and those inside it as plain JSON values.

    Args:
        component: a dataclass, or a mapping, sequence or plain value that one may hold. Of a
            dataclass the class and every field count but those made by `no_identity`.

    Raises:
        TypeError: for anything else, which would not be told apart.
    """
    if is_dataclass(component) and not isinstance(component, type):
        cls = type(component)
        settings = {f.name: getattr(component, f.name) for f in fields(cls) if is_identity(f)}
        return {"class": f"{cls.__module__}.{cls.__qualname__}", **identity_of(settings)}
    if isinstance(component, Mapping):
        return {str(key): identity_of(value) for key, value in component.items()}
    if isinstance(component, list | tuple):
        return [identity_of(value) for value in component]
    if isinstance(component, float) and not math.isfinite(component):
        return str(component)  # of which JSON knows nothing
    if component is None or isinstance(component, bool | int | float | str):
        return component
    if isinstance(component, Path):
        return str(component)
    raise TypeError(f"{type(component).__name__} has no identity; make it a dataclass.")


def digest(identity: Any) -> str:
    """Twelve hexadecimal digits that stand for an identity, whatever the order of its keys."""
    text = json.dumps(identity, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:12]
