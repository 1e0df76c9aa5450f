"""The comparison of the chains with numpyro's NUTS: `docs/tools/nuts.py`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

import bnnbench
from bnnbench.likelihoods import Gaussian
from bnnbench.methods.shared.hmc.network import posterior_target
from bnnbench.nn import MLP
from bnnbench.types import TrainingSet

PRECISIONS = {"prior_precision": 0.3, "noise_precision": 5.0}

CONVERGED = {"r_hat_nuts": 1.005, "bulk_ess_nuts": 900.0, "tail_ess_nuts": 900.0}


@pytest.fixture(autouse=True)
def tools(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the scripts in `docs/tools` importable."""
    monkeypatch.syspath_prepend(str(Path(bnnbench.__file__).parents[1] / "docs" / "tools"))


@pytest.mark.parametrize(
    "changed, expected",
    [
        ({}, "agree"),
        ({"energy_distance_between": 0.04}, "disagree"),
        ({"bulk_ess_nuts": 399.0, "energy_distance_between": 0.04}, "undecided"),
        ({"r_hat_nuts": float("nan")}, "undecided"),
    ],
)
def test_the_rule(changed: dict[str, float], expected: str) -> None:
    from nuts import COMPARED, verdict

    facts = {f"{name}_{pair}": 0.02 for name in COMPARED for pair in ("nuts", "between")}
    halves = {f"{name}_hmc": 0.03 for name in COMPARED}
    assert verdict(CONVERGED | facts | halves | changed) == expected


def test_the_model_in_numpyro_is_ours() -> None:
    """Differences of the log densities of two networks are equal, in rotated coordinates too."""
    log_density = pytest.importorskip("numpyro.infer.util").log_density
    from nuts import WIDTH, model, rotated

    rng = np.random.default_rng(0)
    train, targets = rng.normal(size=(20, 3)), rng.normal(size=20)
    mlp = MLP((3, WIDTH, 1))
    networks = torch.from_numpy(rng.normal(size=(2, 1, mlp.n_weights)))
    tensors = (torch.from_numpy(part)[None] for part in (train, targets))
    target = posterior_target(mlp, Gaussian(), TrainingSet(*tensors, (20,), (0,)), {})
    ones = torch.ones(2, 1, dtype=torch.float64)
    factors = torch.stack([ones * PRECISIONS[f"{name}_precision"] for name in ("noise", "prior")])
    ours = -(factors * target(networks, factors)[0]).sum(0)[:, 0].numpy()

    inputs, axes = rotated(train, np.eye(4)[:, :3])  # the axes, but for the row of ones
    bias = axes[3]
    axes[:3] -= bias
    theirs = []
    for flat in networks[:, 0].numpy():
        first, second = np.split(flat, [4 * WIDTH])
        weights = {"first": axes.T @ first.reshape(4, WIDTH), "second": second}
        theirs.append(log_density(model, (inputs, targets), PRECISIONS, weights)[0])
    assert theirs[1] - theirs[0] == pytest.approx(ours[1] - ours[0], rel=1e-4)
