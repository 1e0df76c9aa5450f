"""A state of probabilistic backpropagation."""

from __future__ import annotations

import torch
from torch import Tensor

from bnnbench.methods.pbp import initial_state
from bnnbench.nn import MLP
from bnnbench.random_streams import Streams


def random_state(mlp: MLP, replicas: int = 2, seed: int = 0) -> dict[str, Tensor]:
    """Return a state with random weight means and variances."""
    torch.manual_seed(seed)
    streams = Streams(list(range(replicas)), tuple(range(replicas)))
    state = initial_state(mlp, replicas, streams)
    state["loc"] = 0.8 * torch.randn_like(state["loc"])
    state["var"] = 0.2 + torch.rand_like(state["loc"])
    return state
