"""Every method as its YAML has it, and with its variants."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from functools import cache
from typing import Any

from omegaconf import OmegaConf

from bnnbench.cli.configs import config_folder, options
from bnnbench.cli.make import make, target
from bnnbench.methods.shared.contract import LEARNT, Method
from support.config import compose, compose_only

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
    "hmc": {"chains": 2, "most_leapfrogs": 20},
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


@cache
def written(option: str) -> dict[str, Any]:
    """What a method's YAML itself says."""
    file = config_folder() / "method" / f"{option}.yaml"
    return OmegaConf.to_container(OmegaConf.load(file))  # type: ignore[return-value]


def base_of(option: str) -> str:
    """The option that a preset gives another protocol; itself for one that is no preset."""
    own = written(option)
    return str(own["defaults"][0]) if own.keys() <= OF_A_PRESET else option


@cache
def class_of(option: str) -> type[Method]:
    """The class that an option or the one that it builds on names."""
    own = written(option)
    return target("method", own) if "_target_" in own else class_of(own["defaults"][0])


def takes_likelihood(method: type[Method]) -> bool:
    """Whether it is made for any likelihood and loss."""
    return "likelihood" in {field.name for field in fields(method)}


def likelihoods_of(case: Case) -> list[str]:
    """The options of `configs/likelihood` that a case takes: noise is learnt where there is one."""
    settings = written(case.option) | dict(case.settings)
    one = settings.get("noise_precision") == LEARNT or not takes_likelihood(class_of(case.option))
    return ["gaussian"] if one else sorted(options("likelihood"))


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


def depth_of(option: str) -> list[str]:
    """What has to follow `method=OPTION` for a network that the method takes."""
    return ["depth=0"] if class_of(option).linear_only else []
