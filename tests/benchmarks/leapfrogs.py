"""Leapfrogs per core-second of a network with 50 units on 455 rows of 13 columns, as in Boston.

Beside numpyro's jitted NUTS, where an environment for it can be made: below `outputs`, by pip.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from statistics import median

import numpy as np
import torch
from benchmarks.training import Row, data_like

from bnnbench.likelihoods.gaussian import Gaussian
from bnnbench.methods.shared.hmc.leapfrog import Ended, flow_of
from bnnbench.methods.shared.hmc.metric import Metric, Windows, curvatures_of
from bnnbench.methods.shared.hmc.network import posterior, posterior_flow
from bnnbench.nn import MLP
from bnnbench.types import TrainingSet

ROWS, UNITS, CHAINS = 455, 50, 4
NOISE, PRIOR, STEP = 10.0, 1.0, 1e-3
PATIENCE = 900.0  # seconds for pip, and for numpyro


def leapfrog_rows(repeats: int, outputs: Path) -> Iterator[Row]:
    """Native code, torch and numpyro in turn, so that a busy machine is as busy for each."""
    inputs, targets = data_like(ROWS).tensors
    mlp = MLP((inputs.shape[1], UNITS, 1))
    data = TrainingSet(inputs[None], targets[None], (ROWS,), (0,))
    start = 0.3 * torch.randn(mlp.n_weights, generator=torch.Generator().manual_seed(1))
    native = posterior_flow(mlp, Gaussian(), data, {})
    flows = {
        "native": (native, 500),
        "native, by a metric": (partial(native, metric=metric_at(start, mlp, data)), 500),
        "torch": (flow_of(posterior(mlp, Gaussian(), data, {})), 50),
    }
    python, rivals = numpyro(outputs / "numpyro"), outputs / "leapfrogs.npz"
    density = {"inputs": inputs, "targets": targets, "start": start, "units": UNITS}
    np.savez(rivals, **density, noise=NOISE, prior=PRIOR, step=STEP)
    found: dict[str, list[float]] = {**{name: [] for name in flows}, "numpyro": []}
    for _ in range(repeats):
        for name, (flow, steps) in flows.items():
            found[name].append(rate(flow, start, steps))
        if python:
            found["numpyro"].append(rate_of_numpyro(python, rivals))
    ours = median(found["native"])
    for name, rates in found.items():
        what = f"leapfrogs per core-second, {name}"
        if rates:
            own = median(rates)
            yield {"what": what, "value": own, "unit": "1/s", "ratio": ours / own}
        else:
            yield {"what": f"{what}: could not be installed", "value": np.nan, "unit": "1/s"}


def metric_at(start: torch.Tensor, mlp: MLP, data: TrainingSet) -> Metric | None:
    """Of the curvature at one network."""
    unit = {"noise_precision": torch.ones(1, 1)}
    windows = Windows(curvatures_of(mlp, Gaussian(), data, unit), 0)
    return windows.metric(start.expand(1, 1, -1), torch.tensor([NOISE, PRIOR]).view(2, 1, 1))


def rate(flow: Callable[..., Ended], start: torch.Tensor, steps: int) -> float:
    """Of four chains in one call."""
    position = start.expand(CHAINS, 1, -1).contiguous()
    momentum = torch.randn(position.shape, generator=torch.Generator().manual_seed(2))
    factors = torch.tensor([NOISE, PRIOR]).double().view(2, 1, 1).expand(2, CHAINS, 1)
    size = torch.full((CHAINS, 1), STEP, dtype=torch.float64)
    began = time.process_time()
    flow(position, momentum, factors, size, torch.full((CHAINS, 1), steps))
    return CHAINS * steps / (time.process_time() - began)


def numpyro(folder: Path) -> Path | None:
    """The Python of an environment with numpyro, made if need be; None where it cannot be."""
    python = folder / "bin" / "python"
    commands = (
        (sys.executable, "-m", "venv", folder),
        (python, "-m", "pip", "install", "--quiet", "numpyro", "jax[cpu]"),
    )
    try:
        for command in () if _imports(python) else commands:
            subprocess.run(command, check=True, capture_output=True, timeout=PATIENCE)
    except (OSError, subprocess.SubprocessError):
        return None
    return python if _imports(python) else None


def _imports(python: Path) -> bool:
    if not python.exists():
        return False
    return subprocess.run([python, "-c", "import numpyro"], capture_output=True).returncode == 0


def rate_of_numpyro(python: Path, file: Path) -> float:
    """Of one chain, compiled before."""
    script = Path(__file__).with_name("numpyro_nuts.py")
    command = [str(python), str(script), str(file), "1"]
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=PATIENCE)
    return float(done.stdout)
