"""Passes of probabilistic backpropagation over the data in one call, for networks on the CPU."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping

import torch
from torch import Tensor

from bnnbench.cpp.library import library
from bnnbench.nn import MLP
from bnnbench.types import TrainingSet

ENTRIES = ("loc", "var", "factor_precision", "factor_alpha", "factor_beta",
           "noise_alpha", "noise_beta", "prior_alpha", "prior_beta")  # fmt: skip
"""Of the state, in the order of Entry in propagation.cpp."""

NUMBER, ARRAY = ctypes.c_int64, ctypes.c_void_p


class Pass(ctypes.Structure):
    """What `propagate` of propagation.cpp is given, which says what each of them is."""

    _fields_ = (
        ("sizes", ARRAY), ("layers", NUMBER), ("sets", NUMBER),
        ("inputs", ARRAY), ("targets", ARRAY), ("counts", ARRAY),
        ("length", NUMBER), ("batch", NUMBER), ("state", ARRAY), ("alive", ARRAY),
        ("order", ARRAY), ("orders", NUMBER), ("refine", ctypes.c_bool),
    )  # fmt: skip


class Propagation:
    """Stacked networks on their way through their data, one row or a few at a time.

    Args:
        mlp: the shape, with one output.
        data: R training sets in float64.
        batch: rows that are incorporated at once.
        refine: whether the prior factors are refined after a pass.
        state: `ENTRIES`, `[R, P]` or `[R, 1]`, contiguous float64: changed in place.
        alive: `[R]`: what is not finite leaves it, for good, and stays as it is.
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
        code = library().code
        assert code is not None and mlp.sizes[-1] == 1
        self._propagate = code.propagate
        entries = [state[name] for name in ENTRIES]
        assert all(one.is_contiguous() and one.dtype == torch.float64 for one in entries)
        # All that the bare addresses lead to is kept as long as they are.
        self._entries, self._kept = (
            entries,
            {
                "sizes": torch.tensor(mlp.sizes),
                "inputs": data.inputs.contiguous(),
                "targets": data.targets.contiguous(),
                "counts": torch.tensor(data.counts),
                "state": torch.tensor([one.data_ptr() for one in entries]),
                "alive": alive,
            },
        )
        self._given = Pass(
            **{name: kept.data_ptr() for name, kept in self._kept.items()},
            layers=len(mlp.sizes) - 1, sets=data.replicas, length=data.inputs.shape[1],
            batch=batch, refine=refine,
        )  # fmt: skip

    def go(self, order: Tensor) -> None:
        """One pass.

        Args:
            order: `[R or 1, N]` int64, in which the rows are visited.
        """
        self._given.order, self._given.orders = order.data_ptr(), len(order)
        self._propagate(ctypes.byref(self._given))
