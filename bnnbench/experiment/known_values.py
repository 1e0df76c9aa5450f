"""Hyper-parameters that need no search, since a data set or a method's preset knows them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bnnbench.checks import check_between
from bnnbench.methods.shared.contract import Method
from bnnbench.types import UserError

PRECISIONS = ("noise_precision", "prior_precision")
"""What grows with the variance of the target: in its units both are one over a square."""

DEVIATION = "noise_deviation"
"""Another way to say `noise_precision`, which is one over its square."""


def known_and_open(method: Method, known: Mapping[str, Any]) -> dict[str, Any]:
    """What is known, in standardised units, of those that the method was given no value for.

    Raises:
        UserError: if a value is not positive.
    """
    values = {name: value for name, value in known.items() if name in _open(method)}
    return _checked("dataset.protocol.fixed", values)


def in_target_units(method: Method, known: Mapping[str, Any]) -> dict[str, float]:
    """The same in the units of the target, where a part trained on says what they are worth.

    Args:
        method: with all it knows in standardised units.
        known: by name, of `PRECISIONS` or `DEVIATION`; None is not known.

    Raises:
        UserError: if a name has no such units or a value is not positive.
    """
    key = "protocol.fixed_in_target_units"
    for name in known:
        if name not in (*PRECISIONS, DEVIATION):
            raise UserError(f"{key} takes {', '.join((*PRECISIONS, DEVIATION))}, not {name}.")
    values = _checked(key, known)
    if DEVIATION in values:
        values = {"noise_precision": values.pop(DEVIATION) ** -2, **values}
    return {name: value for name, value in values.items() if name in _open(method)}


def _open(method: Method) -> set[str]:
    return set(method.hyper_names) - method.fixed().keys()


def _checked(key: str, values: Mapping[str, Any]) -> dict[str, float]:
    given = {name: value for name, value in values.items() if value is not None}
    for name, value in given.items():
        check_between(f"{key}.{name}", value, 0)
    return {name: float(value) for name, value in given.items()}
