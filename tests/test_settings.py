"""Checks and functions of settings."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
from support.user_errors import raises_user_error

from bnnbench.settings import Dimension, Network, Training


def test_bounds_are_recognised() -> None:
    noise = Dimension("noise_precision", 1.0, math.exp(5))
    assert noise.at_bound(1.0) and noise.at_bound(math.exp(4.99))
    assert not noise.at_bound(math.exp(2.5))


@pytest.mark.parametrize(
    ("make", "setting", "code"),
    [(lambda: Network(width=(5, 5), depth=1), "network.width", None),
     (lambda: Network(width=0), "network.width", None),
     (lambda: Training(betas=(0.9,)), "training.betas", "not_a_list"),
     (lambda: Training(betas=(0.9, 1.0)), "training.betas", None),
     (lambda: Training(dtype="float16"), "training.dtype", None),
     (lambda: Training(batch_size=0), "training.batch_size", None),
     (lambda: Dimension("dropout", 0.5, 0.1), "bounds.dropout", None),
     (lambda: Dimension("dropout", 0.0, 0.1), "bounds.dropout", None)],
)  # fmt: skip
def test_wrong_settings_are_named(
    make: Callable[[], object], setting: str, code: str | None
) -> None:
    with raises_user_error(setting, code):
        make()


def test_a_batch_of_all_rows_has_the_size_of_the_training_part() -> None:
    assert Training(batch_size="all").with_batch_size(70).batch_size == 70
    assert Training(batch_size=32).with_batch_size(70).batch_size == 32
