"""Valid ranges of settings, declared in the types of dataclass fields.

```python
@dataclass(frozen=True)
class Training:
    epochs: Annotated[int, Whole()] = 40
    learning_rate: Annotated[float, Between(0)] = 0.01
    dtype: Annotated[str, OneOf("float32", "float64")] = "float32"

    def __post_init__(self) -> None:
        check_settings(self, "training")
```

A field whose type includes `None` accepts None as well.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from math import inf
from typing import Annotated, Any, ClassVar, get_args, get_origin, get_type_hints

from bnnbench.checks import check_between, check_bool, check_choice, check_finite, check_int
from bnnbench.types import UserError

Constraint = Callable[[str, Any], None]
"""Raises `UserError`, given the key of a setting and an invalid value."""


@dataclass(frozen=True)
class Whole:
    """A whole number from `minimum` to `maximum`."""

    minimum: int = 1
    maximum: float = inf

    def __call__(self, key: str, value: Any) -> None:
        check_int(key, value, self.minimum)
        if value > self.maximum:
            raise UserError(
                f"{key} must be at most {self.maximum:g}, not {value}.", key, "too_large"
            )


@dataclass(frozen=True)
class Between:
    """A number above `low` (or equal to it, if `low_included`) and below `high`."""

    low: float
    high: float = inf
    low_included: bool = False

    def __call__(self, key: str, value: Any) -> None:
        check_between(key, value, self.low, self.high, self.low_included)


@dataclass(frozen=True)
class Finite:
    """A finite number."""

    def __call__(self, key: str, value: Any) -> None:
        check_finite(key, value)


@dataclass(frozen=True)
class TrueOrFalse:
    """True or false."""

    def __call__(self, key: str, value: Any) -> None:
        check_bool(key, value)


@dataclass(frozen=True, init=False)
class OneOf:
    """One of some words."""

    options: tuple[str, ...]

    def __init__(self, *options: str) -> None:
        object.__setattr__(self, "options", options)

    def __call__(self, key: str, value: Any) -> None:
        check_choice(key, value, self.options)


@dataclass(frozen=True)
class Word:
    """The word `word`, or a value that meets another constraint."""

    word: str
    otherwise: Constraint

    def __call__(self, key: str, value: Any) -> None:
        if value != self.word:
            self.otherwise(key, value)


@dataclass(frozen=True)
class ListOf:
    """A list of values that meet a constraint; not empty unless `length` is 0.

    Attributes:
        each: constraint on every value.
        length: number of values; None for any.
        order: `increasing`, `distinct` or empty for any.
    """

    each: Constraint
    length: int | None = None
    order: str = ""
    broken: ClassVar[dict[str, Callable[[tuple[Any, ...]], bool]]] = {
        "": lambda values: False,
        "increasing": lambda values: any(a >= b for a, b in pairwise(values)),
        "distinct": lambda values: len({*values}) < len(values),
    }

    def __call__(self, key: str, value: Any) -> None:
        size = "one or more values" if self.length is None else f"{self.length} values"
        wrong = not isinstance(value, tuple) or len(value) != (self.length or len(value) or 1)
        if wrong:
            raise UserError(f"{key} must be a list of {size}, not {value!r}.", key, "not_a_list")
        for one in value:
            self.each(key, one)
        if self.broken[self.order](value):
            raise UserError(
                f"{key} must be {self.order}, not {list(value)}.", key, f"not_{self.order}"
            )


@cache
def constraints_of(cls: type) -> dict[str, tuple[bool, tuple[Constraint, ...]]]:
    """Return whether None is accepted, and the constraints, of each annotated field."""
    found = {}
    for name, hint in get_type_hints(cls, include_extras=True).items():
        if get_origin(hint) is Annotated:
            declared, *constraints = get_args(hint)
            found[name] = (type(None) in get_args(declared), tuple(constraints))
    return found


def check_settings(component: Any, key: str, top_level: Collection[str] = ()) -> None:
    """Raise `UserError` if a field does not meet the constraints in its type.

    Args:
        component: an instance of a dataclass.
        key: of the component in the configuration; a field's key is `key.name`.
        top_level: fields whose key is their name alone.
    """
    for name, (optional, constraints) in constraints_of(component.__class__).items():
        value = getattr(component, name)
        if optional and value is None:
            continue
        for constraint in constraints:
            constraint(name if name in top_level else f"{key}.{name}", value)
