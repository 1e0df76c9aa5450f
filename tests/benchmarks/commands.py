"""Time and memory of whole commands, including start-up and exit."""

from __future__ import annotations

import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import torch
from benchmarks.training import (
    EPOCHS,
    FEATURES,
    FOLDS,
    ROWS,
    SAMPLES,
    SPLIT_ROWS,
    WIDTH,
    Row,
    floating_point_operations,
    loop_seconds,
    product_speed,
)
from hydra import compose, initialize_config_dir

from bnnbench.config.compose import compose_jobs, initialise_hydra
from bnnbench.config.configs import CONFIG_NAME, config_folder

MEMORY_DATASETS = ("boston", "wine", "kin8nm", "power", "naval", "protein")
METHODS = ("vadam", "vprop", "bbb_x1", "map", "mc_dropout_x1", "deep_ensemble", "sgld", "laplace",
           "pbp", "practical_vi", "svgd", "svgd_liu2016", "bb_alpha_dropout", "dvi",
           "renyi_vi_2016", "vadam likelihood=heteroscedastic", "vadam loss=beta")  # fmt: skip
SWEEP = ("linear", "map", "pbp", "vadam", "vprop", "mc_dropout", "laplace", "sgld", "tagi", "swag")
SHORT_RUN = ("search.iterations=2", "search.initial_points=2", "training.epochs=1",
             "training.final_epochs=1")  # fmt: skip

SHORT_FITS = ("search.iterations=2", "search.initial_points=2", "training.epochs=20",
              "training.final_epochs=20")  # fmt: skip
LARGE_METHODS = ("vadam", "practical_vi", "svgd", "svgd_liu2016", "bb_alpha_dropout", "dvi",
                 "renyi_vi_2016")  # fmt: skip
"""Those that are also measured on kin8nm, with short fits."""

REFERENCE_COMMIT = "10d6816f"
"""The commit with which `reference_rows` compares; later gains and losses add up in its row."""

MEASURE_SCRIPT = """
import json, resource, subprocess, sys
out = subprocess.run(sys.argv[1:], stdout=subprocess.PIPE, text=True, check=True).stdout
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(json.dumps([out.strip().splitlines()[-1], used.ru_utime + used.ru_stime, used.ru_maxrss]))
"""
"""Runs a command and prints its last line of output, core seconds and peak memory."""


@dataclass(frozen=True)
class CommandResult:
    """Measurements of a finished command.

    Attributes:
        wall_seconds: elapsed time.
        core_seconds: CPU time of all its processes.
        first_unit_seconds: time until the first unit was saved.
        peak_gb: peak memory of its largest process.
        folder: folder of the run.
    """

    wall_seconds: float
    core_seconds: float
    first_unit_seconds: float
    peak_gb: float
    folder: Path

    def table(self, name: str) -> pd.DataFrame:
        return pd.read_csv(self.folder / f"{name}.csv")


def bnnbench(
    *arguments: str, environment: Mapping[str, str] | None = None, checkout: Path | None = None
) -> CommandResult:
    """Measure `bnnbench run`.

    Args:
        arguments: of the command.
        environment: additional environment variables.
        checkout: the code to run; by default this checkout's.
    """
    run = [sys.executable, "-m", "bnnbench", "run", *arguments]
    if checkout is not None:
        environment = {**(environment or {}), "PYTHONPATH": str(checkout)}
    started, clock = time.time(), time.perf_counter()
    line, core_seconds, peak_gb = measured(run, environment, checkout)
    wall_seconds = time.perf_counter() - clock
    folder = Path(line.split(": ", 1)[1])
    first_unit = min(unit.stat().st_mtime for unit in folder.rglob("work/*.json"))
    return CommandResult(wall_seconds, core_seconds, first_unit - started, peak_gb, folder)


