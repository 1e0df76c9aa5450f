"""Whether a subclass inherits all that some of its base class's attributes depend on.

Native code stands in for Python code of a class. It also stands in for that of a subclass, unless
the subclass replaces something that this Python code reaches through `self`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, fields, is_dataclass
from functools import cache, cached_property, partialmethod
from itertools import zip_longest
from types import CodeType, FunctionType
from typing import Any

from bnnbench.identity import is_of_package

WRAPPERS = (FunctionType, property, cached_property, partialmethod, staticmethod, classmethod)
WRAPPED = ("fget", "func", "__func__", "__wrapped__")
"""Attributes of wrappers with the function inside; a function has one if it is decorated."""


@dataclass(frozen=True)
class Replacement:
    """An attribute that a class defines in place of a base class's.

    Attributes:
        name: of the attribute.
        by: the class.
        of: the base class.
    """

    name: str
    by: type
    of: type

    def __str__(self) -> str:
        return f"{self.by.__name__}.{self.name} replaces {self.of.__name__}.{self.name}"


def ends_stand_in(component: object, stand_in: str, roots: tuple[str, ...]) -> Replacement | None:
    """Return the first replacement for which a stand-in is not valid; None if it is valid.

    Args:
        component: an instance. What its class replaces counts only if the class that declares
            `stand_in` is a base class of it: a class with its own stand-in decides for itself.
            A class from outside the package that takes it from a base class, for example with
            `super()`, has no stand-in of its own.
        stand_in: name of the method that stands in for the roots. What it reads through `self` may
            be replaced, since it then has the new values.
        roots: names of attributes.
    """
    defining = [cls for cls in type(component).__mro__ if stand_in in vars(cls)]
    base = next((cls for cls in defining if not _delegates(cls, stand_in, defining)), None)
    if base is None:
        return None
    definitions = [vars(cls)[stand_in] for cls in _owners(base, stand_in)]
    read = {name for one in definitions for code in _codes(one) for name in code.co_names}
    return first_replaced(component, base, roots, read)


def _delegates(cls: type, name: str, defining: Sequence[type]) -> bool:
    """Whether a class from outside the package takes an attribute from one of its base classes."""
    if is_of_package(cls):
        return False
    bases = defining[defining.index(cls) + 1 :]
    used = {used for code in _codes(vars(cls)[name]) for used in code.co_names}
    is_theirs = any(vars(cls)[name] is vars(base)[name] for base in bases)
    return bool(bases) and (is_theirs or not used.isdisjoint({"super", name}))


def first_replaced(
    component: object, base: type, roots: tuple[str, ...], free: Collection[str] = ()
) -> Replacement | None:
    """Return the first attribute that a component does not inherit; None if it inherits all.

    If several of its classes replace something, it is that of the class nearest to `base`.

    Args:
        component: an instance of `base` or a subclass.
        base: the class.
        roots: names of attributes. They, and all names in their code that are attributes of
            `base`, and so on, must be those of `base`. A name counts wherever it occurs in the
            code, so that `getattr(self, "name")` is found too.
        free: names that may be replaced, in addition to the fields of the dataclass `base`.
    """
    settings = {field.name for field in fields(base)} if is_dataclass(base) else set()
    names = [name for name in _reached(base, roots) if name not in {*settings, *free}]
    if _replaced_by_class(type(component), base, names):
        nearest_first = (cls for cls in reversed(type(component).__mro__) if issubclass(cls, base))
        return next(filter(None, (_replaced_by_class(cls, base, names) for cls in nearest_first)))
    for name in names:
        if name in vars(component) and not _is_cache(base, name):
            return Replacement(name, type(component), _owners(base, name)[0])
    return None


def _replaced_by_class(cls: type, base: type, names: Sequence[str]) -> Replacement | None:
    for name in names:
        for by, of in zip_longest(_owners(cls, name), _owners(base, name)):
            if by and (of is None or vars(by)[name] is not vars(of)[name]):
                return Replacement(name, by, of or base)
    return None


@cache  # for a base class, which does not change; it is needed in every fit
def _reached(cls: type, roots: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names of the attributes of a class that the code of some of them reaches."""
    names, seen, found = [*roots], set[str](), list[str]()
    while names:
        name = names.pop(0)
        owners = [] if name in seen or name.startswith("__") else _owners(cls, name)
        seen.add(name)
        if owners:
            found.append(name)
        for owner in owners:
            for code in _codes(vars(owner)[name]):
                names += code.co_names
                names += (text for text in code.co_consts if isinstance(text, str))
    return tuple(found)


def _owners(cls: type, name: str) -> list[type]:
    """Return the classes whose definitions of an attribute are used, several with `super`."""
    owners: list[type] = []
    for owner in cls.__mro__:
        if name in vars(owner):
            owners.append(owner)
            if not any("super" in code.co_names for code in _codes(vars(owner)[name])):
                break
    return owners


def _codes(attribute: Any) -> Iterator[CodeType]:
    """Yield the code of an attribute of a class, and of the functions in it."""
    if isinstance(attribute, FunctionType):
        yield from _with_inner(attribute.__code__)
    if isinstance(attribute, WRAPPERS):
        for name in WRAPPED:
            yield from _codes(getattr(attribute, name, None))


def _with_inner(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _with_inner(constant)


def _is_cache(cls: type, name: str) -> bool:
    """Whether an instance has its own value of an attribute only because that is cached."""
    return isinstance(vars(_owners(cls, name)[0])[name], cached_property)
