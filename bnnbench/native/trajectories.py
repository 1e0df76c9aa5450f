"""Whole trajectories of Hamiltonian dynamics in one call, for stacked networks on the CPU."""

from __future__ import annotations

import ctypes

import torch
from torch import Tensor

from bnnbench.cpp.library import library
from bnnbench.nn import MLP
from bnnbench.types import TrainingSet

NUMBER, ARRAY = ctypes.c_int64, ctypes.c_void_p


class Given(ctypes.Structure):
    """What `take_trajectories` of trajectories.cpp is given, which says what each of them is."""

    _fields_ = (
        ("sizes", ARRAY), ("layers", NUMBER), ("chains", NUMBER), ("sets", NUMBER),
        ("length", NUMBER), ("inputs", ARRAY), ("targets", ARRAY), ("counts", ARRAY),
        ("factors", ARRAY), ("step", ARRAY), ("steps", ARRAY), ("roots", ARRAY),
        ("position", ARRAY), ("momentum", ARRAY), ("before", ARRAY), ("after", ARRAY),
    )  # fmt: skip


def trajectories(
    mlp: MLP,
    data: TrainingSet,
    position: Tensor,
    momentum: Tensor,
    factors: Tensor,
    size: Tensor,
    steps: Tensor,
    roots: Tensor | None = None,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Leapfrogs of every chain through the posterior of its network.

    Args:
        mlp: the shape, with one output or two, as for `moments`.
        data: R training sets, float32.
        position: `[C, R, P]`, float32.
        momentum: `[C, R, P]`, float32.
        factors: `[2, C, R]`, float64: of the loss, which is 1 with two outputs, and of the prior.
        size: of a step, `[C, R]`, float64.
        steps: `[C, R]`, int64, at least one.
        roots: of the metric, `[R, ...]`, float32, the `[fan_in + 1, fan_in + 1]` of all layers
            behind one another; None for the identity.

    Returns:
        Positions and momenta at the end, and the two parts of the energy at both ends, `[2, C, R]`,
        float64.
    """
    code = library().code
    assert code is not None
    chains, sets, _ = position.shape
    position, momentum = (
        one.clone(memory_format=torch.contiguous_format) for one in (position, momentum)
    )
    before, after = (torch.empty(factors.shape, dtype=torch.float64) for _ in range(2))
    # All that the bare addresses lead to is kept as long as they are.
    kept = {
        "sizes": torch.tensor(mlp.sizes),
        "inputs": data.inputs.contiguous(),
        "targets": data.targets.contiguous(),
        "counts": torch.tensor(data.counts),
        "factors": factors.contiguous(),
        "step": size.contiguous(),
        "steps": steps.contiguous(),
        "roots": torch.empty(0) if roots is None else roots.contiguous(),
        "position": position,
        "momentum": momentum,
        "before": before,
        "after": after,
    }
    given = Given(
        **{name: tensor.data_ptr() for name, tensor in kept.items()},
        layers=len(mlp.sizes) - 1, chains=chains, sets=sets, length=data.inputs.shape[1],
    )  # fmt: skip
    code.take_trajectories(ctypes.byref(given))
    return position, momentum, before, after
