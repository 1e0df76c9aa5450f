"""Leapfrog steps per core-second of a network with 50 units on data of Boston's shape.

Includes numpyro's jitted NUTS if pip can install it in an environment below `outputs`.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from statistics import median

import numpy as np
import torch
from benchmarks.training import Row, synthetic_data

from bnnbench.likelihoods import Gaussian
from bnnbench.methods.shared.hmc.leapfrog import Integrator, leapfrog
from bnnbench.methods.shared.hmc.metric import EuclideanMetric, MetricAdaptation, network_curvatures
from bnnbench.methods.shared.hmc.network import posterior_integrator, posterior_target
from bnnbench.nn import MLP
from bnnbench.types import TrainingSet

ROWS, WIDTH, CHAINS = 455, 50, 4
NOISE, PRIOR, STEP = 10.0, 1.0, 1e-3
TIMEOUT = 900.0  # seconds, for pip and for numpyro


def leapfrog_rows(repeats: int, outputs: Path) -> Iterator[Row]:
    """Measure native code, torch and numpyro in turn, so that other load affects all alike."""
    inputs, targets = synthetic_data(ROWS).tensors
    mlp = MLP((inputs.shape[1], WIDTH, 1))
    data = TrainingSet(inputs[None], targets[None], (ROWS,), (0,))
    start = 0.3 * torch.randn(mlp.n_weights, generator=torch.Generator().manual_seed(1))
    native = posterior_integrator(mlp, Gaussian(), data, {})
    integrators = {
        "native": (native, None, 500),
        "native, with a metric": (native, curvature_metric(start, mlp, data), 500),
        "torch": (partial(leapfrog, posterior_target(mlp, Gaussian(), data, {})), None, 50),
    }
    python, density_file = install_numpyro(outputs / "numpyro"), outputs / "leapfrogs.npz"
    density = {"inputs": inputs, "targets": targets, "start": start, "width": WIDTH}
    np.savez(density_file, **density, noise=NOISE, prior=PRIOR, step=STEP)
    rates_by_name: dict[str, list[float]] = {**{name: [] for name in integrators}, "numpyro": []}
    for _ in range(repeats):
        for name, (integrate, metric, steps) in integrators.items():
            rates_by_name[name].append(leapfrog_rate(integrate, start, metric, steps))
        if python:
            rates_by_name["numpyro"].append(numpyro_rate(python, density_file))
    native_rate = median(rates_by_name["native"])
    for name, rates in rates_by_name.items():
        label = f"leapfrogs per core-second, {name}"
        if rates:
            rate = median(rates)
            yield {"measurement": label, "value": rate, "unit": "1/s", "ratio": native_rate / rate}
        else:
            yield {"measurement": f"{label}: not installable", "value": np.nan, "unit": "1/s"}


def curvature_metric(start: torch.Tensor, mlp: MLP, data: TrainingSet) -> EuclideanMetric | None:
    """Return the metric from the curvature at one network."""
    hyper = {"noise_precision": torch.ones(1, 1)}
    adaptation = MetricAdaptation(network_curvatures(mlp, Gaussian(), data, hyper), 0)
    return adaptation.metric(start.expand(1, 1, -1), torch.tensor([NOISE, PRIOR]).view(2, 1, 1))


def leapfrog_rate(
    integrate: Integrator, start: torch.Tensor, metric: EuclideanMetric | None, steps: int
) -> float:
    """Measure steps per core-second, with all chains in one call."""
    position = start.expand(CHAINS, 1, -1).contiguous()
    momentum = torch.randn(position.shape, generator=torch.Generator().manual_seed(2))
    factors = torch.tensor([NOISE, PRIOR]).double().view(2, 1, 1).expand(2, CHAINS, 1)
    size = torch.full((CHAINS, 1), STEP, dtype=torch.float64)
    started = time.process_time()
    integrate(position, momentum, factors, size, torch.full((CHAINS, 1), steps), metric)
    return CHAINS * steps / (time.process_time() - started)


def install_numpyro(folder: Path) -> Path | None:
    """Return the Python of an environment with numpyro, or None if it cannot be installed."""
    python = folder / "bin" / "python"
    commands = (
        (sys.executable, "-m", "venv", folder),
        (python, "-m", "pip", "install", "--quiet", "numpyro", "jax[cpu]"),
    )
    try:
        for command in () if _has_numpyro(python) else commands:
            subprocess.run(command, check=True, capture_output=True, timeout=TIMEOUT)
    except (OSError, subprocess.SubprocessError):
        return None
    return python if _has_numpyro(python) else None


def _has_numpyro(python: Path) -> bool:
    if not python.exists():
        return False
    return subprocess.run([python, "-c", "import numpyro"], capture_output=True).returncode == 0


def numpyro_rate(python: Path, file: Path) -> float:
    """Measure steps per core-second of one chain, after compilation."""
    script = Path(__file__).with_name("numpyro_nuts.py")
    command = [str(python), str(script), str(file), "1"]
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=TIMEOUT)
    return float(done.stdout)
