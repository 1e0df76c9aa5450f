"""All methods with the settings of their YAML files, and their variants."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from functools import cache
from typing import Any

from omegaconf import OmegaConf

from bnnbench.config.configs import config_folder, options
from bnnbench.config.instantiate import instantiate, target_class
from bnnbench.methods.shared.contract import LEARNED, Method
from support.config import compose, compose_only

ESTIMATOR_KEYS = {"estimator", "options", "select_n_estimators", "virtual_ensembles"}
PRESET_KEYS = {"defaults", "label", "protocol", *ESTIMATOR_KEYS}


@dataclass(frozen=True)
class Case:
    """A method with settings.

    Attributes:
        option: option of `configs/method`.
        settings: overrides of its YAML file.
        likelihood: option of `configs/likelihood`.
        loss: option of `configs/loss`.
    """

    option: str
    settings: tuple[tuple[str, Any], ...] = ()
    likelihood: str = "gaussian"
    loss: str = "nll"

    def __str__(self) -> str:
        settings = (f"{name}={value}" for name, value in self.settings)
        return "-".join([self.option, *settings, self.likelihood, self.loss])

    @property
    def method(self) -> Method:
        return build_method(self)


FAST_SETTINGS: dict[str, dict[str, Any]] = {
    "boosting": {"quantiles": 3, "iterations": 5},
    "gp": {"kernel_rows": 40},
    "hmc": {"chains": 2, "max_leapfrogs": 20},
    "mile": {"chains": 2, "map_steps": 200},
    "sklearn": {"options": {"n_estimators": 3}},
}
"""Settings that make slow methods fast."""


@cache
def build_method(case: Case) -> Method:
    """Instantiate a case's method from its composed configuration."""
    config = compose(f"method={case.option}", f"likelihood={case.likelihood}")["method"]
    config.pop("protocol")
    config |= FAST_SETTINGS.get(case.option, {})
    method: Method = instantiate("method", {**config, **dict(case.settings)})
    if not takes_likelihood(type(method)):
        return method
    likelihood = replace(method.likelihood, loss=loss(case.loss))  # type: ignore[attr-defined]
    return replace(method, likelihood=likelihood)  # type: ignore[call-arg]


@cache
def loss(name: str) -> Any:
    """Instantiate an option of `configs/loss`."""
    return instantiate("loss", compose_only(f"loss={name}")["loss"])


@cache
def yaml_settings(option: str) -> dict[str, Any]:
    """Return the contents of a method's YAML file, without its defaults."""
    file = config_folder() / "method" / f"{option}.yaml"
    return OmegaConf.to_container(OmegaConf.load(file))  # type: ignore[return-value]


def base_option(option: str) -> str:
    """Return the option whose protocol a preset changes, or `option` if it is not a preset."""
    settings = yaml_settings(option)
    return str(settings["defaults"][0]) if settings.keys() <= PRESET_KEYS else option


@cache
def class_of(option: str) -> type[Method]:
    """Return the class of an option, or of the option that it extends."""
    settings = yaml_settings(option)
    if "_target_" in settings:
        return target_class("method", settings)
    return class_of(settings["defaults"][0])


def takes_likelihood(method: type[Method]) -> bool:
    """Return whether a method supports any likelihood and loss."""
    return "likelihood" in {field.name for field in fields(method)}


def likelihoods_of(case: Case) -> list[str]:
    """Return the options of `configs/likelihood` that a case supports."""
    settings = yaml_settings(case.option) | dict(case.settings)
    learns_noise = settings.get("noise_precision") == LEARNED
    if learns_noise or not takes_likelihood(class_of(case.option)):
        return ["gaussian"]
    return sorted(options("likelihood"))


METHODS = [option for option in sorted(options("method")) if base_option(option) == option]
PRESETS = [option for option in sorted(options("method")) if base_option(option) != option]
OF_LIBRARIES = [option for option in PRESETS if ESTIMATOR_KEYS & yaml_settings(option).keys()]
"""Presets of libraries that are optional extras."""


def plain_cases(option: str) -> list[Case]:
    """Return a method with the settings of its YAML file, and its variants."""
    variants = class_of(option).variants if "_target_" in yaml_settings(option) else ()
    return [Case(option), *(Case(option, tuple(v.items())) for v in variants)]


def cases() -> Iterator[Case]:
    """Yield all methods and variants; the first and last variants also heteroscedastic."""
    for option in METHODS:
        plain = plain_cases(option)
        yield from plain
        if takes_likelihood(class_of(option)):
            yield replace(plain[0], likelihood="heteroscedastic")
            yield replace(plain[-1], likelihood="heteroscedastic", loss="gamma")


@cache
def quick_cases() -> list[Case]:
    """Return the first of the `cases` of the option that names each class."""
    own = [case for case in cases() if "_target_" in yaml_settings(case.option)]
    return [*{class_of(case.option): case for case in reversed(own)}.values()]


def compiled_cases() -> dict[type[Method], Case]:
    """Return the last variant of each class with its own `update`, which covers the most code."""
    return {
        class_of(option): plain_cases(option)[-1]
        for option in reversed(METHODS)
        if "update" in vars(class_of(option))
    }


def depth_overrides(option: str) -> list[str]:
    """Return the overrides for a network that the method supports."""
    return ["depth=0"] if class_of(option).linear_only else []
