"""Core time of training: a straightforward loop, stacks with torch, and native code."""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any
from unittest.mock import patch

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import DataLoader, TensorDataset

from bnnbench.cpp.library import library
from bnnbench.methods.pbp import PBP
from bnnbench.methods.shared.contract import FitTask, Method
from bnnbench.methods.tagi import TAGI
from bnnbench.methods.vadam import Vadam
from bnnbench.native.networks import NativeTrainer
from bnnbench.random_streams import Streams
from bnnbench.settings import Network, Training
from bnnbench.types import TrainingSet

FOLDS, ROWS, FEATURES = 5, 364, 13  # boston: 455 training rows, four fifths of them per fold
WIDTH = 50  # hidden units
SAMPLES, BATCH, EPOCHS = 10, 32, 40
NOISE, PRIOR, RATE, BETAS = 10.0, 1.0, 0.01, (0.9, 0.99)
SPLITS, SPLIT_ROWS = 20, 455
EAGER_PASSES = 4
TAGI_BATCH, TAGI_EPOCHS = 10, 13
TAGI_SHAPES = {"boston": (SPLIT_ROWS, FEATURES), "kin8nm": (7373, 8)}  # training rows and inputs
AUTHORS_C_SECONDS = 3.0  # 20 Boston splits x 40 passes on one core of a similar machine

Row = dict[str, str | float]
Workload = Callable[[], object]


def synthetic_data(rows: int = ROWS, features: int = FEATURES) -> TensorDataset:
    """Return rows of a noisy function of the first three features."""
    generator = torch.Generator().manual_seed(0)
    inputs = torch.randn(rows, features, generator=generator)
    targets = inputs[:, :3].sin().sum(1) + 0.3 * torch.randn(rows, generator=generator)
    return TensorDataset(inputs, targets)


def naive_epoch(data: TensorDataset) -> Workload:
    """Return one epoch of Vadam on one network, with a loop over weight samples."""
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


def replicate(data: TensorDataset, replicas: int = FOLDS) -> TrainingSet:
    """Return a stack of replicas that share the same rows."""
    inputs, targets = data.tensors
    return TrainingSet(
        inputs.expand(replicas, -1, -1).contiguous(),
        targets.expand(replicas, -1).contiguous(),
        (len(targets),) * replicas,
        (0,) * replicas,
    )


def stacked_fit(
    data: TrainingSet,
    network: Network | None = None,
    epochs: int = EPOCHS,
    method: Method | None = None,
    batch: int = BATCH,
) -> Workload:
    """Return the fit of a stack; 40 epochs of five folds are one evaluation of the search."""
    hyper = {
        "noise_precision": torch.full((data.replicas, 1), NOISE),
        "prior_precision": torch.full((data.replicas, 1), PRIOR),
    }
    training = Training(epochs=epochs, batch_size=batch, samples=SAMPLES)
    chosen = method or Vadam(label="vadam")

    def fit() -> None:
        streams = Streams([1], data.groups)
        chosen.fit(FitTask(data, hyper, network or Network(), training, epochs, streams))

    return fit


@contextmanager
def without_native_code() -> Iterator[None]:
    """Use torch instead of native code."""
    modules = ("native.networks", "methods.pbp", "methods.tagi")
    with ExitStack() as stack:
        for module in modules:
            stack.enter_context(patch(f"bnnbench.{module}.has_native_code", lambda *_: False))
        yield


def without_native(workload: Workload) -> Workload:
    """Return the workload without native code."""

    def run() -> None:
        with without_native_code():
            workload()

    return run


def torch_compiled(workload: Workload) -> Workload:
    """Return the workload with `torch.compile` instead of native code."""
    import torch._inductor.config as inductor

    inductor.compile_threads = 1
    update = torch.compile(Vadam.update, dynamic=False)

    def run() -> None:
        with patch.object(Vadam, "update", update), without_native_code():
            workload()

    return run


def core_seconds(workloads: Mapping[str, Workload], repeats: int) -> dict[str, float]:
    """Return the minimum core time of each workload, run in turn after a warm-up."""
    minima = dict.fromkeys(workloads, float("inf"))
    for repeat in range(repeats + 1):
        for name, workload in workloads.items():
            started = time.process_time()
            workload()
            if repeat:
                minima[name] = min(minima[name], time.process_time() - started)
    return minima


def loop_seconds(repeats: int) -> float:
    """Return the core time of the loop for one epoch of one network."""
    return core_seconds({"loop": naive_epoch(synthetic_data())}, repeats)["loop"]


def training_rows(repeats: int) -> Iterator[Row]:
    """Measure core time per network-epoch, and the speed-up of native over compiled steps."""
    data = synthetic_data()
    fit = stacked_fit(replicate(data))
    stacks = {"eager": without_native(fit), "compiled": torch_compiled(fit)}
    if library().code:
        stacks["native"] = fit
    minima = core_seconds({"loop": naive_epoch(data), **stacks}, repeats)
    loop = minima.pop("loop")
    yield {
        "measurement": "loop, per network-epoch",
        "value": 1e3 * loop,
        "unit": "ms",
        "ratio": 1.0,
    }
    for name, seconds in minima.items():
        epoch = seconds / (FOLDS * EPOCHS)
        label = f"stacked, {name}, per network-epoch"
        yield {"measurement": label, "value": 1e3 * epoch, "unit": "ms", "ratio": loop / epoch}
    if "native" in minima:
        steps = EPOCHS * math.ceil(ROWS / BATCH)
        yield {
            "measurement": "one step of five folds, compiled / native",
            "value": 1e6 * minima["native"] / steps,
            "unit": "us",
            "ratio": minima["compiled"] / minima["native"],
        }


