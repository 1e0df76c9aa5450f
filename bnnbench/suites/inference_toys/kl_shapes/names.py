"""Names of the tables and divergences of a run; free of heavy imports."""

from __future__ import annotations

KIND = "kl_shapes"

FITS = "fits"
"""The local optima, one row per mixture, order and optimum."""

COORDINATE_ASCENT = "coordinate_ascent"
"""Coordinate ascent of the factorised Gaussian, one row per update of one factor."""

FACTORISED = "factorised"
"""The variance of the optimal factors, one row per direction of the KL divergence."""

REVERSE, HELLINGER, FORWARD = -1.0, 0.0, 1.0
"""Orders of the named alpha-divergences, in the book's convention."""

ORDER_NAMES = {REVERSE: "reverse KL", HELLINGER: "Hellinger", FORWARD: "forward KL"}

NEAR_LIMIT = 0.999
"""An order close to that of KL, to compare the general formula with its limits."""


def order_name(order: float) -> str:
    """Return the name of an order."""
    return ORDER_NAMES.get(order, f"alpha = {order:g}")
