"""Passes over the data that update moments of weights in native code, on the CPU.

For probabilistic backpropagation, and for conditioning on minibatches (TAGI).
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping

import torch
from torch import Tensor

from bnnbench.cpp.library import ARRAY, NUMBER, REAL, Addresses, library
from bnnbench.nn import MLP
from bnnbench.types import TrainingSet

STATE_ENTRIES = ("loc", "var", "factor_precision", "factor_alpha", "factor_beta",
           "noise_alpha", "noise_beta", "prior_alpha", "prior_beta")  # fmt: skip
"""State entries of propagation in the order of `Entry` in propagation.cpp."""

OF_WEIGHTS = STATE_ENTRIES[:5]
"""Entries `[R, P]`; the others are `[R, 1]`."""


class PassArguments(ctypes.Structure):
    """The struct `PassArguments` of propagation.cpp, where the fields are documented."""

    _fields_ = (
        ("sizes", ARRAY), ("layers", NUMBER), ("sets", NUMBER),
        ("inputs", ARRAY), ("targets", ARRAY), ("counts", ARRAY),
        ("length", NUMBER), ("batch", NUMBER), ("state", ARRAY), ("alive", ARRAY),
        ("order", ARRAY), ("orders", NUMBER), ("refine", ctypes.c_bool),
    )  # fmt: skip


class ConditioningArguments(ctypes.Structure):
    """The struct `ConditioningArguments` of conditioning.cpp, where the fields are documented."""

    _fields_ = (
        ("sizes", ARRAY), ("layers", NUMBER), ("sets", NUMBER),
        ("inputs", ARRAY), ("targets", ARRAY), ("noise", ARRAY), ("counts", ARRAY),
        ("length", NUMBER), ("batch", NUMBER), ("loc", ARRAY), ("var", ARRAY), ("alive", ARRAY),
        ("order", ARRAY), ("orders", NUMBER), ("limit", REAL), ("doubles", ctypes.c_bool),
    )  # fmt: skip


class NativePasses:
    """Passes over the training sets of stacked networks, whose state they update in place."""

    _function: Callable[..., object]
    _given: PassArguments | ConditioningArguments
    _addresses: Addresses

    def run_pass(self, order: Tensor) -> None:
        """Run one pass.

        Args:
            order: `[R or 1, N]` int64, the order in which rows are visited.
        """
        address, given, orders = Addresses(), self._given, len(order)
        given.order = address.read("of the order", order, torch.int64, orders, given.length)
        given.orders = orders
        self._function(ctypes.byref(given))


class NativePropagation(NativePasses):
    """Runs passes of probabilistic backpropagation.

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
        self._function, address = code.propagate, Addresses()
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


class NativeConditioning(NativePasses):
    """Conditions stacked networks on all rows of their training sets.

    Args:
        mlp: the network shape, with two outputs if the second predicts the noise, else one.
        data: R training sets, float32 or float64.
        batch: number of rows of a minibatch.
        noise: variances of the noise, `[R, 1]`; None if it is predicted.
        limit: largest change of a moment, in standard deviations.
        state: `loc` and `var`, `[R, P]`, contiguous and of the type of the data, updated in place.
        alive: as for `NativePropagation`.
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
        self._function, rows = code.condition_networks, data.inputs.shape[1]
        address = Addresses()
        self._addresses, self._given = address, ConditioningArguments(
            sizes=address.integers(mlp.sizes),
            counts=address.integers(data.counts, rows),
            inputs=address.read("of inputs", data.inputs, dtype, sets, rows, mlp.sizes[0]),
            targets=address.read("of targets", data.targets, dtype, sets, rows),
            noise=None if noise is None else address.read("of noise", noise, dtype, sets, 1),
            loc=address.write("state['loc']", state["loc"], dtype, sets, mlp.n_weights),
            var=address.write("state['var']", state["var"], dtype, sets, mlp.n_weights),
            alive=address.write("of finite replicas", alive, torch.bool, sets),
            layers=len(mlp.sizes) - 1, sets=sets, length=rows, batch=batch, limit=limit,
            doubles=dtype == torch.float64,
        )  # fmt: skip


def propagated_moments(mlp: MLP, loc: Tensor, var: Tensor, inputs: Tensor) -> tuple[Tensor, Tensor]:
    """Return means and variances of the outputs by propagation, `[R, M]` each, float64.

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


def linearised_moments(mlp: MLP, loc: Tensor, var: Tensor, inputs: Tensor) -> tuple[Tensor, Tensor]:
    """Return means and variances of the outputs with linearised ReLUs, `[R, M, O]` each.

    The arguments are those of `propagated_moments`, but float32 or float64, for any number of
    outputs.
    """
    code, dtype, address = library().code, inputs.dtype, Addresses()
    assert code is not None
    sets, rows, _ = inputs.shape
    mean, variance = (inputs.new_empty(sets, rows, mlp.sizes[-1]) for _ in range(2))
    code.linearised_moments(
        (ctypes.c_int64 * len(mlp.sizes))(*mlp.sizes), len(mlp.sizes) - 1, sets, rows,
        dtype == torch.float64,
        address.read("of inputs", inputs, dtype, sets, rows, mlp.sizes[0]),
        address.read("state['loc']", loc, dtype, sets, mlp.n_weights),
        address.read("state['var']", var, dtype, sets, mlp.n_weights),
        *(address.write("of moments", one, dtype, *one.shape) for one in (mean, variance)),
    )  # fmt: skip
    return mean, variance
