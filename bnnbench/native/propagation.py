"""Passes of probabilistic backpropagation over the data in native code, on the CPU."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping

import torch
from torch import Tensor

from bnnbench.cpp.library import library
from bnnbench.native.networks import check_tensors
from bnnbench.nn import MLP
from bnnbench.types import TrainingSet

STATE_ENTRIES = ("loc", "var", "factor_precision", "factor_alpha", "factor_beta",
           "noise_alpha", "noise_beta", "prior_alpha", "prior_beta")  # fmt: skip
"""State entries in the order of `Entry` in propagation.cpp."""

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
        code = library().code
        assert code is not None and mlp.sizes[-1] == 1
        self._propagate = code.propagate
        entries = [state[name] for name in STATE_ENTRIES]
        assert all(one.is_contiguous() and one.dtype == torch.float64 for one in entries)
        # Keep references to all tensors whose addresses are passed.
        self._entries, self._tensors = (
            entries,
            {
                "sizes": torch.tensor(mlp.sizes, device="cpu"),
                "inputs": data.inputs.contiguous(),
                "targets": data.targets.contiguous(),
                "counts": torch.tensor(data.counts, device="cpu"),
                "state": torch.tensor([one.data_ptr() for one in entries], device="cpu"),
                "alive": alive,
            },
        )
        self._given = PassArguments(
            **{name: tensor.data_ptr() for name, tensor in self._tensors.items()},
            layers=len(mlp.sizes) - 1, sets=data.replicas, length=data.inputs.shape[1],
            batch=batch, refine=refine,
        )  # fmt: skip

    def run_pass(self, order: Tensor) -> None:
        """Run one pass.

        Args:
            order: `[R or 1, N]` int64, the order in which rows are visited.
        """
        self._given.order, self._given.orders = order.data_ptr(), len(order)
        self._propagate(ctypes.byref(self._given))


def output_moments(mlp: MLP, loc: Tensor, var: Tensor, inputs: Tensor) -> tuple[Tensor, Tensor]:
    """Return means and variances of the outputs, `[R, M]` each, float64.

    Args:
        mlp: the network shape, with one output.
        loc: means of the weights, `[R, P]`, float64.
        var: their variances, `[R, P]`.
        inputs: `[R, M, D]`.
    """
    code = library().code
    assert code is not None and mlp.sizes[-1] == 1
    for weights in (loc, var):
        check_tensors(mlp, weights, inputs, torch.float64)
    loc, var, inputs = loc.contiguous(), var.contiguous(), inputs.contiguous()
    mean, variance = (inputs.new_empty(inputs.shape[:2]) for _ in range(2))
    code.output_moments(
        (ctypes.c_int64 * len(mlp.sizes))(*mlp.sizes), len(mlp.sizes) - 1, *inputs.shape[:2],
        *(one.data_ptr() for one in (inputs, loc, var, mean, variance)),
    )  # fmt: skip
    return mean, variance
