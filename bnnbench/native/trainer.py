"""Training steps of update rules in native code, for stacked networks on the CPU."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from bnnbench.cpp.library import library
from bnnbench.nn import MLP
from bnnbench.optim import NativeUpdate
from bnnbench.settings import Training
from bnnbench.types import Hyper, TrainingSet

RULES = ("vadam", "vprop", "bbb", "map", "sgld", "psgld", "mc_dropout", "ivon", "renyi_vi",
         "sghmc", "swag")  # fmt: skip
"""Names of the update rules in the order of `RULES` in kernel.cpp."""

NUMBER, REAL, ARRAY = ctypes.c_int64, ctypes.c_double, ctypes.c_void_p


class StepArguments(ctypes.Structure):
    """The struct `StepArguments` of kernel.cpp, where the fields are documented."""

    _fields_ = (
        ("sizes", ARRAY), ("layers", NUMBER), ("sets", NUMBER), ("members", NUMBER),
        ("inputs", ARRAY), ("targets", ARRAY), ("counts", ARRAY), ("precisions", ARRAY),
        ("priors", ARRAY), ("dropouts", ARRAY), ("kl_weights", ARRAY),
        ("length", NUMBER), ("samples", NUMBER), ("batch", NUMBER),
        ("rule", NUMBER), ("rate", REAL), ("betas", REAL * 2), ("own", REAL * 5),
        ("state", ARRAY), ("tensors", NUMBER), ("alive", ARRAY), ("order", ARRAY), ("noise", ARRAY),
        ("pieces", NUMBER), ("groups", NUMBER), ("group", ARRAY),
        ("orders", NUMBER), ("epoch", NUMBER), ("first", NUMBER), ("steps", NUMBER),
    )  # fmt: skip


class NativeTrainer:
    """Trains stacked networks on minibatches of their training sets.

    Args:
        update: the training step.
        mlp: the network shape, with one or two outputs, as for `gradient_moments`.
        data: R training sets.
        hyper: `prior_precision`, for networks with one output `noise_precision`, and for updates
            with dropout `dropout`, `[R, 1]` each.
        training: learning rate, decay rates, weight samples and batch size.
        kl_weights: weight of the KL divergence in each minibatch of an epoch.
        state: the entries `update.tensors`, `[R, members P]`, contiguous float32, updated in place.
            Some updates have more entries `[R, members]`: `renyi_vi` with learned noise its log
            variance and the two Adam averages of it; `swag` the number of steps with Adam.
        alive: `[R]`, updated in place: replicas that are not finite after a call are no longer
            alive, and later calls skip them.
        group: `[R]`, int64, the noise group of each replica.
    """

    def __init__(
        self,
        update: NativeUpdate,
        mlp: MLP,
        data: TrainingSet,
        hyper: Hyper,
        training: Training,
        kl_weights: Sequence[float],
        state: Mapping[str, Tensor],
        alive: Tensor,
        group: Tensor,
    ) -> None:
        code = library().code
        assert len(group) == data.replicas
        assert code is not None and mlp.sizes[-1] == (1 if "noise_precision" in hyper else 2)
        self._take_steps, sets, rows = code.take_steps, data.replicas, data.inputs.shape[1]
        self._state = [state[name] for name in update.tensors]
        assert all(one.is_contiguous() and one.dtype == torch.float32 for one in self._state)
        none = torch.zeros(1)
        # Keep references to all tensors whose addresses are passed.
        self._tensors = {
            "sizes": torch.tensor(mlp.sizes),
            "inputs": data.inputs.contiguous(),
            "targets": data.targets.contiguous(),
            "counts": torch.tensor(data.counts),
            "precisions": hyper.get("noise_precision", none).expand(sets, 1).contiguous(),
            "priors": hyper["prior_precision"].expand(sets, 1).contiguous(),
            "dropouts": hyper.get("dropout", none).expand(sets, 1).contiguous(),
            "kl_weights": torch.tensor(kl_weights, dtype=torch.float32),
            "state": torch.tensor([one.data_ptr() for one in self._state]),
            "alive": alive,
            "group": group,
        }
        self._given = StepArguments(
            **{name: tensor.data_ptr() for name, tensor in self._tensors.items()},
            layers=len(mlp.sizes) - 1, sets=sets, members=update.members, tensors=len(self._state),
            length=rows, samples=training.samples, batch=min(int(training.batch_size), rows),
            rule=RULES.index(update.name), rate=training.learning_rate, betas=training.betas,
            own=update.constants,
        )  # fmt: skip

    def take_steps(self, epoch: int, first: int, order: Tensor, noise: Tensor) -> None:
        """Take one step for each of some minibatches of an epoch.

        Args:
            epoch: counted from 0.
            first: index of the first minibatch.
            order: `[R or 1, N]` int64, the order in which this epoch visits the rows.
            noise: `[steps, pieces, G]`, addresses of the random numbers of each step and group:
                one piece `[S, P]` of standard normal numbers, or one piece `[S, B, units]` of
                uniform numbers per layer for dropout masks, or no pieces.
        """
        arguments = self._given
        arguments.epoch, arguments.first = epoch, first
        arguments.order, arguments.orders = order.data_ptr(), len(order)
        arguments.noise, (arguments.steps, arguments.pieces, arguments.groups) = (
            noise.data_ptr(),
            noise.shape,
        )
        self._take_steps(ctypes.byref(arguments))
