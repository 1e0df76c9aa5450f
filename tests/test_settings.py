"""Settings that do more than hold a value."""

from __future__ import annotations

import math

from bnnbench.settings import Dimension


def test_bounds_are_recognised() -> None:
    noise = Dimension("noise_precision", 1.0, math.exp(5))
    assert noise.at_bound(1.0) and noise.at_bound(math.exp(4.99))
    assert not noise.at_bound(math.exp(2.5))
