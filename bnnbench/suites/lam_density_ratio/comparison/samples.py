"""The draws of q with which a repetition ended."""

from __future__ import annotations

import numpy as np

from bnnbench.results.run_files import BROKEN, damaged
from bnnbench.suites.lam_density_ratio.comparison.evidence import SprinklerRun
from bnnbench.suites.lam_density_ratio.tables import SAMPLES


def samples_of(run: SprinklerRun, repetition: int) -> np.ndarray:
    """The draws `[x, n, 2]` of a repetition of a run.

    Raises:
        UserError: if their file is damaged.
    """
    path = run.folder.arrays(SAMPLES)
    try:
        with np.load(path) as arrays:
            place = run.repetitions["repetition"].tolist().index(repetition)
            return np.asarray(arrays[SAMPLES][place], float)
    except (*BROKEN, IndexError):
        raise damaged(path) from None
