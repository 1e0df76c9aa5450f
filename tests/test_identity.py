"""The identity of a run."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from bnnbench.identity import digest, identity_of, no_identity, optional_identity


@dataclass(frozen=True)
class Inner:
    loss: float = 1.0
    summary: str = no_identity("")


@dataclass(frozen=True)
class Outer:
    inner: Inner
    loss: Any = None
    sizes: tuple[int, ...] = (1, 2)
    where: Path = Path("a")
    workers: int = no_identity(1)


BASE = Outer(Inner())


@pytest.mark.parametrize(
    "other",
    [
        replace(BASE, loss="nll"),
        replace(BASE, inner=Inner(loss=2.0)),
        replace(BASE, sizes=(1, 3)),
        replace(BASE, where=Path("b")),
        replace(BASE, loss={"a": [1, {"b": True}]}),
    ],
)
def test_every_setting_counts(other: Outer) -> None:
    assert digest(identity_of(other)) != digest(identity_of(BASE))


def test_no_identity_fields_do_not_count() -> None:
    other = replace(BASE, workers=2, inner=Inner(summary="text"))
    assert digest(identity_of(other)) == digest(identity_of(BASE))


def test_an_optional_field_counts_unless_it_has_its_default() -> None:
    @dataclass(frozen=True)
    class Later(Inner):
        decay: float = optional_identity(1.0)

    assert "decay" not in identity_of(Later())
    assert identity_of(Later(decay=0.5))["decay"] == 0.5


def test_classes_with_the_same_fields_differ() -> None:
    @dataclass(frozen=True)
    class Twin:
        loss: float = 1.0

    assert identity_of(Twin()) != identity_of(Inner())


def test_a_class_is_identified_by_its_own_name() -> None:
    """So its file can move, and a class that derives from it is another one."""

    @dataclass(frozen=True)
    class Moved:
        identity_name = "there.Named"

    class Derived(Moved):
        pass

    assert identity_of(Moved()) == {"class": "there.Named"}
    assert identity_of(Derived())["class"].endswith("Derived")


def test_a_class_of_the_package_needs_a_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Inner, "__module__", "bnnbench.methods.new")
    with pytest.raises(TypeError, match="identity_name"):
        identity_of(Inner())


def test_infinity_is_a_string() -> None:
    ends = [identity_of(replace(BASE, loss=value)) for value in (math.inf, -math.inf)]
    assert [end["loss"] for end in ends] == ["inf", "-inf"]
    assert json.loads(json.dumps(ends, allow_nan=False)) == ends


def test_the_order_of_keys_does_not_count() -> None:
    assert digest({"a": 1, "b": 2}) == digest({"b": 2, "a": 1})


def test_objects_without_identity_are_refused() -> None:
    with pytest.raises(TypeError, match="object has no identity"):
        identity_of(replace(BASE, loss=object()))
