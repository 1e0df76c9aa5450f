"""Evidence of a trained network, by `method=laplace` and by laplace-torch (Daxberger et al. 2021).

`python -m support.laplace_torch` in `tests`, with laplace-torch installed, prints the values of
laplace-torch for split 0 of the nine UCI sets as JSON; `laplace_torch.json` contains them.
"""

from __future__ import annotations

import json
from functools import cache
from importlib.metadata import version

import torch
from scipy.optimize import minimize
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

from bnnbench.config.assemble import build
from bnnbench.methods.laplace import Laplace
from bnnbench.methods.shared.contract import FitTask, Posterior
from bnnbench.nn import MLP
from bnnbench.preprocessing import standardise
from bnnbench.random_streams import Streams
from bnnbench.settings import Network, Training
from bnnbench.types import TrainingSet
from support.config import compose

SETS = ("boston", "concrete", "energy", "kin8nm", "naval", "power", "protein", "wine", "yacht")
STRUCTURES = {"full": "full", "diagonal": "diag"}
"""Curvatures that both have; the Kronecker factors of laplace-torch separate the biases."""


@cache
def training_part(dataset: str) -> TrainingSet:
    """Return the standardised training rows of split 0, float64."""
    words = (f"dataset={dataset}", "splits=1")
    table = build(compose(*words)).experiment.table  # type: ignore[attr-defined]
    rows = [table.splits[0].train]
    return standardise(table, rows, (0,), torch.device("cpu"), torch.float64)[0]


def fit(dataset: str, curvature: str) -> tuple[Posterior, TrainingSet]:
    """Train a network of 10 hidden units for ten epochs, then maximise the evidence once."""
    data = training_part(dataset)
    by = "marginal_likelihood"
    method = Laplace(label="l", curvature=curvature, prior_precision_by=by, noise_precision_by=by)
    training = Training(batch_size=100, dtype="float64", learning_rate=0.01)
    streams = Streams([1], (0,), dtype=torch.float64)
    return method.fit(FitTask(data, {}, Network(width=10), training, 10, streams)), data


def reference(posterior: Posterior, data: TrainingSet, curvature: str) -> dict[str, float]:
    """Return laplace-torch's largest log marginal likelihood and the precisions that give it."""
    import laplace

    rows = TensorDataset(data.inputs[0], data.targets[0][:, None])
    network = module(posterior.mlp, posterior.state["loc"][0])
    own = laplace.Laplace(
        network, "regression", subset_of_weights="all",
        hessian_structure=STRUCTURES[curvature], backend=laplace.curvature.BackPackGGN,
    )  # fmt: skip
    own.fit(DataLoader(rows, batch_size=256))

    def objective(x: list[float]) -> tuple[float, list[float]]:
        logs = torch.tensor(x, dtype=torch.float64, requires_grad=True)
        value = -own.log_marginal_likelihood((2 * logs[0]).exp(), (-logs[1]).exp())
        value.backward()
        return value.item(), logs.grad.tolist()  # type: ignore[union-attr]

    found = minimize(objective, [0.0, 0.0], jac=True, method="L-BFGS-B",
                     options={"ftol": 1e-15, "gtol": 1e-7, "maxiter": 500})  # fmt: skip
    prior, noise = torch.tensor(found.x).mul(2).exp().tolist()
    return {
        "log_evidence": -found.fun,
        "learned_prior_precision": prior,
        "learned_noise_precision": noise,
    }


def module(mlp: MLP, weights: Tensor) -> nn.Sequential:
    """Return the network of torch with flat weights `[P]`."""
    layers: list[nn.Module] = []
    hidden, (rows, bias) = mlp.layers(weights[None])
    pairs = [(matrix[0].T, offset[0, 0]) for matrix, offset in hidden]
    for matrix, offset in [*pairs, (rows[0], bias[0, :, 0])]:
        layer = nn.Linear(matrix.shape[1], matrix.shape[0], dtype=torch.float64)
        layer.weight.data, layer.bias.data = matrix.contiguous(), offset.clone()
        layers += [layer, nn.ReLU()]
    return nn.Sequential(*layers[:-1])


def main() -> None:
    """Print the values of laplace-torch."""
    values = {
        dataset: {name: reference(*fit(dataset, name), name) for name in STRUCTURES}
        for dataset in SETS
    }
    source = f"laplace-torch {version('laplace-torch')} (aleximmer/Laplace), BackPackGGN"
    print(json.dumps({"source": source, "values": values}, indent=1))


if __name__ == "__main__":
    main()
