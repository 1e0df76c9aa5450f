"""Passes of probabilistic backpropagation over the data in native code, on the CPU."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping

import torch
from torch import Tensor

from bnnbench.cpp.library import Addresses, library
from bnnbench.nn import MLP
from bnnbench.types import TrainingSet

STATE_ENTRIES = ("loc", "var", "factor_precision", "factor_alpha", "factor_beta",
           "noise_alpha", "noise_beta", "prior_alpha", "prior_beta")  # fmt: skip
"""State entries in the order of `Entry` in propagation.cpp."""

OF_WEIGHTS = STATE_ENTRIES[:5]
"""Entries `[R, P]`; the others are `[R, 1]`."""

NUMBER, ARRAY = ctypes.c_int64, ctypes.c_void_p


class PassArguments(ctypes.Structure):
    """The struct `PassArguments` of propagation.cpp, where the fields are documented."""

    _fields_ = (
        ("sizes", ARRAY), ("layers", NUMBER), ("sets", NUMBER),
        ("inputs", ARRAY), ("targets", ARRAY), ("counts", ARRAY),
        ("length", NUMBER), ("batch", NUMBER), ("state", ARRAY), ("alive", ARRAY),
        ("order", ARRAY), ("orders", NUMBER), ("refine", ctypes.c_bool),
    )  # fmt: skip


class NativePropagation:
    """Runs passes over the data for stacked networks.

    Args:
        mlp: the network shape, with one output.
        data: R training sets in float64.
        batch: number of rows to incorporate at once.
        refine: whether to refine the prior factors after a pass.
        state: `STATE_ENTRIES`, `[R, P]` or `[R, 1]`, contiguous float64, updated in place.
        alive: `[R]`, updated in place: networks that are not finite after a pass are no longer
            alive, and later passes skip them.
    """

    def __init__(
        self,
        mlp: MLP,
        data: TrainingSet,
        batch: int,
        refine: bool,
        state: Mapping[str, Tensor],
        alive: Tensor,
    ) -> None:
        code, sets, rows = library().code, data.replicas, data.inputs.shape[1]
        assert code is not None and mlp.sizes[-1] == 1
        self._propagate, address = code.propagate, Addresses()
        double = torch.float64
        widths = (mlp.n_weights if name in OF_WEIGHTS else 1 for name in STATE_ENTRIES)
        entries = [
            address.write(f"state[{name!r}]", state[name], double, sets, width)
            for name, width in zip(STATE_ENTRIES, widths, strict=True)
        ]
        self._addresses, self._given = address, PassArguments(
            sizes=address.integers(mlp.sizes),
            counts=address.integers(data.counts, rows),
            inputs=address.read("of inputs", data.inputs, double, sets, rows, mlp.sizes[0]),
            targets=address.read("of targets", data.targets, double, sets, rows),
            state=address.integers(entries),
            alive=address.write("of finite replicas", alive, torch.bool, sets),
            layers=len(mlp.sizes) - 1, sets=sets, length=rows, batch=batch, refine=refine,
        )  # fmt: skip

    def run_pass(self, order: Tensor) -> None:
        """Run one pass.

        Args:
            order: `[R or 1, N]` int64, the order in which rows are visited.
        """
        address, given, orders = Addresses(), self._given, len(order)
        given.order = address.read("of the order", order, torch.int64, orders, given.length)
        given.orders = orders
        self._propagate(ctypes.byref(self._given))


def output_moments(mlp: MLP, loc: Tensor, var: Tensor, inputs: Tensor) -> tuple[Tensor, Tensor]:
    """Return means and variances of the outputs, `[R, M]` each, float64.

    Args:
        mlp: the network shape, with one output.
        loc: means of the weights, `[R, P]`, float64.
        var: their variances, `[R, P]`.
        inputs: `[R, M, D]`.
    """
    code, address = library().code, Addresses()
    assert code is not None and mlp.sizes[-1] == 1
    sets, rows, _ = inputs.shape
    mean, variance = (inputs.new_empty(sets, rows) for _ in range(2))
    code.output_moments(
        (ctypes.c_int64 * len(mlp.sizes))(*mlp.sizes), len(mlp.sizes) - 1, sets, rows,
        address.read("of inputs", inputs, torch.float64, sets, rows, mlp.sizes[0]),
        address.read("state['loc']", loc, torch.float64, sets, mlp.n_weights),
        address.read("state['var']", var, torch.float64, sets, mlp.n_weights),
        *(address.write("of moments", one, torch.float64, sets, rows) for one in (mean, variance)),
    )  # fmt: skip
    return mean, variance
