"""MAP: the objective by hand."""

from __future__ import annotations

import torch

from bnnbench.checking.small_fits import HYPER, small_task, training_set
from bnnbench.methods.map import MAP
from bnnbench.nn import forward
from bnnbench.random_streams import Streams


def test_objective_by_hand() -> None:
    method, data = MAP(label="map"), training_set()
    streams = Streams([5, 6], data.groups, dtype=torch.float64)
    posterior = method.fit(small_task(method, data, trace=streams))
    weights = posterior.state["loc"]
    outputs, _ = forward(posterior.mlp, weights[None], data.inputs)
    for r, count in enumerate(data.counts):
        error = (outputs[0, r, :count, 0] - data.targets[r, :count]).square()
        precision = torch.tensor(HYPER["noise_precision"], dtype=torch.float64)
        loss = 0.5 * (precision * error - (precision / (2 * torch.pi)).log()).mean()
        decay = 0.5 * HYPER["prior_precision"] * weights[r].square().sum() / count
        torch.testing.assert_close(posterior.trace["loss"][-1, r], loss)
        torch.testing.assert_close(posterior.trace["complexity"][-1, r], decay)
