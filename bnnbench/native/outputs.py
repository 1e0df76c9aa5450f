"""Outputs of stacked networks, for tensors on the CPU."""

from __future__ import annotations

import ctypes

from torch import Tensor

from bnnbench.cpp.library import library
from bnnbench.nn import MLP


def predict_outputs(mlp: MLP, networks: Tensor, inputs: Tensor, outputs: Tensor) -> None:
    """Write the outputs of networks to `outputs`.

    Args:
        mlp: the network shape.
        networks: `[S, R, P]`, float32.
        inputs: `[R, M, D]`, float32.
        outputs: `[S, R, M, O]`, float32, contiguous.
    """
    code = library().code
    assert code is not None and outputs.is_contiguous()
    networks, inputs = networks.contiguous(), inputs.contiguous()
    samples, sets, _ = networks.shape
    code.evaluate(
        (ctypes.c_int64 * len(mlp.sizes))(*mlp.sizes), len(mlp.sizes) - 1,
        samples, sets, inputs.shape[1],
        networks.data_ptr(), inputs.data_ptr(), outputs.data_ptr(),
    )  # fmt: skip
