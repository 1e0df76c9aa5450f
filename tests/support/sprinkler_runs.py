"""Finished sprinkler runs with given results, without training."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd

from bnnbench.config.assemble import build
from bnnbench.experiment.run.execution import execute
from bnnbench.experiment.run.run import Run
from bnnbench.experiment.store.run_folder import RunFolder
from bnnbench.report.run_output import write_page
from bnnbench.suites.lam_density_ratio.names import CURVES, OK, REPETITIONS, SAMPLES
from bnnbench.suites.lam_density_ratio.sprinkler import OBSERVATIONS
from support.config import compose
from support.exact_draws import posterior_samples

EVALUATIONS = 9
"""Rows of `curves.csv` per repetition."""

DRAWS = 40
"""Saved draws per observation; real runs have 1000."""


def sprinkler(outputs: Path, *overrides: str) -> Run:
    """Return a run of `experiment=sprinkler`, assembled as on the command line.

    Args:
        outputs: the folder of all runs.
        overrides: settings of the experiment, such as `estimator=ratio`, and `seed=1`.
    """
    own = [word if word.startswith("seed=") else f"experiment.{word}" for word in overrides]
    return build(compose("experiment=sprinkler", *own, "workers=1", f"outputs_dir={outputs}"))


@cache
def draws() -> np.ndarray:
    """Return draws of the exact posteriors, `[1, x, DRAWS, 2]`."""
    random = np.random.default_rng(0)
    return np.stack([posterior_samples(x, DRAWS, random) for x in OBSERVATIONS])[None]


def finished_run(
    outputs: Path,
    *overrides: str,
    ends: Sequence[float],
    status: Sequence[str] | None = None,
    page: bool = False,
) -> RunFolder:
    """Write a finished run whose repetitions end with given average KLs.

    Args:
        outputs: the folder of all runs.
        overrides: see `sprinkler`.
        ends: the last average KL of each repetition.
        status: status of each repetition; `ok` if not given.
        page: whether to write the run's page too, with figures as PNG.
    """
    run = sprinkler(outputs, f"repetitions={len(ends)}", *overrides)
    total = run.experiment.metadata()["iterations"]
    share = np.linspace(0, 1, EVALUATIONS)
    states = [OK] * len(ends) if status is None else status
    for k, (unit, end, state) in enumerate(zip(run.experiment.units(), ends, states, strict=True)):
        curve = pd.DataFrame({
            "repetition": k,
            "iteration": (share * total).round().astype(int),
            "average_kl": end + (8 - end) * (0.01**share - 0.01) / 0.99,
            "estimator_loss": 1.0,
            "nelbo": 4 - 0.1 * share,
        }).to_dict("records")  # fmt: skip
        last = {
            "repetition": k, "average_kl": end, "kl": end - 1.3239,
            "estimator_loss": 1.0, "nelbo": 3.9,
            "status": state, "failed_at": None if state == OK else 0, "seconds": 2.0,
        }  # fmt: skip
        run.store.save(
            unit,
            {CURVES: curve if state == OK else [], REPETITIONS: [last]},
            {SAMPLES: {SAMPLES: draws().astype(np.float32)}},
        )
    folder = execute(run)
    if page:
        assert not write_page(folder, "png")
    return folder
