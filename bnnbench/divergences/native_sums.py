"""Quadrature sums of the Jensen-Shannon divergences in native code, for tensors on the CPU."""

from __future__ import annotations

import ctypes

import torch
from torch import Tensor

from bnnbench.cpp.library import has_native_code, library

NUMBER, ARRAY, REAL = ctypes.c_int64, ctypes.c_void_p, ctypes.c_float


class JensenShannonArguments(ctypes.Structure):
    """The struct `Pairs` of jensen_shannon.cpp, where the fields are documented."""

    _fields_ = (
        ("terms", ARRAY), ("count", NUMBER), ("nodes", ARRAY), ("weights", ARRAY),
        ("n_nodes", NUMBER), ("alpha", ctypes.c_double), ("lowest", REAL), ("highest", REAL),
        ("out", ARRAY),
    )  # fmt: skip


def is_supported(like: Tensor) -> bool:
    """Whether native code applies: a supported tensor that needs no gradient."""
    return not (like.requires_grad and torch.is_grad_enabled()) and has_native_code(like)


def weighted_sums(
    name: str,
    rows: int,
    terms: Tensor,
    rule: tuple[Tensor, Tensor],
    alpha: float,
    bounds: tuple[float, float],
) -> Tensor:
    """Sum a function over the quadrature nodes.

    Args:
        name: the function in jensen_shannon.cpp: `js_far` or `js_near` for the divergence,
            `js_slopes` for the moments of its derivative.
        rows: number of rows of the result.
        terms: `[3, N]`, float32: coefficients of the log ratio, a quadratic in the node.
        rule: nodes and weights, `[K]` each.
        alpha: order of the divergence, below 1.
        bounds: the interval to which the log ratio is clamped.

    Returns:
        `[rows, N]`.
    """
    code = library().code
    assert code is not None
    nodes, weights = (column.contiguous() for column in rule)
    terms = terms.contiguous()
    out = torch.empty_like(terms[:rows])
    lowest, highest = bounds
    arguments = JensenShannonArguments(
        terms=terms.data_ptr(), count=terms.shape[1], nodes=nodes.data_ptr(),
        weights=weights.data_ptr(), n_nodes=len(nodes), alpha=alpha, lowest=lowest,
        highest=highest, out=out.data_ptr(),
    )  # fmt: skip
    getattr(code, name)(ctypes.byref(arguments))
    return out
