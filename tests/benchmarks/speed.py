"""Speed and memory, as ratios within one run: `make bench`.

Compares the stacked program with the straightforward loop (one network, one weight sample at a
time, `torch.nn`, autograd and a DataLoader), times the whole main job, and measures each data
set's peak memory. Writes `outputs/bench/speed.md` and `speed.csv`.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pandas as pd
import torch
from torch import Tensor
from torch.utils.data import DataLoader, TensorDataset

from bnnbench.methods.pbp import PBP
from bnnbench.methods.shared import compilation
from bnnbench.methods.shared.contract import FitTask
from bnnbench.methods.vadam import Vadam
from bnnbench.native import moments
from bnnbench.native.library import library
from bnnbench.random_streams import Streams
from bnnbench.settings import Network, Training
from bnnbench.types import TrainingSet

FOLDS, ROWS, FEATURES = 5, 364, 13  # boston: 455 training rows, four fifths of them in a fold
SAMPLES, BATCH, EPOCHS = 10, 32, 40
NOISE, PRIOR, RATE, BETAS = 10.0, 1.0, 0.01, (0.9, 0.99)
MEMORY_SETS = ("boston", "wine", "kin8nm", "power", "naval", "protein")
EAGER_PASSES = 4
AUTHORS_C_SECONDS = 3.0  # 20 Boston splits x 40 passes on one core of a machine like this one
Row = dict[str, str | float]


def boston_like() -> TensorDataset:
    generator = torch.Generator().manual_seed(0)
    inputs = torch.randn(ROWS, FEATURES, generator=generator)
    targets = inputs[:, :3].sin().sum(1) + 0.3 * torch.randn(ROWS, generator=generator)
    return TensorDataset(inputs, targets)


def straightforward_epoch(data: TensorDataset) -> Callable[[], None]:
    """One epoch of Vadam on one network, a weight sample at a time, as one would write it first."""
    network = torch.nn.Sequential(
        torch.nn.Linear(FEATURES, 50), torch.nn.ReLU(), torch.nn.Linear(50, 1)
    )
    weights = list(network.parameters())
    loc = [w.detach().clone() for w in weights]
    momentum = [torch.zeros_like(w) for w in weights]
    square = [torch.zeros_like(w) for w in weights]
    loader = DataLoader(data, batch_size=BATCH, shuffle=True)
    steps = 0

    def step(inputs: Tensor, targets: Tensor) -> None:
        nonlocal steps
        steps += 1
        mean = [torch.zeros_like(w) for w in weights]
        mean_square = [torch.zeros_like(w) for w in weights]
        for _ in range(SAMPLES):
            for w, m, s in zip(weights, loc, square, strict=True):
                w.data = m + torch.randn_like(m) / torch.sqrt(ROWS * s + PRIOR)
                w.grad = None
            loss = 0.5 * NOISE * (network(inputs)[:, 0] - targets).square().mean()
            loss.backward()
            for w, g, g2 in zip(weights, mean, mean_square, strict=True):
                assert w.grad is not None
                g.add_(w.grad / SAMPLES)
                g2.add_(w.grad.square() / SAMPLES)
        for m, first, s, g, g2 in zip(loc, momentum, square, mean, mean_square, strict=True):
            first.mul_(BETAS[0]).add_((1 - BETAS[0]) * (g + PRIOR / ROWS * m))
            s.mul_(BETAS[1]).add_((1 - BETAS[1]) * g2)
            scale = torch.sqrt(s / (1 - BETAS[1] ** steps)) + PRIOR / ROWS
            m.sub_(RATE * first / (1 - BETAS[0] ** steps) / scale)

    def epoch() -> None:
        for inputs, targets in loader:
            step(inputs, targets)

    return epoch


def stacked_fit(data: TensorDataset, fuse: bool) -> Callable[[], None]:
    """Forty epochs of the five folds in one stack, as one evaluation of the search trains them."""
    inputs, targets = data.tensors
    stacked = TrainingSet(
        inputs.expand(FOLDS, -1, -1).contiguous(),
        targets.expand(FOLDS, -1).contiguous(),
        (ROWS,) * FOLDS,
        (0,) * FOLDS,
    )
    hyper = {
        "noise_precision": torch.full((FOLDS, 1), NOISE),
        "prior_precision": torch.full((FOLDS, 1), PRIOR),
    }
    training = Training(epochs=EPOCHS, batch_size=BATCH, samples=SAMPLES)

    def fit() -> None:
        streams = Streams([1], stacked.groups)
        task = FitTask(stacked, hyper, Network(), training, EPOCHS, streams, fuse)
        Vadam(label="vadam").fit(task)

    return fit


def by_torch(work: Callable[[], None]) -> Callable[[], None]:
    """The same without native code."""

    def alone() -> None:
        available = moments.available
        moments.available = lambda like: False
        try:
            work()
        finally:
            moments.available = available

    return alone


def core_seconds(works: Mapping[str, Callable[[], None]], repeats: int) -> dict[str, float]:
    """Least core time of one call of each, after a warm-up; in turns, so that all meet the same."""
    least = dict.fromkeys(works, float("inf"))
    for repeat in range(repeats + 1):
        for name, work in works.items():
            began = time.process_time()
            work()
            if repeat:
                least[name] = min(least[name], time.process_time() - began)
    return least


def training_rows(repeats: int) -> Iterator[Row]:
    """Core time per trained network-epoch."""
    data = boston_like()
    stacks = {"eager": by_torch(stacked_fit(data, fuse=False))}
    if compilation.available():
        stacks["compiled"] = by_torch(stacked_fit(data, fuse=True))
    if library().code:
        stacks["native"] = stacked_fit(data, fuse=False)
    least = core_seconds({"loop": straightforward_epoch(data), **stacks}, repeats)
    loop = least.pop("loop")
    yield {"what": "loop, per network-epoch", "value": 1e3 * loop, "unit": "ms", "ratio": 1.0}
    for name, seconds in least.items():
        each = seconds / (FOLDS * EPOCHS)
        what = f"stacked, {name}, per network-epoch"
        yield {"what": what, "value": 1e3 * each, "unit": "ms", "ratio": loop / each}
    if {"compiled", "native"} <= least.keys():
        steps = EPOCHS * math.ceil(ROWS / BATCH)
        yield {
            "what": "a step of five folds, compiled / native",
            "value": 1e6 * least["native"] / steps,
            "unit": "us",
            "ratio": least["compiled"] / least["native"],
        }


def pbp_rows() -> Iterator[Row]:
    """PBP on twenty data sets of Boston's shape in one stack, 40 passes, compiled and not.

    The ratio is eager seconds / compilation. The authors' C program is not part of this repository,
    so its ratio is with the seconds it took elsewhere.
    """
    splits, rows = 20, 455
    generator = torch.Generator().manual_seed(0)
    inputs = torch.randn(splits, rows, FEATURES, generator=generator)
    data = TrainingSet(
        inputs, inputs[..., :3].sin().sum(-1), (rows,) * splits, tuple(range(splits))
    )

    def fit(epochs: int, compile_: str) -> float:
        streams, method = (
            Streams(list(range(splits)), data.groups),
            PBP(label="pbp", compile=compile_),
        )
        began = time.perf_counter()
        method.fit(FitTask(data, {}, Network(), Training(), epochs, streams))
        return time.perf_counter() - began

    first, second = fit(EPOCHS, "always"), fit(EPOCHS, "always")
    eager = fit(EAGER_PASSES, "never") * EPOCHS / EAGER_PASSES
    what = "PBP, 20 splits x 40 passes"
    yield {"what": f"{what}, eager", "value": eager, "unit": "s", "ratio": 1.0}
    yield {"what": f"{what}, compiled", "value": second, "unit": "s", "ratio": eager / second}
    yield {"what": "PBP, building its compiled update", "value": first - second, "unit": "s"}
    yield {
        "what": "PBP, the authors' C program, measured apart",
        "value": AUTHORS_C_SECONDS,
        "unit": "s",
        "ratio": AUTHORS_C_SECONDS / second,
    }


def bnnbench(*arguments: str) -> tuple[float, float, str]:
    """Wall seconds, peak memory in GB of the largest process, and the results folder."""
    code = (
        "import json, resource, subprocess, sys; "
        "out = subprocess.run(sys.argv[1:], capture_output=True, text=True, check=True).stdout; "
        "print(json.dumps([out.strip().splitlines()[-1],"
        " resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss]))"
    )
    command = [sys.executable, "-c", code, sys.executable, "-m", "bnnbench", "run", *arguments]
    began = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    wall = time.perf_counter() - began
    line, peak = json.loads(done.stdout)
    # Kilobytes on Linux, bytes on macOS.
    return wall, peak / (2**20 if sys.platform == "linux" else 2**30), line.split(": ", 1)[1]


def main_job_rows(outputs: Path, device: str) -> Iterator[Row]:
    """The whole command, start-up included, and the search's overhead in it."""
    shutil.rmtree(outputs / "main", ignore_errors=True)
    wall, _, folder = bnnbench(
        "method=vadam", "dataset=boston", f"device={device}", f"outputs_dir={outputs / 'main'}"
    )
    search = pd.read_csv(Path(folder) / "search.csv")
    splits = pd.read_csv(Path(folder) / "splits.csv")
    overhead = search["suggest_seconds"].sum() / splits["total_seconds"].sum()
    name = f"run method=vadam dataset=boston ({device})"
    yield {"what": name, "value": wall, "unit": "s", "ratio": float("nan")}
    yield {"what": "of which suggestions", "value": 100 * overhead, "unit": "%"}
    yield {"what": "test RMSE", "value": splits["rmse"].mean(), "unit": "1000 USD"}