def floating_point_operations(features: int, width: int) -> int:
    """Return the operations of a gradient, per row, of a network with one hidden layer."""
    hidden, head = (features + 1) * width, width + 1
    return 2 * (2 * hidden + 2 * head) + 2 * width


def product_speed(repeats: int, size: int = 256) -> float:
    """Return the speed of numpy's product of matrices in single precision, in operations/s."""
    matrix = np.random.default_rng(0).random((size, size), np.float32)
    products = 20
    run = {"products": lambda: [matrix @ matrix for _ in range(products)]}
    return 2 * size**3 * products / core_seconds(run, 5 * repeats)["products"]


def step_seconds(fit: Workload, repeats: int) -> float:
    """Return the least core time that a fit spends in native steps."""
    train_epochs, spent = NativeTrainer.train_epochs, [0.0]

    def timed(trainer: NativeTrainer, *arguments: Any) -> None:
        started = time.thread_time()
        train_epochs(trainer, *arguments)
        spent[-1] += time.thread_time() - started

    with patch.object(NativeTrainer, "train_epochs", timed):
        for _ in range(5 * repeats):
            fit()
            spent.append(0.0)
    return min(spent[:-1])


def kernel_rows(repeats: int) -> Iterator[Row]:
    """Measure native steps of Vadam, which include random numbers and the update.

    The ratio is their speed over that of numpy's product of matrices.
    """
    if library().code is None:
        return
    speed = product_speed(repeats)
    for features in (13, 8):
        data = synthetic_data(features=features)
        for batch, folds in itertools.product((32, 128), (FOLDS, 1)):
            fit = stacked_fit(replicate(data, folds), epochs=EPOCHS // 4, batch=batch)
            rows = ROWS * folds * SAMPLES * (EPOCHS // 4)
            operations = rows * floating_point_operations(features, WIDTH)
            found = operations / step_seconds(fit, repeats)
            stack = "five folds" if folds == FOLDS else "one network"
            yield {
                "measurement": f"native steps, {features}-{WIDTH}-1, {stack}, batch {batch}",
                "value": found / 1e9,
                "unit": "GFLOP/s",
                "ratio": found / speed,
            }


def pbp_rows(repeats: int) -> Iterator[Row]:
    """Measure 40 passes of PBP on 20 data sets of Boston's shape in one stack.

    Ratios are speed-ups of native code. The authors' C program is not part of this repository; its
    time was measured separately.
    """
    inputs, targets = synthetic_data(SPLIT_ROWS).tensors
    data = TrainingSet(
        inputs.expand(SPLITS, -1, -1).contiguous(), targets.expand(SPLITS, -1).contiguous(),
        (SPLIT_ROWS,) * SPLITS, tuple(range(SPLITS)),
    )  # fmt: skip

    def fit(passes: int) -> Workload:
        streams = Streams(list(range(SPLITS)), data.groups)
        task = FitTask(data, {}, Network(), Training(), passes, streams)
        return lambda: PBP(label="pbp").fit(task)

    eager = (
        core_seconds({"eager": without_native(fit(EAGER_PASSES))}, 1)["eager"]
        * EPOCHS
        / EAGER_PASSES
    )
    label = "PBP, 20 splits x 40 passes"
    yield {"measurement": f"{label}, eager", "value": eager, "unit": "s", "ratio": 1.0}
    if library().code is None:
        return
    native = core_seconds({"native": fit(EPOCHS)}, repeats)["native"]
    yield {"measurement": f"{label}, native", "value": native, "unit": "s", "ratio": eager / native}
    yield {
        "measurement": "PBP, the authors' C program (measured separately)",
        "value": AUTHORS_C_SECONDS,
        "unit": "s",
        "ratio": AUTHORS_C_SECONDS / native,
    }


def tagi_rows(repeats: int) -> Iterator[Row]:
    """Measure a step of TAGI on one split, with and without predicted noise.

    Ratios are speed-ups of native code.
    """
    for name, (rows, features) in TAGI_SHAPES.items():
        data = replicate(synthetic_data(rows, features), 1)
        epochs = max(1, TAGI_EPOCHS * SPLIT_ROWS // rows)
        steps = epochs * math.ceil(rows / TAGI_BATCH)
        training = Training(batch_size=TAGI_BATCH)
        for predicts_noise in (False, True):
            method = TAGI(label="tagi", predicts_noise=predicts_noise)
            hyper = {} if predicts_noise else {"noise_precision": torch.full((1, 1), NOISE)}
            task = FitTask(data, hyper, Network(), training, epochs, Streams([1], data.groups))
            fit = partial(method.fit, task)
            workloads = {"eager": without_native(fit)}
            if library().code:
                workloads["native"] = fit
            minima = core_seconds(workloads, repeats)
            for label, seconds in minima.items():
                noise = "predicted noise, " if predicts_noise else ""
                yield {
                    "measurement": f"one step of TAGI, {name}, {noise}{label}",
                    "value": 1e6 * seconds / steps,
                    "unit": "us",
                    "ratio": minima["eager"] / seconds,
                }
