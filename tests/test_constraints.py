"""Declared ranges of settings: valid values pass, others name the key and the reason."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar

import pytest
from support.user_errors import assert_user_error, raises_user_error

from bnnbench.constraints import (
    Between,
    Checked,
    Finite,
    ListOf,
    OneOf,
    Positive,
    Whole,
    Word,
    check_settings,
)
from bnnbench.types import UserError

NOT_FINITE = (float("inf"), float("-inf"), float("nan"), 10**400, -(10**400), "1", True, [])


@dataclass(frozen=True)
class Settings:
    count: Annotated[int, Whole(2, maximum=9)] = 2
    rate: Annotated[float | None, Between(0, 1)] = None
    factor: Positive | None = None
    decay: Annotated[float, Between(0, 1, high_included=True)] = 1.0
    any_number: Annotated[float, Finite()] = -3.5
    flag: bool = True
    word: str = "a"
    maybe: str | None = None
    weight: float = 0.5
    limit: float | None = None
    steps: int = 0
    kind: Annotated[str, OneOf("a", "b")] = "a"
    batch: Annotated[int | str, Word("all", Whole())] = "all"
    sizes: Annotated[tuple[int, ...], ListOf(Whole(), order="increasing")] = (1, 2)
    pair: Annotated[tuple[float, float], ListOf(Finite(), length=2, order="distinct")] = (2, 1)
    powers: Annotated[tuple[float, ...], ListOf(Finite(), minimum=2)] = (1, 2)
    seed: Annotated[int, Whole(0)] = 0
    free: Any = "anything"


def check(**values: Any) -> None:
    check_settings(replace(Settings(), **values), "group", ("seed",))


@pytest.mark.parametrize("values", [{}, {"rate": 0.5}, {"factor": 2}, {"batch": 3}, {"count": 9}])
def test_valid_values_pass(values: dict[str, Any]) -> None:
    check(**values)


@pytest.mark.parametrize(
    ("name", "value", "code"),
    [
        ("count", 1, None),
        ("count", 2.0, None),
        ("count", 10, "too_large"),
        ("rate", 1.0, None),
        ("rate", float("nan"), None),
        ("factor", float("inf"), None),
        ("factor", "two", None),
        ("factor", 0, None),
        ("decay", 0.0, None),
        ("decay", 1.1, None),
        ("any_number", float("inf"), None),
        ("flag", 1, None),
        *(("word", value, None) for value in (None, 3, 1.5, True, [], ["a"], {}, b"a")),
        *(("maybe", value, None) for value in (3, False, ["a"], {"a": 1})),
        *(("weight", value, None) for value in (None, *NOT_FINITE)),
        *(("limit", value, None) for value in NOT_FINITE),
        *(("rate", value, None) for value in NOT_FINITE),
        *(("factor", value, None) for value in NOT_FINITE),
        *(("powers", (1.0, value), None) for value in NOT_FINITE),
        *(("steps", value, None) for value in (None, *NOT_FINITE, [1], 0.5)),
        ("kind", "c", None),
        ("batch", "none", None),
        ("sizes", (), "not_a_list"),
        ("sizes", 3, "not_a_list"),
        ("sizes", (1, 0), None),
        ("sizes", (2, 2), "not_increasing"),
        ("pair", (1.0, 2.0, 3.0), "not_a_list"),
        ("pair", (1.0, 1.0), "not_distinct"),
        ("powers", (1.0,), "not_a_list"),
        ("seed", -1, None),
    ],
)
def test_an_invalid_value_is_refused_with_its_key(name: str, value: Any, code: str | None) -> None:
    with pytest.raises(Exception) as caught:
        check(**{name: value})
    key = name if name == "seed" else f"group.{name}"
    assert_user_error(caught.value, setting=key, **({"code": code} if code else {}))


@dataclass(frozen=True)
class Range(Checked):
    low: Positive = 1.0
    high: Positive = 2.0
    key: ClassVar[str] = "range"

    def check(self) -> None:
        if self.low > self.high:
            raise UserError("range.low must be at most range.high.", "range.low", "too_large")


@pytest.mark.parametrize(("low", "code"), [(0, None), (3, "too_large")])
def test_settings_are_checked_alone_and_then_together(low: float, code: str | None) -> None:
    with raises_user_error("range.low", code):
        Range(low=low)
