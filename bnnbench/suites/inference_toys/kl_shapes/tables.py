"""The kind of such a run, and the names of its tables and columns' values; light."""

from __future__ import annotations

KIND = "kl_shapes"

FITS = "fits"
"""A row per mixture, order and local optimum: which Gaussian it is, and what it leaves out."""

STEPS = "coordinate_ascent"
"""Of the factorised Gaussian towards the correlated pair, a row per update of one factor."""

FACTORISED = "factorised"
"""The variance of each of the two best factors, a row per direction of the KL divergence."""

REVERSE, HELLINGER, FORWARD = -1.0, 0.0, 1.0
"""Orders of the alpha-divergences that have names of their own, in the book's convention."""

NAMES = {REVERSE: "reverse KL", HELLINGER: "Hellinger", FORWARD: "forward KL"}

NEAR = 0.999
"""An order so near those of KL that the family's own formula can be held against its limits."""


def name_of(order: float) -> str:
    """What an order is called."""
    return NAMES.get(order, f"alpha = {order:g}")
