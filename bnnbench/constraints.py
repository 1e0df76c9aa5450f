"""Valid ranges of settings, declared in the types of dataclass fields, and checks of single values.

```python
@dataclass(frozen=True)
class Training(Checked):
    epochs: Count = 40
    learning_rate: Positive = 0.01
    dtype: Annotated[str, OneOf("float32", "float64")] = "float32"
    key: ClassVar[str] = "training"
```

A field whose type includes `None` accepts None as well. A field of type `bool` must be true or
false, one of type `str` a string, one of type `float` a finite number, and one of type `int` an
integer. A wrong value raises a `UserError` with the key, the accepted values and the given value.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from math import inf
from numbers import Real
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, ClassVar, Union, get_args, get_origin, get_type_hints

from bnnbench.files import user_path
from bnnbench.near_names import list_names
from bnnbench.notes import shorten
from bnnbench.types import UserError

MAX_INTEGER = 10**12
"""Upper limit of all integer settings, which prevents overflows."""

_QUOTED_OR_YAML_NUMBER = re.compile(
    r"""'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|(?<![^\s,:=(\[{])([-+]?)\.(inf|nan)(?![^\s,)\]}])""",
    re.IGNORECASE,
)


def with_python_numbers(text: str) -> str:
    """Return text with the `.inf`, `-.inf` and `.nan` of YAML as `inf`, `-inf` and `nan`.

    Quoted parts and longer words stay the same.
    """
    return _QUOTED_OR_YAML_NUMBER.sub(lambda m: m[1] + m[2] if m[2] else m[0], text)


def check_int(key: str, value: Any, minimum: int = 1) -> None:
    """Raise `UserError` unless `value` is an integer from `minimum` to `MAX_INTEGER`."""
    if isinstance(value, int) and value > MAX_INTEGER:
        raise UserError(f"{key} must be a whole number of at most {MAX_INTEGER:.0e}.", key)
    if isinstance(value, bool) or not isinstance(value, int) or value < minimum:
        least = "" if minimum == -MAX_INTEGER else f" of at least {minimum}"
        raise UserError(f"{key} must be a whole number{least}, not {shorten(repr(value))}.", key)


def check_between(
    key: str,
    value: Any,
    low: float,
    high: float = math.inf,
    low_included: bool = False,
    high_included: bool = False,
) -> None:
    """Raise `UserError` unless `low < value < high`, or `value` equals an included bound."""
    accepted = ((low,) if low_included else ()) + ((high,) if high_included else ())
    if not _is_number(value) or not (low < value < high or value in accepted):
        edge = "of at least" if low_included else "greater than"
        limit = "at most" if high_included else "less than"
        ends = [f" {edge} {low:g}"] if low > -math.inf else []
        ends += [f" {limit} {high:g}"] if high < math.inf else []
        number = "finite number" if _is_number(value) and high == value == math.inf else "number"
        raise UserError(
            f"{key} must be a {number}{' and'.join(ends)}, not {shorten(repr(value))}.", key
        )


def _is_number(value: Any) -> bool:
    """Whether a value is a number that a float can hold, perhaps an infinite one."""
    if isinstance(value, bool) or not isinstance(value, Real):
        return False
    return not isinstance(value, int) or abs(value) <= sys.float_info.max


def check_choice(key: str, value: Any, options: tuple[str, ...]) -> None:
    """Raise `UserError` unless `value` is one of `options`."""
    if value not in options:
        raise UserError(
            f"{key} must be one of {list_names(options, str(value))}, not {shorten(repr(value))}.",
            key,
        )


def check_name(key: str, value: Any) -> None:
    """Raise `UserError` unless `value` is a valid folder name on any system."""
    if not isinstance(value, str) or not re.fullmatch(r"[A-Za-z0-9_-][A-Za-z0-9_.-]{0,99}", value):
        raise UserError(
            f"{key} must be a name of at most 100 letters, digits, hyphens, underscores and dots "
            f"that does not start with a dot, not {shorten(repr(value))}.",
            key,
        )


