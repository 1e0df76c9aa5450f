"""Trajectories of Hamiltonian dynamics in native code, for stacked networks on the CPU."""

from __future__ import annotations

import ctypes

import torch
from torch import Tensor

from bnnbench.cpp.library import ARRAY, NUMBER, Addresses, library
from bnnbench.likelihoods import Likelihood
from bnnbench.native.networks import has_softplus
from bnnbench.nn import MLP
from bnnbench.types import TrainingSet


class TrajectoryArguments(ctypes.Structure):
    """The struct `Trajectories` of trajectories.cpp, where the fields are documented."""

    _fields_ = (
        ("sizes", ARRAY), ("layers", NUMBER), ("chains", NUMBER), ("sets", NUMBER),
        ("length", NUMBER), ("softplus", NUMBER), ("inputs", ARRAY), ("targets", ARRAY),
        ("counts", ARRAY), ("factors", ARRAY), ("step", ARRAY), ("steps", ARRAY), ("roots", ARRAY),
        ("position", ARRAY), ("momentum", ARRAY), ("before", ARRAY), ("after", ARRAY),
    )  # fmt: skip


def leapfrog_trajectories(
    mlp: MLP,
    likelihood: Likelihood,
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
        mlp: the network shape.
        likelihood: for which `has_native_gradients`.
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

    Raises:
        UserError: if a tensor has another type or shape.
    """
    code, address = library().code, Addresses()
    assert code is not None
    (chains, sets, _), rows = position.shape, data.inputs.shape[1]
    position, momentum = (
        one.clone(memory_format=torch.contiguous_format) for one in (position, momentum)
    )
    before, after = torch.empty(2, 2, chains, sets, dtype=torch.float64, device="cpu")
    single, double, whole = torch.float32, torch.float64, torch.int64
    squares = sum((fan_in + 1) ** 2 for fan_in in mlp.sizes[:-1])
    arguments = TrajectoryArguments(
        sizes=address.integers(mlp.sizes), softplus=has_softplus(likelihood),
        counts=address.integers(data.counts, rows),
        inputs=address.read("of inputs", data.inputs, single, sets, rows, mlp.sizes[0]),
        targets=address.read("of targets", data.targets, single, sets, rows),
        factors=address.read("of precisions", factors, double, 2, chains, sets),
        step=address.read("of step sizes", step_size, double, chains, sets),
        steps=address.read("of numbers of steps", steps, whole, chains, sets),
        roots=None if roots is None else address.read("of roots", roots, single, sets, squares),
        position=address.write("of weights", position, single, chains, sets, mlp.n_weights),
        momentum=address.write("of momenta", momentum, single, chains, sets, mlp.n_weights),
        before=address.write("of energies", before, double, 2, chains, sets),
        after=address.write("of energies", after, double, 2, chains, sets),
        layers=len(mlp.sizes) - 1, chains=chains, sets=sets, length=rows,
    )  # fmt: skip
    code.take_trajectories(ctypes.byref(arguments))
    return position, momentum, before, after
