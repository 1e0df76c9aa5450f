"""Finished sprinklers that nobody trained: folders whose numbers are known beforehand."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, partial
from pathlib import Path

import numpy as np

from bnnbench.cli.build import build
from bnnbench.experiment.execution import execute
from bnnbench.experiment.run import Run
from bnnbench.experiment.run_folder import RunFolder
from bnnbench.report.pages import write_page
from bnnbench.suites.lam_density_ratio.sprinkler import OBSERVED, posterior_samples
from bnnbench.suites.lam_density_ratio.tables import CURVES, OK, REPETITIONS, SAMPLES
from support.config import compose
from support.tiny_runs import no_page

EVALUATIONS = 9
"""Rows of `curves.csv` per repetition."""

DRAWS = 40
"""For each observation, where the true programs keep 1000."""


def sprinkler(outputs: Path, *overrides: str) -> Run:
    """A run of `experiment=sprinkler` as the command line would build it; nothing is trained."""
    return build(compose("experiment=sprinkler", *overrides, f"outputs_dir={outputs}"))


@cache
def draws() -> np.ndarray:
    """Draws of the exact posteriors, `[1, x, DRAWS, 2]`."""
    random = np.random.default_rng(0)
    return np.stack([posterior_samples(x, DRAWS, random) for x in OBSERVED])[None]


def made(
    outputs: Path,
    *overrides: str,
    ends: Sequence[float],
    status: Sequence[str] | None = None,
    nelbo_slope: float = -0.1,
    early: float = 8.0,
    jitter: float = 0.1,
    page: bool = False,
) -> RunFolder:
    """A finished run whose repetitions end with given average KLs.

    Args:
        outputs: the folder of all runs.
        overrides: as for `bnnbench run experiment=sprinkler`.
        ends: the last average KL of each repetition.
        status: of each repetition; all fine if not given.
        nelbo_slope: what the NELBO gains from start to end, about 4.
        early: the first average KL; it falls geometrically.
        jitter: size of what the estimator loss does between its first evaluations; later none.
        page: whether the run's page is written too, its figures as PNG.
    """
    run = sprinkler(outputs, f"repetitions={len(ends)}", *overrides)
    total = run.experiment.names()["iterations"]
    share = np.linspace(0, 1, EVALUATIONS)
    wave = np.where(share <= 0.3, jitter * (-1.0) ** np.arange(EVALUATIONS), 0)
    states = [OK] * len(ends) if status is None else status
    for k, (unit, end, state) in enumerate(zip(run.experiment.units(), ends, states, strict=True)):
        falling = end + (early - end) * (0.01**share - 0.01) / 0.99
        courses = {
            "average_kl": falling,
            "estimator_loss": 1 + wave,
            "nelbo": 4 + nelbo_slope * share,
        }
        curve = [
            {
                "repetition": k,
                "iteration": round(s * total),
                **{n: c[i] for n, c in courses.items()},
            }
            for i, s in enumerate(share)
        ]
        last = {
            "repetition": k, "average_kl": end, "average_kl_last5": end, "kl": end - 1.3239,
            "sliced_wasserstein": 0.05, "estimator_loss": 1.0, "nelbo": 4 + nelbo_slope,
            "status": state, "failed_at": None if state == OK else 0, "seconds": 2.0,
        }  # fmt: skip
        run.store.save(
            unit,
            {CURVES: curve if state == OK else [], REPETITIONS: [last]},
            {SAMPLES: {SAMPLES: draws().astype(np.float32)}},
        )
    return execute(run, partial(write_page, figures="png") if page else no_page)
