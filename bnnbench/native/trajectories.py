"""Trajectories of Hamiltonian dynamics in native code, for stacked networks on the CPU."""

from __future__ import annotations

import ctypes

import torch
from torch import Tensor

from bnnbench.cpp.library import library
from bnnbench.nn import MLP
from bnnbench.types import TrainingSet

NUMBER, ARRAY = ctypes.c_int64, ctypes.c_void_p


class TrajectoryArguments(ctypes.Structure):
    """The struct `Trajectories` of trajectories.cpp, where the fields are documented."""

    _fields_ = (
        ("sizes", ARRAY), ("layers", NUMBER), ("chains", NUMBER), ("sets", NUMBER),
        ("length", NUMBER), ("inputs", ARRAY), ("targets", ARRAY), ("counts", ARRAY),
        ("factors", ARRAY), ("step", ARRAY), ("steps", ARRAY), ("roots", ARRAY),
        ("position", ARRAY), ("momentum", ARRAY), ("before", ARRAY), ("after", ARRAY),
    )  # fmt: skip


def leapfrog_trajectories(
    mlp: MLP,
    data: TrainingSet,
    position: Tensor,
    momentum: Tensor,
    factors: Tensor,
    step_size: Tensor,
    steps: Tensor,
    roots: Tensor | None = None,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Run a trajectory of leapfrog steps for every chain.

    Args:
        mlp: the network shape, with one or two outputs, as for `gradient_moments`.
        data: R training sets, float32.
        position: `[C, R, P]`, float32.
        momentum: `[C, R, P]`, float32.
        factors: `[2, C, R]`, float64: the noise precision, or 1 with two outputs, and the prior
            precision.
        step_size: `[C, R]`, float64.
        steps: `[C, R]`, int64, numbers of steps, at least one.
        roots: symmetric roots of the inverse metric, `[R, ...]`, float32: the concatenated
            `[fan_in + 1, fan_in + 1]` of all layers; None for the identity.

    Returns:
        Final positions and momenta, and the two parts of the potential energy before and after,
        `[2, C, R]` each, float64.
    """
    code = library().code
    assert code is not None
    chains, sets, _ = position.shape
    position, momentum = (
        one.clone(memory_format=torch.contiguous_format) for one in (position, momentum)
    )
    before, after = (
        torch.empty(factors.shape, dtype=torch.float64, device="cpu") for _ in range(2)
    )
    # Keep references to all tensors whose addresses are passed.
    tensors = {
        "sizes": torch.tensor(mlp.sizes, device="cpu"),
        "inputs": data.inputs.contiguous(),
        "targets": data.targets.contiguous(),
        "counts": torch.tensor(data.counts, device="cpu"),
        "factors": factors.contiguous(),
        "step": step_size.contiguous(),
        "steps": steps.contiguous(),
        "roots": torch.empty(0, dtype=torch.float32, device="cpu")
        if roots is None
        else roots.contiguous(),
        "position": position,
        "momentum": momentum,
        "before": before,
        "after": after,
    }
    arguments = TrajectoryArguments(
        **{name: tensor.data_ptr() for name, tensor in tensors.items()},
        layers=len(mlp.sizes) - 1, chains=chains, sets=sets, length=data.inputs.shape[1],
    )  # fmt: skip
    code.take_trajectories(ctypes.byref(arguments))
    return position, momentum, before, after