def memory_rows(outputs: Path) -> Iterator[Row]:
    """Peak memory of one worker on each data set."""
    short = ["search.iterations=2", "search.initial_points=2", "training.epochs=1"]
    for dataset in MEMORY_SETS:
        shutil.rmtree(outputs / "memory", ignore_errors=True)
        _, peak, _ = bnnbench(
            f"dataset={dataset}", "splits=[0]", "workers=1", "training.final_epochs=1", *short,
            f"outputs_dir={outputs / 'memory'}",
        )  # fmt: skip
        yield {"what": f"peak memory, {dataset}", "value": peak, "unit": "GB"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--outputs", type=Path, default=Path("outputs/bench"))
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--no-runs", action="store_true", help="training steps only")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)
    rows = [*training_rows(arguments.repeats), *pbp_rows()]
    if not arguments.no_runs:
        for device in ["cpu"] + ["cuda"] * torch.cuda.is_available():
            rows += main_job_rows(arguments.outputs, device)
        rows += memory_rows(arguments.outputs)
    table = pd.DataFrame(rows)
    arguments.outputs.mkdir(parents=True, exist_ok=True)
    table.to_csv(arguments.outputs / "speed.csv", index=False)
    shown = table.astype(object).where(table.notna(), None)
    text = shown.to_markdown(index=False, floatfmt=".3g", missingval="")
    cores, load = os.cpu_count(), os.getloadavg()[0]
    note = f"{cores} cores, load {load:.1f}, torch {torch.__version__}; ratio: the slow way / ours."
    (arguments.outputs / "speed.md").write_text(f"{text}\n\n{note}\n")
    print(text, note, sep="\n\n")


if __name__ == "__main__":
    main()
