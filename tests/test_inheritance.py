"""Which replaced attributes invalidate a stand-in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partialmethod, wraps
from typing import Any

import pytest

from bnnbench.inheritance import ends_stand_in


def decorated(function: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(function)
    def wrapper(*given: Any) -> Any:
        return function(*given)

    return wrapper


class Root:
    def noise(self) -> int:
        return 1

    def unused(self) -> int:
        return 2


@dataclass(frozen=True)
class Parent(Root):
    """`native` stands in for `step`."""

    width: int = 3
    CONSTANT = 4

    def step(self) -> int:
        return self.helper() + self.noise() + sum(self.fixed() for _ in range(self.width))

    @decorated
    def helper(self) -> int:
        return self.size * self.cached * int(getattr(self, "by_text"))  # noqa: B009

    @property
    def size(self) -> int:
        return self.CONSTANT + self.members

    @cached_property
    def cached(self) -> int:
        return 5

    @staticmethod
    def fixed() -> int:
        return 6

    by_text = 7
    members = 8

    def native(self) -> int:
        return self.members


class NoiseMixin(Root):
    def noise(self) -> int:
        return 9


class UnusedMixin(Root):
    def unused(self) -> int:
        return 10

    def step(self) -> int:
        return 11


def child(*bases: type, **attributes: Any) -> type:
    return type("Child", bases or (Parent,), attributes)


def own(self: Parent) -> int:
    return 12


def by_super(self: Any) -> int:
    return int(super(type(self), self).native())


def by_name(self: Parent) -> int:
    return Parent.native(self)


HELPED = child(helper=own)

CASES: dict[str, tuple[type, str | None]] = {
    "nothing": (child(), None),
    "an attribute that is not reached": (child(unused=own), None),
    "a new attribute": (child(extra=own), None),
    "the root": (child(step=own), "Child.step replaces Parent.step"),
    "a helper behind a decorator": (child(helper=own), "Child.helper replaces Parent.helper"),
    "a property": (child(size=property(own)), "Child.size replaces Parent.size"),
    "a cached property": (child(cached=property(own)), "Child.cached replaces Parent.cached"),
    "a static method": (child(fixed=staticmethod(lambda: 1)), "Child.fixed replaces Parent.fixed"),
    "a partial method": (child(noise=partialmethod(own)), "Child.noise replaces Root.noise"),
    "a constant": (child(CONSTANT=1), "Child.CONSTANT replaces Parent.CONSTANT"),
    "a name in a text": (child(by_text=1), "Child.by_text replaces Parent.by_text"),
    "a field": (child(width=1), None),
    "what the stand-in reads": (child(members=1), None),
    "the same object": (child(step=Parent.step), None),
    "the stand-in": (child(step=own, native=own), None),
    "a stand-in by super": (child(step=own, native=by_super), "Child.step replaces Parent.step"),
    "a stand-in by name": (child(step=own, native=by_name), "Child.step replaces Parent.step"),
    "the same stand-in": (child(step=own, native=Parent.native), "Child.step replaces Parent.step"),
    "a stand-in of a mixin": (
        child(type("Mixin", (), {"native": by_super}), Parent, helper=own),
        "Child.helper replaces Parent.helper",
    ),
    "another stand-in by super, replaced below": (
        child(child(native=by_super), native=by_super, step=own), "Child.step replaces Parent.step"
    ),
    "only a stand-in by super": (child(native=by_super), None),
    "a mixin before": (child(NoiseMixin, Parent), "NoiseMixin.noise replaces Root.noise"),
    "a mixin after, before the owner": (
        child(Parent, NoiseMixin), "NoiseMixin.noise replaces Root.noise"
    ),
    "a mixin after, shadowed": (child(Parent, UnusedMixin), None),
    "two classes": (child(HELPED, step=own), "Child.helper replaces Parent.helper"),
    "a class between": (child(HELPED), "Child.helper replaces Parent.helper"),
    "a restored helper": (child(HELPED, helper=Parent.helper), None),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_a_replaced_dependency_ends_the_stand_in(case: str) -> None:
    cls, found = CASES[case]
    replacement = ends_stand_in(cls(), "native", ("step",))
    assert (replacement and str(replacement)) == found


def test_attributes_of_instances_and_later_assignments_count() -> None:
    cls = child()
    parent = cls()
    assert parent.step() and "cached" in vars(parent)
    assert ends_stand_in(parent, "native", ("step",)) is None, "a cached value replaces nothing"
    object.__setattr__(parent, "noise", lambda: 0)
    assert str(ends_stand_in(parent, "native", ("step",))) == "Child.noise replaces Root.noise"
    cls.helper = own  # type: ignore[attr-defined]
    assert str(ends_stand_in(cls(), "native", ("step",))) == "Child.helper replaces Parent.helper"
    assert ends_stand_in(Root(), "native", ("step",)) is None, "there is no stand-in"
