"""Hyper-parameters of a split experiment: fixed values in their units, and bounds of the others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bnnbench.constraints import check_between
from bnnbench.methods.shared.contract import Method
from bnnbench.near_names import with_known
from bnnbench.settings import PRECISIONS
from bnnbench.types import UserError


def fixed_values(method: Method, fixed: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fixed values, in standardised units, of the method's unset hyper-parameters.

    Raises:
        UserError: if a value is not positive.
    """
    if not isinstance(fixed, Mapping):
        raise UserError(
            f"the fixed hyper-parameters must be given by name, as in {{dropout: 0.05}}, not "
            f"{fixed!r}.",
            "fixed",
            "not_a_mapping",
        )
    return _checked("dataset.protocol.fixed", _only_unset(method, fixed))


def fixed_original_units(method: Method, fixed: Mapping[str, Any]) -> dict[str, float]:
    """Return the fixed precisions, in original units, of the method's unset hyper-parameters.

    Args:
        method: with all values that are set in standardised units.
        fixed: values by name, of `PRECISIONS` or `NOISE_STD`; None means not fixed.

    Raises:
        UserError: if a name has no such units or a value is not positive.
    """
    key = "protocol.fixed_original_units"
    for name in fixed:
        if name not in (*PRECISIONS, NOISE_STD):
            known = with_known(name, (*PRECISIONS, NOISE_STD))
            raise UserError(f"{key}: unknown name {known}.", key)
    values = _checked(key, fixed)
    if NOISE_STD in values:
        values = {"noise_precision": values.pop(NOISE_STD) ** -2, **values}
    return _only_unset(method, values)


def _only_unset(method: Method, values: Mapping[str, Any]) -> dict[str, Any]:
    unset = set(method.hyper_names) - method.fixed_hyper().keys()
    return {name: value for name, value in values.items() if name in unset}


def _checked(key: str, values: Mapping[str, Any]) -> dict[str, float]:
    specified = {name: value for name, value in values.items() if value is not None}
    for name, value in specified.items():
        check_between(f"{key}.{name}", value, 0)
    return {name: float(value) for name, value in specified.items()}


NOISE_STD = "noise_std"
"""Alternative to `noise_precision`, which is `noise_std ** -2`."""
