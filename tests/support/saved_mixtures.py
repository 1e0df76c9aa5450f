"""Finished runs with saved predictive mixtures whose distances are known."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from bnnbench.experiment.store.run_folder import RunFolder
from bnnbench.experiment.store.split_files import MIXTURE
from support.runs import add_arrays, make_run

HALVES_DISTANCE = 0.01
"""W1 distance between the two halves of the chains from `make_chains`."""

JITTER = np.array([-0.01, 0.0, 0.01, 0.0])
"""Deviations of the four splits' shifts, for t-tests."""


def components(
    shift: float = 0.0, width_ratio: float = 1.0, jitter: np.ndarray = JITTER
) -> dict[str, np.ndarray]:
    """Return the arrays of `mixture.npz` for four splits of five points each.

    Args:
        shift: shift of all components relative to the chains; equals the mean W1 distance.
        width_ratio: ratio of epistemic standard deviations to those of the chains.
        jitter: deviations of the splits' shifts from `shift`, `[4]`.
    """
    rng = np.random.default_rng(0)
    half = rng.normal(size=(20, 50)) * rng.uniform(0.2, 0.4, (20, 1))
    half -= half.mean(1, keepdims=True)
    both = np.concatenate([half - HALVES_DISTANCE / 2, half + HALVES_DISTANCE / 2], 1)
    centre = rng.normal(size=(20, 1))
    own = shift + np.repeat(jitter, 5)[:, None] if shift else 0.0
    return {
        "split": np.repeat(range(4), 5),
        "row": np.arange(20),
        "loc": (centre + width_ratio * both + own).astype(np.float32),
        "epistemic": np.zeros((20, 1), np.float32),
        "noise": np.full((20, 1), 0.09, np.float32),
    }


def make_chains(outputs: Path, **changes: Any) -> RunFolder:
    """Write an HMC run whose chains have converged."""
    diagnostics = {"diag.r_hat": 1.01, "diag.bulk_ess": 400, "diag.tail_ess": 400}
    given = {"method": "hmc", "experiment": "gold_standard", **diagnostics, **changes}
    folder = make_run(outputs, **{"variant": "chains", **given})
    add_arrays(folder, MIXTURE, components())
    return folder


def make_approximation(
    outputs: Path,
    method: str,
    shift: float,
    width_ratio: float = 1.0,
    jitter: np.ndarray = JITTER,
    **changes: Any,
) -> RunFolder:
    """Write a run of another method on the same model."""
    given = {"method": method, "experiment": "gold_standard", **changes}
    folder = make_run(outputs, **{"variant": method, **given})
    add_arrays(folder, MIXTURE, components(shift, width_ratio, jitter))
    return folder
