"""Declared ranges of settings: valid values pass, others name the key and the reason."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Any

import pytest
from support.user_errors import assert_user_error

from bnnbench.constraints import (
    Between,
    Finite,
    ListOf,
    OneOf,
    TrueOrFalse,
    Whole,
    Word,
    check_settings,
)


@dataclass(frozen=True)
class Settings:
    count: Annotated[int, Whole(2, maximum=9)] = 2
    rate: Annotated[float | None, Between(0, 1)] = None
    any_number: Annotated[float, Finite()] = -3.5
    flag: Annotated[bool, TrueOrFalse()] = True
    kind: Annotated[str, OneOf("a", "b")] = "a"
    batch: Annotated[int | str, Word("all", Whole())] = "all"
    sizes: Annotated[tuple[int, ...], ListOf(Whole(), order="increasing")] = (1, 2)
    pair: Annotated[tuple[float, float], ListOf(Finite(), length=2, order="distinct")] = (2, 1)
    seed: Annotated[int, Whole(0)] = 0
    free: Any = "anything"


def check(**values: Any) -> None:
    check_settings(replace(Settings(), **values), "group", ("seed",))


@pytest.mark.parametrize("values", [{}, {"rate": 0.5}, {"batch": 3}, {"count": 9}])
def test_valid_values_pass(values: dict[str, Any]) -> None:
    check(**values)


@pytest.mark.parametrize(
    ("name", "value", "code"),
    [
        ("count", 1, None),
        ("count", 2.0, None),
        ("count", 10, "too_large"),
        ("rate", 1.0, None),
        ("any_number", float("inf"), None),
        ("flag", 1, None),
        ("kind", "c", None),
        ("batch", "none", None),
        ("sizes", (), "not_a_list"),
        ("sizes", 3, "not_a_list"),
        ("sizes", (1, 0), None),
        ("sizes", (2, 2), "not_increasing"),
        ("pair", (1.0, 2.0, 3.0), "not_a_list"),
        ("pair", (1.0, 1.0), "not_distinct"),
        ("seed", -1, None),
    ],
)
def test_an_invalid_value_is_refused_with_its_key(name: str, value: Any, code: str | None) -> None:
    with pytest.raises(Exception) as caught:
        check(**{name: value})
    key = name if name == "seed" else f"group.{name}"
    assert_user_error(caught.value, setting=key, **({"code": code} if code else {}))