def measured(
    command: Sequence[str],
    environment: Mapping[str, str] | None = None,
    folder: Path | None = None,
) -> tuple[str, float, float]:
    """Run a command.

    Args:
        command: the words.
        environment: additional environment variables.
        folder: the working directory.

    Returns:
        Its last line of output, core seconds, and peak memory of its largest process in GB.

    Raises:
        RuntimeError: if it fails, with its messages.
    """
    done = subprocess.run(
        [sys.executable, "-c", MEASURE_SCRIPT, *command], capture_output=True, text=True,
        env={**os.environ, **(environment or {})}, cwd=folder,
    )  # fmt: skip
    if done.returncode:
        raise RuntimeError(done.stderr)
    line, core_seconds, peak = json.loads(done.stdout)
    return line, core_seconds, peak / (2**20 if sys.platform == "linux" else 2**30)  # kB or bytes


def empty_outputs(folder: Path) -> str:
    """Delete a folder, and return the override that writes results to it."""
    shutil.rmtree(folder, ignore_errors=True)
    return f"outputs_dir={folder}"


def job_rows(outputs: Path) -> Iterator[Row]:
    """Measure the main job, 20 splits; ratios compare its core time with the loop's."""
    for device in ["cpu"] + ["cuda"] * torch.cuda.is_available():
        overrides = "method=vadam", "dataset=boston", f"device={device}"
        loop = loop_seconds(10)
        one_worker = bnnbench(*overrides, "workers=1", empty_outputs(outputs / "job"))
        result = bnnbench(*overrides, empty_outputs(outputs / "job"))
        loop = min(loop, loop_seconds(10))
        search, splits = result.table("search"), result.table("splits")
        # Epochs of the search, of out-of-fold predictions and of final fits.
        epochs = EPOCHS * (FOLDS * (len(search) + len(splits)) + len(splits))
        name = f"run method=vadam dataset=boston ({device})"
        yield {"measurement": name, "value": result.wall_seconds, "unit": "s"}
        # Workers are slower if they share a core; the loop ran alone.
        for workers, one in ("", result), (", one worker", one_worker):
            yield {
                "measurement": f"{name}{workers}, core time; ratio: the loop",
                "value": one.core_seconds,
                "unit": "s",
                "ratio": loop * epochs / one.core_seconds,
            }
        # All search and out-of-fold fits are of folds of `ROWS` rows, final fits of whole splits.
        rows = FOLDS * ROWS * (len(search) + len(splits)) + SPLIT_ROWS * len(splits)
        operations = rows * EPOCHS * SAMPLES * floating_point_operations(FEATURES, WIDTH)
        ideal = operations / product_speed(5)
        yield {
            "measurement": f"{name}, ideal; ratio: core time, one worker",
            "value": ideal,
            "unit": "s",
            "ratio": one_worker.core_seconds / ideal,
        }
        first, rmse = result.first_unit_seconds, splits["rmse"].mean()
        yield {"measurement": "time to the first split", "value": first, "unit": "s"}
        share = search["suggest_seconds"].sum() / splits["total_seconds"].sum()
        yield {"measurement": "share of search suggestions", "value": 100 * share, "unit": "%"}
        yield {"measurement": "test RMSE of this run", "value": rmse, "unit": "1000 USD"}


def reference_rows(outputs: Path) -> Iterator[Row]:
    """Measure the main job with one worker, by the reference commit and by this code in turn."""
    with tempfile.TemporaryDirectory() as folder:
        checkout = Path(folder) / "reference"
        git = ["git", "-C", str(Path(__file__).parent), "worktree"]
        add = [*git, "add", "--detach", str(checkout), REFERENCE_COMMIT]
        subprocess.run(add, check=True, capture_output=True)
        try:
            seconds: dict[Path | None, float] = {checkout: math.inf, None: math.inf}
            for _ in range(2):
                for code in seconds:
                    place = empty_outputs((outputs / "reference").absolute())
                    result = bnnbench(
                        "method=vadam", "dataset=boston", "workers=1", place, checkout=code
                    )
                    seconds[code] = min(seconds[code], result.core_seconds)
        finally:
            subprocess.run([*git, "remove", "--force", str(checkout)], check=True)
    yield {
        "measurement": f"vadam on boston, one worker, core time; ratio: commit {REFERENCE_COMMIT}",
        "value": seconds[None],
        "unit": "s",
        "ratio": seconds[checkout] / seconds[None],
    }


