"""Checks and functions of settings."""

from __future__ import annotations

import math

from bnnbench.settings import Dimension, Training


def test_bounds_are_recognised() -> None:
    noise = Dimension("noise_precision", 1.0, math.exp(5))
    assert noise.at_bound(1.0) and noise.at_bound(math.exp(4.99))
    assert not noise.at_bound(math.exp(2.5))


def test_a_batch_of_all_rows_has_the_size_of_the_training_part() -> None:
    assert Training(batch_size="all").with_batch_size(70).batch_size == 70
    assert Training(batch_size=32).with_batch_size(70).batch_size == 32
