"""Finished runs that kept predictive mixtures whose distances are known."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from bnnbench.experiment.run_folder import RunFolder
from bnnbench.experiment.split_files import MIXTURE
from support.runs import add_arrays, make_run

HALVES = 0.01
"""W1 between the halves of the chains of `make_chains`."""

JITTER = np.array([-0.01, 0.0, 0.01, 0.0])
"""By which the shifts of the four splits differ, so that a t-test has something to test."""


def components(shift: float = 0.0, wider: float = 1.0) -> dict[str, np.ndarray]:
    """The arrays of `mixture.npz`: four splits of five points each.

    Args:
        shift: of all components against those of the chains: W1 on average.
        wider: epistemic deviations over those of the chains.
    """
    rng = np.random.default_rng(0)
    half = rng.normal(size=(20, 50)) * rng.uniform(0.2, 0.4, (20, 1))
    half -= half.mean(1, keepdims=True)
    both = np.concatenate([half - HALVES / 2, half + HALVES / 2], 1)
    centre = rng.normal(size=(20, 1))
    own = shift + np.repeat(JITTER, 5)[:, None] if shift else 0.0
    return {
        "split": np.repeat(range(4), 5),
        "row": np.arange(20),
        "loc": (centre + wider * both + own).astype(np.float32),
        "epistemic": np.zeros((20, 1), np.float32),
        "noise": np.full((20, 1), 0.09, np.float32),
    }


def make_chains(outputs: Path, **changes: Any) -> RunFolder:
    """A run by HMC whose chains have mixed."""
    given = {"method": "hmc", "experiment": "gold_standard", "diag.r_hat": 1.01, **changes}
    folder = make_run(outputs, **{"variant": "chains", **given})
    add_arrays(folder, MIXTURE, components())
    return folder


def make_approximation(
    outputs: Path, method: str, shift: float, wider: float = 1.0, **changes: Any
) -> RunFolder:
    """A run of the same model by another method."""
    given = {"method": method, "experiment": "gold_standard", **changes}
    folder = make_run(outputs, **{"variant": method, **given})
    add_arrays(folder, MIXTURE, components(shift, wider))
    return folder
