"""Many steps of an update rule in one call, for stacked networks on the CPU."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from bnnbench.cpp.library import library
from bnnbench.nn import MLP
from bnnbench.optim import Rule
from bnnbench.settings import Training
from bnnbench.types import Hyper, TrainingSet

RULES = ("vadam", "vprop", "bbb", "map", "sgld", "psgld", "mc_dropout", "ivon", "renyi_vi",
         "sghmc", "swag")  # fmt: skip
"""In the order of RULES in kernel.cpp."""

NUMBER, REAL, ARRAY = ctypes.c_int64, ctypes.c_double, ctypes.c_void_p


class Steps(ctypes.Structure):
    """What `take_steps` of kernel.cpp is given, which says what each of them is."""

    _fields_ = (
        ("sizes", ARRAY), ("layers", NUMBER), ("sets", NUMBER), ("members", NUMBER),
        ("inputs", ARRAY), ("targets", ARRAY), ("counts", ARRAY), ("precisions", ARRAY),
        ("priors", ARRAY), ("dropouts", ARRAY), ("shares", ARRAY),
        ("length", NUMBER), ("samples", NUMBER), ("batch", NUMBER),
        ("rule", NUMBER), ("rate", REAL), ("betas", REAL * 2), ("own", REAL * 5),
        ("state", ARRAY), ("tensors", NUMBER), ("alive", ARRAY), ("order", ARRAY), ("noise", ARRAY),
        ("pieces", NUMBER), ("groups", NUMBER), ("group", ARRAY),
        ("orders", NUMBER), ("epoch", NUMBER), ("first", NUMBER), ("steps", NUMBER),
    )  # fmt: skip


class Walk:
    """Stacked networks on their way through the minibatches of their training sets.

    Args:
        rule: what they do at each step.
        mlp: the shape, with one output or two, as for `moments`.
        data: R training sets.
        hyper: `prior_precision`, for networks with one output `noise_precision`, and for a rule
            that drops units `dropout`, `[R, 1]` each.
        training: rate, decays, samples and rows of a step.
        shares: of the complexity cost, for each minibatch of an epoch.
        state: entries `[R, members P]` of `rule.tensors`, contiguous float32: changed in place.
            Behind them `[R, members]`: of `renyi_vi`, where the noise is learnt, its log variance
            and Adam's two means of that; of `swag` the number of steps that Adam takes.
        alive: `[R]`: what is not finite leaves it, for good, and stays as it is.
        group: `[R]`, int64: networks of a group have the same noise.
    """

    def __init__(
        self,
        rule: Rule,
        mlp: MLP,
        data: TrainingSet,
        hyper: Hyper,
        training: Training,
        shares: Sequence[float],
        state: Mapping[str, Tensor],
        alive: Tensor,
        group: Tensor,
    ) -> None:
        code = library().code
        assert len(group) == data.replicas
        assert code is not None and mlp.sizes[-1] == (1 if "noise_precision" in hyper else 2)
        self._take_steps, sets, rows = code.take_steps, data.replicas, data.inputs.shape[1]
        self._state = [state[name] for name in rule.tensors]
        assert all(one.is_contiguous() and one.dtype == torch.float32 for one in self._state)
        none = torch.zeros(1)
        # All that the bare addresses lead to is kept as long as they are.
        self._kept = {
            "sizes": torch.tensor(mlp.sizes),
            "inputs": data.inputs.contiguous(),
            "targets": data.targets.contiguous(),
            "counts": torch.tensor(data.counts),
            "precisions": hyper.get("noise_precision", none).expand(sets, 1).contiguous(),
            "priors": hyper["prior_precision"].expand(sets, 1).contiguous(),
            "dropouts": hyper.get("dropout", none).expand(sets, 1).contiguous(),
            "shares": torch.tensor(shares, dtype=torch.float32),
            "state": torch.tensor([one.data_ptr() for one in self._state]),
            "alive": alive,
            "group": group,
        }
        self._given = Steps(
            **{name: kept.data_ptr() for name, kept in self._kept.items()},
            layers=len(mlp.sizes) - 1, sets=sets, members=rule.members, tensors=len(self._state),
            length=rows, samples=training.samples, batch=min(int(training.batch_size), rows),
            rule=RULES.index(rule.name), rate=training.learning_rate, betas=training.betas,
            own=rule.own,
        )  # fmt: skip

    def take(self, epoch: int, first: int, order: Tensor, noise: Tensor) -> None:
        """Goes through some minibatches of an epoch, one step each.

        Args:
            epoch: from 0.
            first: which minibatch is the first.
            order: `[R or 1, N]` int64, in which this epoch visits the rows.
            noise: `[steps, pieces, G]`, the addresses of what each step draws for each group:
                `[S, P]`, standard normal; or the uniform numbers of its masks, `[S, B, units]` for
                every layer's inputs; or nothing.
        """
        given = self._given
        given.epoch, given.first = epoch, first
        given.order, given.orders = order.data_ptr(), len(order)
        given.noise, (given.steps, given.pieces, given.groups) = noise.data_ptr(), noise.shape
        self._take_steps(ctypes.byref(given))
