"""The sums of Jensen-Shannon divergences by native code, for tensors on the CPU."""

from __future__ import annotations

import ctypes

import torch
from torch import Tensor

from bnnbench.cpp.library import library
from bnnbench.cpp.tensors import available

NUMBER, ARRAY, REAL = ctypes.c_int64, ctypes.c_void_p, ctypes.c_float


class Given(ctypes.Structure):
    """`Pairs` of jensen_shannon.cpp, which says what each of them is."""

    _fields_ = (
        ("terms", ARRAY), ("count", NUMBER), ("nodes", ARRAY), ("weights", ARRAY),
        ("n_nodes", NUMBER), ("alpha", ctypes.c_double), ("lowest", REAL), ("highest", REAL),
        ("out", ARRAY),
    )  # fmt: skip


def covers(like: Tensor) -> bool:
    """Whether native code takes such tensors, of which no derivative is wanted."""
    return not (like.requires_grad and torch.is_grad_enabled()) and available(like)


def summed(
    name: str,
    rows: int,
    terms: Tensor,
    rule: tuple[Tensor, Tensor],
    alpha: float,
    bounds: tuple[float, float],
) -> Tensor:
    """What the function of that name in jensen_shannon.cpp adds up over the nodes.

    Args:
        name: `js_far` or `js_near`, the divergence itself, or `js_slopes`, moments of its slope.
        rows: of the result.
        terms: `[3, N]`, float32: of the log ratio, a quadratic in the nodes.
        rule: nodes and weights, `[K]` each.
        alpha: order of the divergence, below 1.
        bounds: between which the log ratio is kept.

    Returns:
        `[rows, N]`.
    """
    code = library().code
    assert code is not None
    nodes, weights = (column.contiguous() for column in rule)
    terms = terms.contiguous()
    out = torch.empty_like(terms[:rows])
    lowest, highest = bounds
    given = Given(
        terms=terms.data_ptr(), count=terms.shape[1], nodes=nodes.data_ptr(),
        weights=weights.data_ptr(), n_nodes=len(nodes), alpha=alpha, lowest=lowest,
        highest=highest, out=out.data_ptr(),
    )  # fmt: skip
    getattr(code, name)(ctypes.byref(given))
    return out
