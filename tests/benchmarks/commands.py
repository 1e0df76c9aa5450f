"""Whole commands, start and exit included: seconds, core time, memory."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import torch
from benchmarks.training import EPOCHS, FOLDS, Row, loop_seconds
from hydra import compose, initialize_config_dir

from bnnbench.cli.compose import CONFIG_NAME, initialised
from bnnbench.cli.configs import config_folder
from bnnbench.cli.line import line_of

MEMORY_SETS = ("boston", "wine", "kin8nm", "power", "naval", "protein")
METHODS = ("vadam", "vprop", "bbb_x1", "map", "mc_dropout_x1", "deep_ensemble", "sgld", "laplace",
           "pbp", "practical_vi", "bbb divergence=js", "vadam likelihood=heteroscedastic",
           "vadam loss=beta")  # fmt: skip
SHORT = ("search.iterations=2", "search.initial_points=2", "training.epochs=1",
         "training.final_epochs=1")  # fmt: skip

MEASURED = """
import json, resource, subprocess, sys
out = subprocess.run(sys.argv[1:], stdout=subprocess.PIPE, text=True, check=True).stdout
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(json.dumps([out.strip().splitlines()[-1], used.ru_utime + used.ru_stime, used.ru_maxrss]))
"""
"""A program that runs another and says its last line, its core seconds and its peak memory."""


@dataclass(frozen=True)
class Ran:
    """A command that is over.

    Attributes:
        wall: seconds.
        core: seconds of all its processes.
        first: seconds until the first unit was there.
        peak: GB of its largest process.
        folder: of its results.
    """

    wall: float
    core: float
    first: float
    peak: float
    folder: Path

    def table(self, name: str) -> pd.DataFrame:
        return pd.read_csv(self.folder / f"{name}.csv")


def bnnbench(*arguments: str, environment: Mapping[str, str] | None = None) -> Ran:
    """`bnnbench run` with some arguments, in a folder of its own that is empty."""
    command = [sys.executable, "-c", MEASURED, sys.executable, "-m", "bnnbench", "run", *arguments]
    began, clock = time.time(), time.perf_counter()
    given = {**os.environ, **(environment or {})}
    done = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True, env=given
    )
    wall = time.perf_counter() - clock
    line, core, peak = json.loads(done.stdout)
    folder = Path(line.split(": ", 1)[1])
    first = min(unit.stat().st_mtime for unit in (folder / "work").glob("*.json")) - began
    # Kilobytes on Linux, bytes on macOS.
    return Ran(wall, core, first, peak / (2**20 if sys.platform == "linux" else 2**30), folder)


def fresh(folder: Path) -> str:
    """Where a run has nothing to go on from."""
    shutil.rmtree(folder, ignore_errors=True)
    return f"outputs_dir={folder}"


def job_rows(outputs: Path) -> Iterator[Row]:
    """The main job, 20 splits: its core time against the loop's for as many network-epochs."""
    for device in ["cpu"] + ["cuda"] * torch.cuda.is_available():
        words = "method=vadam", "dataset=boston", f"device={device}"
        loop = loop_seconds(10)
        alone = bnnbench(*words, "workers=1", fresh(outputs / "job"))
        ran = bnnbench(*words, fresh(outputs / "job"))
        loop = min(loop, loop_seconds(10))
        search, splits = ran.table("search"), ran.table("splits")
        # Those of the search, of the out-of-fold predictions and of the final fits.
        trained = EPOCHS * (FOLDS * (len(search) + len(splits)) + len(splits))
        name = f"run method=vadam dataset=boston ({device})"
        yield {"what": name, "value": ran.wall, "unit": "s"}
        # Workers that share a core, as on some machines, take longer: the loop had it alone.
        for workers, one in ("", ran), (", one worker", alone):
            yield {
                "what": f"{name}{workers}, core time; the loop's",
                "value": one.core,
                "unit": "s",
                "ratio": loop * trained / one.core,
            }
        yield {"what": "until its first split was there", "value": ran.first, "unit": "s"}
        share = search["suggest_seconds"].sum() / splits["total_seconds"].sum()
        yield {"what": "of its splits' seconds, suggestions", "value": 100 * share, "unit": "%"}
        yield {"what": "its test RMSE", "value": splits["rmse"].mean(), "unit": "1000 USD"}


def start_rows(outputs: Path) -> Iterator[Row]:
    """A small run whose native code is there, and one that has to build it first."""
    words = ("dataset=diabetes", "splits=2", "workers=2", *SHORT)
    warm = min((bnnbench(*words, fresh(outputs / "start")) for _ in range(3)), key=_wall)
    with tempfile.TemporaryDirectory() as cache:
        cold = bnnbench(*words, fresh(outputs / "start"), environment={"XDG_CACHE_HOME": cache})
    yield {"what": "a run of next to nothing", "value": warm.wall, "unit": "s"}
    yield {"what": "a run of next to nothing, core time", "value": warm.core, "unit": "s"}
    yield {"what": "more of it without any cache", "value": cold.wall - warm.wall, "unit": "s"}


def sweep_rows() -> Iterator[Row]:
    """Composing the jobs of a sweep; Hydra composes each to check it and again to run it."""
    words = ["experiment=gvi_uci", "dataset=boston"]
    with initialised():
        clock = time.perf_counter()
        line = line_of(words, True)
        ours = time.perf_counter() - clock
    assert line is not None
    with initialize_config_dir(str(config_folder()), version_base="1.3"):
        clock = time.perf_counter()
        for job in line.jobs:
            compose(CONFIG_NAME, [*job.task])
        once = time.perf_counter() - clock
    yield {"what": "composing a job of a sweep", "value": 1000 * ours / len(line.jobs),
           "unit": "ms", "ratio": 2 * once / ours}  # fmt: skip


def _wall(ran: Ran) -> float:
    return ran.wall


def memory_rows(outputs: Path) -> Iterator[Row]:
    """Peak memory of one worker on each data set."""
    for dataset in MEMORY_SETS:
        words = (f"dataset={dataset}", "splits=[0]", "workers=1", *SHORT)
        ran = bnnbench(*words, fresh(outputs / "memory"))
        yield {"what": f"peak memory, {dataset}", "value": ran.peak, "unit": "GB"}


def method_rows(outputs: Path) -> Iterator[Row]:
    """Seconds of a split of Boston by method, and how much longer torch alone takes."""
    words = ("dataset=boston", "splits=[0]", "workers=1", "evaluation.out_of_fold=false")
    for method in METHODS:
        seconds = {}
        for switch in "01":
            ran = bnnbench(
                *f"method={method}".split(), *words, fresh(outputs / "methods"),
                environment={"BNNBENCH_NATIVE": switch},
            )  # fmt: skip
            seconds[switch] = ran.table("splits")["total_seconds"].sum()
        yield {"what": f"a split of Boston, {method}", "value": seconds["1"], "unit": "s",
               "ratio": seconds["0"] / seconds["1"]}  # fmt: skip
