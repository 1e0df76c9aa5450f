"""Conditioning of networks on minibatches (TAGI) in native code, on the CPU."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping

import torch
from torch import Tensor

from bnnbench.cpp.library import library
from bnnbench.native.networks import check_tensors
from bnnbench.nn import MLP
from bnnbench.types import TrainingSet

NUMBER, REAL, ARRAY = ctypes.c_int64, ctypes.c_double, ctypes.c_void_p


class ConditioningArguments(ctypes.Structure):
    """The struct `ConditioningArguments` of conditioning.cpp, where the fields are documented."""

    _fields_ = (
        ("sizes", ARRAY), ("layers", NUMBER), ("sets", NUMBER),
        ("inputs", ARRAY), ("targets", ARRAY), ("noise", ARRAY), ("counts", ARRAY),
        ("length", NUMBER), ("batch", NUMBER), ("loc", ARRAY), ("var", ARRAY), ("alive", ARRAY),
        ("order", ARRAY), ("orders", NUMBER), ("limit", REAL), ("doubles", ctypes.c_bool),
    )  # fmt: skip


class NativeConditioning:
    """Conditions stacked networks on all rows of their training sets.

    Args:
        mlp: the network shape, with two outputs if the second predicts the noise, else one.
        data: R training sets, float32 or float64.
        batch: number of rows of a minibatch.
        noise: variances of the noise, `[R, 1]`; None if it is predicted.
        limit: largest change of a moment, in standard deviations.
        state: `loc` and `var`, `[R, P]`, contiguous and of the type of the data, updated in place.
        alive: `[R]`, updated in place: networks that are not finite after a pass are no longer
            alive, and later passes skip them.
    """

    def __init__(
        self,
        mlp: MLP,
        data: TrainingSet,
        batch: int,
        noise: Tensor | None,
        limit: float,
        state: Mapping[str, Tensor],
        alive: Tensor,
    ) -> None:
        code, sets, dtype = library().code, data.replicas, data.inputs.dtype
        assert code is not None and mlp.sizes[-1] == (2 if noise is None else 1)
        assert all(one.is_contiguous() and one.dtype == dtype for one in state.values())
        self._condition = code.condition_networks
        # Keep references to all tensors whose addresses are passed.
        self._tensors = {
            "sizes": torch.tensor(mlp.sizes, device="cpu"),
            "inputs": data.inputs.contiguous(),
            "targets": data.targets.contiguous(),
            "counts": torch.tensor(data.counts, device="cpu"),
            "loc": state["loc"],
            "var": state["var"],
            "alive": alive,
        }
        if noise is not None:
            self._tensors["noise"] = noise.to(dtype).expand(sets, 1).contiguous()
        self._given = ConditioningArguments(
            **{name: tensor.data_ptr() for name, tensor in self._tensors.items()},
            layers=len(mlp.sizes) - 1, sets=sets, length=data.inputs.shape[1], batch=batch,
            limit=limit, doubles=dtype == torch.float64,
        )  # fmt: skip

    def run_pass(self, order: Tensor) -> None:
        """Run one pass.

        Args:
            order: `[R or 1, N]` int64, the order in which rows are visited.
        """
        self._given.order, self._given.orders = order.data_ptr(), len(order)
        self._condition(ctypes.byref(self._given))


def output_moments(mlp: MLP, loc: Tensor, var: Tensor, inputs: Tensor) -> tuple[Tensor, Tensor]:
    """Return means and variances of the outputs, `[R, M, O]` each.

    Args:
        mlp: the network shape.
        loc: means of the weights, `[R, P]`, float32 or float64.
        var: their variances, `[R, P]`.
        inputs: `[R, M, D]`.
    """
    code, dtype = library().code, inputs.dtype
    assert code is not None
    for weights in (loc, var):
        check_tensors(mlp, weights, inputs, dtype)
    loc, var, inputs = loc.contiguous(), var.contiguous(), inputs.contiguous()
    mean, variance = (inputs.new_empty(*inputs.shape[:2], mlp.sizes[-1]) for _ in range(2))
    code.linearised_moments(
        (ctypes.c_int64 * len(mlp.sizes))(*mlp.sizes), len(mlp.sizes) - 1, *inputs.shape[:2],
        dtype == torch.float64, *(one.data_ptr() for one in (inputs, loc, var, mean, variance)),
    )  # fmt: skip
    return mean, variance
