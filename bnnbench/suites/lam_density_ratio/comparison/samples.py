"""Final draws of q of a repetition."""

from __future__ import annotations

import numpy as np

from bnnbench.results.run_files import READ_ERRORS, damaged_file_error
from bnnbench.suites.lam_density_ratio.comparison.evidence import SprinklerRun
from bnnbench.suites.lam_density_ratio.tables import SAMPLES


def load_samples(run: SprinklerRun, repetition: int) -> np.ndarray:
    """Return the final draws `[x, n, 2]` of a repetition.

    Raises:
        UserError: if the file is damaged.
    """
    path = run.folder.arrays(SAMPLES)
    try:
        with np.load(path) as arrays:
            index = run.repetitions["repetition"].tolist().index(repetition)
            return np.asarray(arrays[SAMPLES][index], float)
    except (*READ_ERRORS, IndexError):
        raise damaged_file_error(path) from None
