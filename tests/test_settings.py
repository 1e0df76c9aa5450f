"""Settings that do more than hold a value."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest

from bnnbench.settings import Dimension, Network, Training
from bnnbench.types import UserError


def test_bounds_are_recognised() -> None:
    noise = Dimension("noise_precision", 1.0, math.exp(5))
    assert noise.at_bound(1.0) and noise.at_bound(math.exp(4.99))
    assert not noise.at_bound(math.exp(2.5))


@pytest.mark.parametrize(
    ("make", "words"),
    [(lambda: Network(width=(5, 5), depth=1), r"network\.width .* network\.depth=1"),
     (lambda: Network(width=0), r"network\.width"),
     (lambda: Training(betas=(0.9,)), r"training\.betas must be two"),
     (lambda: Training(betas=(0.9, 1.0)), r"training\.betas"),
     (lambda: Training(dtype="float16"), r"training\.dtype"),
     (lambda: Training(batch_size=0), r"training\.batch_size"),
     (lambda: Dimension("dropout", 0.5, 0.1), r"bounds\.dropout must rise"),
     (lambda: Dimension("dropout", 0.0, 0.1), r"bounds\.dropout")],
)  # fmt: skip
def test_mistakes_are_named(make: Callable[[], object], words: str) -> None:
    with pytest.raises(UserError, match=words):
        make()


def test_a_batch_of_all_rows_is_as_large_as_the_training_part() -> None:
    assert Training(batch_size="all").for_rows(70).batch_size == 70
    assert Training(batch_size=32).for_rows(70).batch_size == 32
