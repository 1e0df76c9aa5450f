"""Core time of training: the straightforward loop, the stack by torch, and native code."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from unittest.mock import patch

import torch
from torch import Tensor
from torch.utils.data import DataLoader, TensorDataset

from bnnbench.cpp.library import library
from bnnbench.methods.pbp import PBP
from bnnbench.methods.shared.contract import FitTask, Method
from bnnbench.methods.vadam import Vadam
from bnnbench.random_streams import Streams
from bnnbench.settings import Network, Training
from bnnbench.types import TrainingSet

FOLDS, ROWS, FEATURES = 5, 364, 13  # boston: 455 training rows, four fifths of them in a fold
SAMPLES, BATCH, EPOCHS = 10, 32, 40
NOISE, PRIOR, RATE, BETAS = 10.0, 1.0, 0.01, (0.9, 0.99)
SPLITS, SPLIT_ROWS = 20, 455
EAGER_PASSES = 4
AUTHORS_C_SECONDS = 3.0  # 20 Boston splits x 40 passes on one core of a machine like this one

Row = dict[str, str | float]
Work = Callable[[], object]


def data_like(rows: int = ROWS, features: int = FEATURES) -> TensorDataset:
    """Rows of a noisy function of three features, of which Boston has thirteen."""
    generator = torch.Generator().manual_seed(0)
    inputs = torch.randn(rows, features, generator=generator)
    targets = inputs[:, :3].sin().sum(1) + 0.3 * torch.randn(rows, generator=generator)
    return TensorDataset(inputs, targets)


def straightforward_epoch(data: TensorDataset) -> Work:
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


def stacked(data: TensorDataset, replicas: int = FOLDS) -> TrainingSet:
    """The same rows for every replica, all of one split."""
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
) -> Work:
    """Epochs of five folds in one stack: forty are one evaluation of the search."""
    hyper = {
        "noise_precision": torch.full((data.replicas, 1), NOISE),
        "prior_precision": torch.full((data.replicas, 1), PRIOR),
    }
    training = Training(epochs=epochs, batch_size=BATCH, samples=SAMPLES)
    chosen = method or Vadam(label="vadam")

    def fit() -> None:
        streams = Streams([1], data.groups)
        chosen.fit(FitTask(data, hyper, network or Network(), training, epochs, streams))

    return fit


@contextmanager
def without_native_code() -> Iterator[None]:
    """Everything by torch."""
    here = ("bnnbench.native.moments.available", "bnnbench.methods.pbp.available")
    with patch(here[0], lambda *_: False), patch(here[1], lambda *_: False):
        yield


def by_torch(work: Work) -> Work:
    """The same without native code."""

    def alone() -> None:
        with without_native_code():
            work()

    return alone


def compiled(work: Work) -> Work:
    """The same with the step that torch compiles, as one would have it without native code."""
    import torch._inductor.config as inductor

    inductor.compile_threads = 1
    update = torch.compile(Vadam.update, dynamic=False)

    def fused() -> None:
        with patch.object(Vadam, "update", update), without_native_code():
            work()

    return fused


def core_seconds(works: Mapping[str, Work], repeats: int) -> dict[str, float]:
    """Least core time of one call of each, after a warm-up; in turns, so that all meet the same."""
    least = dict.fromkeys(works, float("inf"))
    for repeat in range(repeats + 1):
        for name, work in works.items():
            began = time.process_time()
            work()
            if repeat:
                least[name] = min(least[name], time.process_time() - began)
    return least


def loop_seconds(repeats: int) -> float:
    """Of the loop, for one epoch of one network."""
    return core_seconds({"loop": straightforward_epoch(data_like())}, repeats)["loop"]


def training_rows(repeats: int) -> Iterator[Row]:
    """Core time per trained network-epoch, and what a native step gains over a compiled one."""
    data = data_like()
    fit = stacked_fit(stacked(data))
    stacks = {"eager": by_torch(fit), "compiled": compiled(fit)}
    if library().code:
        stacks["native"] = fit
    least = core_seconds({"loop": straightforward_epoch(data), **stacks}, repeats)
    loop = least.pop("loop")
    yield {"what": "loop, per network-epoch", "value": 1e3 * loop, "unit": "ms", "ratio": 1.0}
    for name, seconds in least.items():
        each = seconds / (FOLDS * EPOCHS)
        what = f"stacked, {name}, per network-epoch"
        yield {"what": what, "value": 1e3 * each, "unit": "ms", "ratio": loop / each}
    if "native" in least:
        steps = EPOCHS * math.ceil(ROWS / BATCH)
        yield {
            "what": "a step of five folds, compiled / native",
            "value": 1e6 * least["native"] / steps,
            "unit": "us",
            "ratio": least["compiled"] / least["native"],
        }


def pbp_rows(repeats: int) -> Iterator[Row]:
    """PBP on twenty data sets of Boston's shape in one stack, 40 passes.

    The ratio is eager seconds / native ones. The authors' C program is not part of this repository,
    so its ratio is with the seconds it took elsewhere.
    """
    inputs, targets = data_like(SPLIT_ROWS).tensors
    data = TrainingSet(
        inputs.expand(SPLITS, -1, -1).contiguous(), targets.expand(SPLITS, -1).contiguous(),
        (SPLIT_ROWS,) * SPLITS, tuple(range(SPLITS)),
    )  # fmt: skip

    def fit(passes: int) -> Work:
        streams = Streams(list(range(SPLITS)), data.groups)
        task = FitTask(data, {}, Network(), Training(), passes, streams)
        return lambda: PBP(label="pbp").fit(task)

    eager = core_seconds({"eager": by_torch(fit(EAGER_PASSES))}, 1)["eager"] * EPOCHS / EAGER_PASSES
    what = "PBP, 20 splits x 40 passes"
    yield {"what": f"{what}, eager", "value": eager, "unit": "s", "ratio": 1.0}
    if library().code is None:
        return
    native = core_seconds({"native": fit(EPOCHS)}, repeats)["native"]
    yield {"what": f"{what}, native", "value": native, "unit": "s", "ratio": eager / native}
    yield {
        "what": "PBP, the authors' C program, measured apart",
        "value": AUTHORS_C_SECONDS,
        "unit": "s",
        "ratio": AUTHORS_C_SECONDS / native,
    }