def check_folder(key: str, value: Any) -> Path:
    """Return the path of a folder, which need not exist.

    Raises:
        UserError: if `value` cannot be the path of a folder.
    """
    if not isinstance(value, str) or not value.strip():
        raise UserError(f"{key} must be the name of a folder, not {shorten(repr(value))}.", key)
    path = user_path(key, value)
    if path.is_file():
        raise UserError(f"{key} must be the name of a folder, but {value} is a file.", key)
    return path


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
    """A number between `low` and `high`, each of which may be included."""

    low: float
    high: float = inf
    low_included: bool = False
    high_included: bool = False

    def __call__(self, key: str, value: Any) -> None:
        check_between(key, value, self.low, self.high, self.low_included, self.high_included)


@dataclass(frozen=True)
class Finite:
    """A finite number."""

    def __call__(self, key: str, value: Any) -> None:
        if not _is_number(value) or not math.isfinite(value):
            raise UserError(f"{key} must be a finite number, not {shorten(repr(value))}.", key)


@dataclass(frozen=True)
class TrueOrFalse:
    """True or false."""

    def __call__(self, key: str, value: Any) -> None:
        if not isinstance(value, bool):
            raise UserError(f"{key} must be true or false, not {shorten(repr(value))}.", key)


@dataclass(frozen=True)
class Text:
    """A string."""

    def __call__(self, key: str, value: Any) -> None:
        if not isinstance(value, str):
            raise UserError(
                f"{key} must be text, not {shorten(repr(value))}; put it in quotes.", key
            )


@dataclass(frozen=True, init=False)
class OneOf:
    """One of several words."""

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
        if value == self.word:
            return
        try:
            self.otherwise(key, value)
        except UserError as error:
            message = str(error).replace("must be", f"must be {self.word} or", 1)
            raise UserError(message, key, error.code) from None


@dataclass(frozen=True)
class ListOf:
    """A list of values that meet a constraint; not empty unless `length` is 0.

    Attributes:
        each: constraint on every value.
        length: number of values; None for any.
        order: `increasing`, `distinct` or empty for any.
        minimum: smallest number of values, if any number is accepted.
    """

    each: Constraint
    length: int | None = None
    order: str = ""
    minimum: int = 1
    broken: ClassVar[dict[str, Callable[[tuple[Any, ...]], bool]]] = {
        "": lambda values: False,
        "increasing": lambda values: any(a >= b for a, b in pairwise(values)),
        "distinct": lambda values: len({*values}) < len(values),
    }

    def __call__(self, key: str, value: Any) -> None:
        size = f"{self.minimum} or more values" if self.length is None else f"{self.length} values"
        count = len(value) if isinstance(value, tuple) else -1
        if count < 0 or (count < self.minimum if self.length is None else count != self.length):
            given = list(value) if isinstance(value, tuple) else value
            raise UserError(
                f"{key} must be a list of {size}, not {shorten(repr(given))}.", key, "not_a_list"
            )
        for one in value:
            self.each(key, one)
        if self.broken[self.order](value):
            raise UserError(
                f"{key} must be {self.order}, not {shorten(str(list(value)))}.",
                key,
                f"not_{self.order}",
            )


Positive = Annotated[float, Between(0)]
"""A number greater than 0."""

Count = Annotated[int, Whole()]
"""A whole number of at least 1."""

Seed = Annotated[int, Whole(0, 2**32 - 1)]
"""A seed of `numpy.random.RandomState`."""


BY_TYPE: dict[Any, Constraint] = {
    bool: TrueOrFalse(),
    str: Text(),
    float: Finite(),
    int: Whole(-MAX_INTEGER),
}
"""The constraint of a field without another one, by its type."""


@cache
def constraints_of(cls: type) -> dict[str, tuple[bool, tuple[Constraint, ...]]]:
    """Return whether None is accepted, and the constraints, of each constrained field."""
    found = {}
    for name, hint in get_type_hints(cls, include_extras=True).items():
        members = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
        for member in members:
            if get_origin(member) is Annotated:
                declared, *constraints = get_args(member)
                optional = type(None) in (*members, *get_args(declared))
                found[name] = (optional, tuple(constraints))
        for plain in BY_TYPE.keys() & {*members}:
            if {*members} <= {plain, type(None)}:
                found[name] = (type(None) in members, (BY_TYPE[plain],))
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


class Checked:
    """Base class of components that check their settings when they are created.

    Attributes:
        key: class attribute, the key of the component in the configuration.
    """

    key: ClassVar[str]

    def __post_init__(self) -> None:
        check_settings(self, self.key)
        self.check()

    def check(self) -> None:
        """Raise `UserError` for settings that are valid on their own but not together."""
        return
