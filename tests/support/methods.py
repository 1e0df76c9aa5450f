"""Every method as its YAML has it, with its variants, and a small stack of replicas to fit."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from functools import cache
from typing import Any

import torch
from omegaconf import OmegaConf

from bnnbench.cli.configs import config_folder, options
from bnnbench.cli.make import make, target
from bnnbench.methods.shared.contract import FitTask, Method, Posterior
from bnnbench.random_streams import Streams
from bnnbench.settings import Network, Training
from bnnbench.types import Hyper, Prediction, TrainingSet
from support.config import compose, compose_only

HYPER = {"noise_precision": 5.0, "prior_precision": 0.7, "dropout": 0.2}
SEEDS = [11, 12]
GROUPS = (0, 0, 1)
COUNTS = (20, 17, 16)  # with batches of 8: three, three and two minibatches an epoch
OF_A_PRESET = {"defaults", "label", "summary", "protocol"}


@dataclass(frozen=True)
class Case:
    """A method to hold to the contract.

    Attributes:
        option: of `configs/method`.
        settings: besides those of its YAML.
        likelihood: of `configs/likelihood`.
        loss: of `configs/loss`.
    """

    option: str
    settings: tuple[tuple[str, Any], ...] = ()
    likelihood: str = "gaussian"
    loss: str = "nll"

    def __str__(self) -> str:
        chosen = (f"{name}={value}" for name, value in self.settings)
        return "-".join([self.option, *chosen, self.likelihood, self.loss])

    @property
    def method(self) -> Method:
        """The method itself."""
        return built(self)


SMALLER: dict[str, dict[str, Any]] = {
    "boosting": {"quantiles": 3, "iterations": 5},
    "gp": {"kernel_rows": 40},
}
"""Settings with which a method is itself, and quick."""


@cache
def built(case: Case) -> Method:
    """A case's method, from its composed configuration."""
    config = compose(f"method={case.option}", f"likelihood={case.likelihood}")["method"]
    config.pop("protocol")
    config |= SMALLER.get(case.option, {})
    method: Method = make("method", {**config, **dict(case.settings)})
    if not takes_likelihood(type(method)):
        return method
    own = replace(method.likelihood, loss=loss(case.loss))  # type: ignore[attr-defined]
    return replace(method, likelihood=own)  # type: ignore[call-arg]


@cache
def loss(name: str) -> Any:
    """An option of `configs/loss`."""
    return make("loss", compose_only(f"loss={name}")["loss"])


def written(option: str) -> dict[str, Any]:
    """What a method's YAML itself says."""
    file = config_folder() / "method" / f"{option}.yaml"
    return OmegaConf.to_container(OmegaConf.load(file))  # type: ignore[return-value]


def base_of(option: str) -> str:
    """The option that a preset gives another protocol; itself for one that is no preset."""
    own = written(option)
    return str(own["defaults"][0]) if own.keys() <= OF_A_PRESET else option


def class_of(option: str) -> type[Method]:
    """The class that an option or the one that it builds on names."""
    own = written(option)
    return target("method", own) if "_target_" in own else class_of(own["defaults"][0])


def takes_likelihood(method: type[Method]) -> bool:
    """Whether it is made for any likelihood and loss."""
    return "likelihood" in {field.name for field in fields(method)}


METHODS = [option for option in sorted(options("method")) if base_of(option) == option]
PRESETS = [option for option in sorted(options("method")) if base_of(option) != option]


def plain_cases(option: str) -> list[Case]:
    """The method as its YAML has it, and its variants."""
    variants = class_of(option).variants if "_target_" in written(option) else ()
    return [Case(option), *(Case(option, tuple(v.items())) for v in variants)]


def cases() -> Iterator[Case]:
    """Every method and variant, with the other likelihood too for the first and the last."""
    for option in METHODS:
        plain = plain_cases(option)
        yield from plain
        if takes_likelihood(class_of(option)):
            yield replace(plain[0], likelihood="heteroscedastic")
            yield replace(plain[-1], likelihood="heteroscedastic", loss="gamma")


def programs() -> dict[type[Method], Case]:
    """Of each class with a step of its own the last variant, which has the most to it."""
    return {
        class_of(option): plain_cases(option)[-1]
        for option in reversed(METHODS)
        if "update" in vars(class_of(option))
    }


def network_of(method: Method, width: int) -> Network:
    """One hidden layer where the method takes any."""
    return Network(depth=0) if method.linear_only else Network(width=width)


def depth_of(option: str) -> list[str]:
    """What has to follow `method=OPTION` for a network that the method takes."""
    return ["depth=0"] if class_of(option).linear_only else []


def training_set() -> TrainingSet:
    """Three replicas, the first two of one group, of different numbers of rows."""
    generator = torch.Generator().manual_seed(3)
    inputs = torch.randn(3, 20, 2, generator=generator, dtype=torch.float64)
    targets = inputs[..., 0].sin() + 0.1 * torch.randn(
        3, 20, generator=generator, dtype=torch.float64
    )
    real = torch.arange(20) < torch.tensor(COUNTS)[:, None]
    return TrainingSet(inputs * real[..., None], targets * real, COUNTS, GROUPS)


def hyper_of(method: Method, replicas: int) -> Hyper:
    """A column for each of its hyper-parameters."""
    return {name: torch.full((replicas, 1), HYPER[name]).double() for name in method.hyper_names}


def small_task(
    method: Method,
    data: TrainingSet,
    seeds: list[int] = SEEDS,
    *,
    epochs: int = 4,
    compile: bool = False,
    trace: Streams | None = None,
) -> FitTask:
    """Four epochs of minibatches of 8."""
    training = Training(batch_size=8, samples=3, dtype="float64")
    streams = Streams(seeds, data.groups, dtype=torch.float64)
    hyper = hyper_of(method, data.replicas)
    network = network_of(method, 5)
    return FitTask(data, hyper, network, training, epochs, streams, compile, trace=trace)


def predict(
    method: Method, posterior: Posterior, data: TrainingSet, seeds: list[int] = SEEDS
) -> Prediction:
    """Of the first six rows, with 7 samples."""
    streams = Streams([seed + 100 for seed in seeds], data.groups, dtype=torch.float64)
    return method.predict(posterior, data.inputs[:, :6], 7, streams)