def start_rows(outputs: Path) -> Iterator[Row]:
    """Measure a small run with cached native code, and one that builds it first."""
    overrides = ("dataset=diabetes", "splits=2", "workers=2", *SHORT_RUN)

    def run(**environment: str) -> CommandResult:
        return bnnbench(*overrides, empty_outputs(outputs / "start"), environment=environment)

    warm = min((run() for _ in range(3)), key=lambda result: result.wall_seconds)
    with tempfile.TemporaryDirectory() as cache:
        added = run(XDG_CACHE_HOME=cache).wall_seconds - warm.wall_seconds
    yield {"measurement": "minimal run", "value": warm.wall_seconds, "unit": "s"}
    yield {"measurement": "minimal run, core time", "value": warm.core_seconds, "unit": "s"}
    yield {"measurement": "additional time without caches", "value": added, "unit": "s"}


def sweep_rows(outputs: Path) -> Iterator[Row]:
    """Measure ten short runs, and composing jobs: Hydra composes each twice, to check and run."""
    result = bnnbench("-m", f"method={','.join(SWEEP)}", "dataset=diabetes", "protocol=trial",
                      "workers=2", empty_outputs(outputs / "sweep"))  # fmt: skip
    yield {"measurement": "ten short runs", "value": result.wall_seconds, "unit": "s"}
    yield {"measurement": "ten short runs, core time", "value": result.core_seconds, "unit": "s"}
    with initialise_hydra():
        clock = time.perf_counter()
        sweep = compose_jobs(["experiment=gvi_uci", "dataset=boston"], True)
        seconds = time.perf_counter() - clock
    with initialize_config_dir(str(config_folder()), version_base="1.3"):
        clock = time.perf_counter()
        for job in sweep.jobs:
            compose(CONFIG_NAME, [*job.overrides])
        hydra_seconds = 2 * (time.perf_counter() - clock)
    yield {"measurement": "compose one job of a sweep", "value": 1000 * seconds / len(sweep.jobs),
           "unit": "ms", "ratio": hydra_seconds / seconds}  # fmt: skip


def memory_rows(outputs: Path) -> Iterator[Row]:
    """Measure the peak memory of one worker on each data set."""
    for dataset in MEMORY_DATASETS:
        overrides = (f"dataset={dataset}", "splits=[0]", "workers=1", *SHORT_RUN)
        result = bnnbench(*overrides, empty_outputs(outputs / "memory"))
        yield {"measurement": f"peak memory, {dataset}", "value": result.peak_gb, "unit": "GB"}


def method_rows(outputs: Path) -> Iterator[Row]:
    """Measure one split by method; the ratio is the slowdown without native code.

    Splits of kin8nm, which has 7373 training rows, have short searches and fits.
    """
    shared = ("splits=[0]", "workers=1", "evaluation.out_of_fold=false")
    for dataset, label, methods, limits in (
        ("boston", "one Boston split", METHODS, ()),
        ("kin8nm", "one short split of kin8nm", LARGE_METHODS, SHORT_FITS),
    ):
        for method in methods:
            seconds = {}
            for switch in "01":
                result = bnnbench(
                    *f"method={method}".split(), f"dataset={dataset}", *shared, *limits,
                    empty_outputs(outputs / "methods"), environment={"BNNBENCH_NATIVE": switch},
                )  # fmt: skip
                seconds[switch] = result.table("splits")["cpu_seconds"].sum()
            yield {"measurement": f"{label}, {method}", "value": seconds["1"], "unit": "CPU s",
                   "ratio": seconds["0"] / seconds["1"]}  # fmt: skip
