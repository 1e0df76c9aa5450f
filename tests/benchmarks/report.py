"""Time a report over many runs: `python tests/benchmarks/report.py [RUNS]`.

Writes synthetic finished runs (by default 1000: 50 runs of 20 splits on each of 20 data sets) to a
temporary folder, and prints the time of `bnnbench report --sections all`, including start-up: of
the first report, and of a second one that finds the scores of stored predictions in the cache.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

sys.path.insert(0, str(Path(__file__).parents[1]))

from support.runs import add_arrays, divergence_metadata, make_run

from bnnbench.experiment.store.run_folder import RunFolder
from bnnbench.results.read.run_files import CALIBRATION
from bnnbench.results.score.calibration import CALIBRATION_METRICS, RECALIBRATION_NAMES

DATASETS, SPLITS, POINTS = 20, 20, 50
"""Number of data sets, of splits per run, and of test points per split."""

DIVERGENCES = ("kl", "kl_prior_posterior", "js", "fisher", "tv_lower", "tv_upper", "jeffreys",
               "hellinger", "chi2", "tv", "wasserstein2", "alpha_js")  # fmt: skip
METHODS = ("vadam", "vprop", "pbp", "pbp_200", "mc_dropout", "mc_dropout_x1", "mc_dropout_x10",
           "deep_ensemble", "sgld", "psgld", "laplace", "map", "practical_vi",
           "bbb_x2")  # fmt: skip


def run_kinds() -> Iterator[dict[str, Any]]:
    """Yield the metadata of 50 runs: 12 divergences at 3 depths, and 14 other methods."""
    for divergence, depth in product(DIVERGENCES, (1, 2, 3)):
        yield {"method": "bbb", "depth": depth, **divergence_metadata(divergence)}
    for method in METHODS:
        yield {"method": method}


def make_finished_run(
    outputs: Path, dataset: str, kind: dict[str, Any], generator: np.random.Generator
) -> None:
    """Write one finished run, including the calibration table of its page."""
    rmse = 3 + generator.normal() * 0.2 + generator.normal(size=SPLITS) * 0.5
    scores = {"split": range(SPLITS), "rmse": rmse, "crps": rmse / 2, "at_bound": ""}
    for name in ("log_likelihood", "log_likelihood_joint", "log_likelihood_gaussian"):
        scores[name] = -rmse + generator.normal(size=SPLITS) * 0.1
    variant = f"depth{kind.get('depth', 1)}-{kind.get('divergence', 'kl')}"
    folder = make_run(outputs, variant, dataset=dataset, **kind, **scores)
    add_calibration(folder, generator)
    target = generator.normal(size=SPLITS * POINTS)
    add_arrays(folder, arrays={
        "split": np.repeat(range(SPLITS), POINTS), "row": np.arange(SPLITS * POINTS),
        "target": target, "mean": target + generator.normal(size=len(target)),
        "epistemic_variance": np.full(len(target), 0.1),
        "noise_variance": np.full(len(target), 0.9),
    })  # fmt: skip


def add_calibration(folder: RunFolder, generator: np.random.Generator) -> None:
    """Write the calibration table, which a run's page would contain."""
    names = ("none", *RECALIBRATION_NAMES)
    rows = pd.DataFrame(product(names, range(SPLITS)), columns=["recalibration", "split"])
    values = {metric: generator.uniform(size=len(rows)) for metric in CALIBRATION_METRICS}
    rows.assign(**values).to_csv(folder.table(CALIBRATION), index=False)


def child_seconds() -> float:
    """Return the core seconds of all processes that this one has started and that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main(runs: int) -> None:
    generator = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as folder:
        outputs = Path(folder) / "outputs"
        kinds = product((f"set_{k:02d}" for k in range(DATASETS)), run_kinds())
        for _, (dataset, kind) in zip(range(runs), kinds, strict=False):
            make_finished_run(outputs, dataset, kind, generator)
        environment = {**os.environ, "XDG_CACHE_HOME": str(Path(folder) / "cache")}
        command = [sys.executable, "-m", "bnnbench", "report", str(outputs), "--sections", "all"]
        for which in ("first", "second"):
            started, before = time.perf_counter(), child_seconds()
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=environment)
            seconds, used = time.perf_counter() - started, child_seconds() - before
            print(f"{which} report over {runs} runs: {seconds:.1f} s, core time {used:.1f} s")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000)
