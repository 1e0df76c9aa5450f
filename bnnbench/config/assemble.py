"""Assembles runs from composed configurations and checks them before anything is written."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import fields
from functools import cache
from typing import Any

from bnnbench.config.compose import Job
from bnnbench.config.configs import GROUPS, config_folder, read_option
from bnnbench.config.errors import not_a_mapping
from bnnbench.config.instantiate import (
    Config,
    check_type,
    instantiate,
    instantiate_from_groups,
    target_class,
)
from bnnbench.constraints import check_choice, check_folder, check_name
from bnnbench.experiment.base import Experiment
from bnnbench.experiment.engines.base import EngineSettings
from bnnbench.experiment.engines.local import Local
from bnnbench.experiment.run import Run
from bnnbench.notes import note
from bnnbench.types import DuplicateConfiguration, UserError

DEFAULTS = {"divergence": "kl", "prior": "gaussian", "likelihood": "gaussian", "loss": "nll"}
"""The options that every method accepts."""

GROUPS_WITH_PUBLISHED_VALUES = ("method", "dataset", "divergence")
"""Groups whose names identify published values in result tables."""

SECTIONS = ("network", "training", "evaluation")
"""Sections of the configuration that are not config groups."""

KEYS_BY_HYPERPARAMETER = ("bounds", "fixed", "fixed_original_units")
"""Settings of a `protocol` that map hyper-parameters to values."""


def check_groups(config: Config) -> None:
    """Reject groups that are not mappings, and labels that cannot be folder names."""
    for group in (*GROUPS, *SECTIONS):
        settings = config.get(group, {})
        _check_mapping(group, settings)
        for key in {"label", "name"} & settings.keys():
            check_name(f"{group}.{key}", settings[key])
        protocol = settings.get("protocol", {})
        _check_mapping(f"{group}.protocol", protocol)
        for key in KEYS_BY_HYPERPARAMETER:
            if protocol.get(key) is not None:
                _check_mapping(f"{group}.protocol.{key}", protocol[key])
        for key in ("_target_", "label") if group in ("experiment", "method") else ():
            if key not in settings:
                raise UserError(f"{group}.{key} is missing.", f"{group}.{key}", "missing")
        if group in GROUPS_WITH_PUBLISHED_VALUES:
            _check_name_not_taken(group, settings)


def _check_mapping(key: str, value: object) -> None:
    if not isinstance(value, Mapping):
        raise not_a_mapping(key, value)


def _check_name_not_taken(group: str, settings: Mapping[str, Any]) -> None:
    """Reject an external class with one of our names, which published values refer to."""
    key = "name" if "name" in settings else "label"
    taken = (config_folder() / group / f"{settings.get(key)}.yaml").is_file()
    if taken and not str(settings.get("_target_", "bnnbench.")).startswith("bnnbench."):
        raise UserError(
            f"{group}.{key}={settings[key]} is the name of a {group} of bnnbench; give "
            f"{settings['_target_']} another name.",
            f"{group}.{key}",
            "name_taken",
        )


def check_method_components(groups: Mapping[str, Any], method: type) -> None:
    """Reject components that are invalid or that the method does not accept.

    They are checked before the method that holds them, so that errors name `divergence.alpha`
    rather than `method.divergence.alpha`.

    Raises:
        DuplicateConfiguration: if the method has no choice of divergence or prior.
        UserError: for anything else.
    """
    label, names = groups["method"]["label"], {field.name for field in fields(method)}
    given = groups["divergence"].get("prior")
    prior = given.get("label") if isinstance(given, Mapping) else DEFAULTS["prior"]
    if "divergence" not in names and prior != DEFAULTS["prior"]:
        raise DuplicateConfiguration(
            f"method={label} does not accept prior={prior}, only a Gaussian prior; use method=bbb.",
            "prior",
            "not_accepted",
        )
    divergence = _divergence_name(groups["divergence"])
    if "divergence" not in names and divergence != DEFAULTS["divergence"]:
        raise DuplicateConfiguration(
            f"method={label} does not accept a divergence, but {divergence} is chosen; use "
            "method=bbb.",
            "divergence",
            "not_accepted",
        )
    model = {name: instantiate(name, groups[name]).label for name in ("loss", "likelihood")}
    if "likelihood" not in names and any(model[name] != DEFAULTS[name] for name in model):
        raise UserError(
            f"method={label} needs likelihood=gaussian and loss=nll, not "
            f"likelihood={model['likelihood']} and loss={model['loss']}.",
            "likelihood",
            "not_accepted",
        )
    _check_passed_to_method(
        groups["method"],
        names,
        {
            "divergence": divergence != DEFAULTS["divergence"] or prior != DEFAULTS["prior"],
            "likelihood": any(model[name] != DEFAULTS[name] for name in model),
        },
    )


def _divergence_name(settings: Mapping[str, Any]) -> str:
    """Return the name of a divergence; the default one is not created, since few methods use it."""
    default = {group: read_option(group, DEFAULTS[group]) for group in ("divergence", "prior")}
    if settings == {**default["divergence"], "prior": default["prior"]}:
        return DEFAULTS["divergence"]
    from bnnbench.divergences.base import Divergence

    divergence = instantiate("divergence", settings)
    check_type("divergence", divergence, Divergence)
    return str(divergence.name)


def _check_passed_to_method(
    settings: Mapping[str, Any], names: Collection[str], not_default: Mapping[str, bool]
) -> None:
    """Reject a choice that the YAML file of the method does not pass on to it.

    Args:
        settings: of the method.
        names: of its fields.
        not_default: by component, whether the choice differs from the default.
    """
    for component, chosen in not_default.items():
        if chosen and component in names and component not in settings:
            raise UserError(
                f"method={settings['label']} does not receive the chosen {component}: add the "
                f"line {component}: ${{{component}}} to its YAML file.",
                component,
                "not_passed_on",
            )


EXECUTION_KEYS = (
    "outputs_dir",
    "workers",
    "resume",
    "figures",
    "data_dir",
    "experiment",
    "protocol",
    "device",
    "engine",
)
"""Keys that apply to every experiment: where and how it runs."""

NESTED_GROUPS = {
    "method": ("divergence", "prior", "likelihood", "loss"),
    "network": ("depth",),
}
"""Groups that are part of a field of an experiment, by field."""


def make_engine(config: Config) -> EngineSettings:
    """Instantiate the chosen engine.

    Raises:
        UserError: if one of its settings is wrong.
    """
    engine = instantiate("engine", config["engine"])
    if not isinstance(engine, EngineSettings):
        raise UserError(
            f"engine._target_ must name an engine, not {type(engine).__name__}.",
            "engine._target_",
            "wrong_type",
        )
    return engine


def pick_device(name: Any, engine: EngineSettings) -> str:
    """Return `cpu` or `cuda`.

    Args:
        name: one of them or `auto`.
        engine: whose machines compute.

    Raises:
        UserError: if CUDA is not available here.
    """
    import torch

    check_choice("device.name", name, ("auto", "cpu", "cuda"))
    if engine.remote:
        return engine.device if name == "auto" else str(name)
    if name == "cuda" and not torch.cuda.is_available():
        raise UserError("device=cuda: no CUDA device was found; use device=cpu.", "device")
    return "cuda" if name != "cpu" and torch.cuda.is_available() else "cpu"


def settings_for_engine(config: Config, engine: EngineSettings) -> Config:
    """Return the configuration with what a remote engine uses for `auto`, and print a note.

    `auto` would depend on the hardware of this machine, which does not compute the results.
    """
    if not engine.remote:
        return config
    chosen = {"device": ("name", engine.device), "training": ("compile", "never")}
    automatic = {
        group: {**config[group], key: value}
        for group, (key, value) in chosen.items()
        if config.get(group, {}).get(key) == "auto"
    }
    words = {"device": f"device={engine.device}", "training": "training.compile=never"}
    if automatic:
        _note_once(f"engine={engine.name} uses {' and '.join(words[group] for group in automatic)}")
    return {**config, **automatic}


@cache  # the same for every run of a sweep
def _note_once(text: str) -> None:
    note(text)


def count_workers(workers: Any) -> int:
    """Return the number of worker processes, at most one per core.

    Raises:
        UserError: if the number is not an integer, or exceeds the cores.
    """
    from bnnbench.experiment.engines.local import available_cores

    most = available_cores()
    if workers == "auto":
        return most
    if isinstance(workers, bool) or not isinstance(workers, int) or not 1 <= workers <= most:
        raise UserError(
            f"workers must be auto or 1 to {most} ({most} cores), not {workers!r}.",
            "workers",
        )
    return workers


def build(config: Config) -> Run:
    """Check the configuration and load the data; nothing is written except downloaded data.

    Args:
        config: resolved, plain containers.

    Raises:
        UserError: for the first mistake.
    """
    outputs = check_folder("outputs_dir", config["outputs_dir"])
    workers = count_workers(config["workers"])
    engine = make_engine(config)
    config = settings_for_engine(config, engine)
    experiment = assemble_experiment(config, engine).resolved()
    experiment.check()
    return Run(experiment, outputs, config, workers, config["resume"], config["figures"], engine)


def assemble_experiment(config: Config, engine: EngineSettings | None = None) -> Experiment:
    """Instantiate the experiment and its components without loading data.

    Args:
        config: resolved, plain containers.
        engine: the local one if not given.

    Raises:
        UserError: for the first mistake.
    """
    check_groups(config)
    groups = available_inputs(config, engine)
    chosen = {
        name: target_class(name, group)
        for name, group in groups.items()
        if isinstance(group, Mapping) and "_target_" in group
    }
    if not issubclass(chosen["experiment"], Experiment):
        raise UserError(
            f"experiment._target_ must name a class that derives from Experiment, "
            f"not {chosen['experiment'].__name__}.",
            "experiment._target_",
            "wrong_type",
        )
    chosen["experiment"].validate_components(config["experiment"]["label"], chosen)
    if "method" in {field.name for field in fields(chosen["experiment"])}:
        check_method_components(groups, chosen["method"])
    experiment: Experiment = instantiate_from_groups("experiment", groups["experiment"], groups)
    return experiment


def available_inputs(config: Config, engine: EngineSettings | None = None) -> Config:
    """Return what the fields of an experiment are built from, by name.

    These are the config groups and, from the `protocol` sections of the data set and the method,
    bounds and fixed values of hyper-parameters.
    """
    groups = deepcopy(config)
    dataset, method = (groups.get(name, {}).pop("protocol", {}) for name in ("dataset", "method"))
    return {
        **groups,
        "device": pick_device(config["device"]["name"], engine or Local()),
        "bounds": {**(dataset.get("bounds") or {}), **(method.get("bounds") or {})},
        "fixed": dataset.get("fixed") or {},
        "fixed_original_units": {
            **(dataset.get("fixed_original_units") or {}),
            **(method.get("fixed_original_units") or {}),
        },
    }


def build_run(job: Job, unused_allowed: bool = False) -> Run:
    """Build the run of one job.

    Args:
        job: of a command line.
        unused_allowed: whether it may have settings that its experiment does not read.

    Raises:
        UserError: for the first mistake.
    """
    run = build(job.resolved())
    if not unused_allowed:
        keys = [word.lstrip("+~").partition("=")[0] for word in job.overrides]
        reject_unused_overrides(type(run.experiment), run.config["experiment"], keys)
    return run


def raise_mistake(error: UserError) -> None:
    """Raise an error, unless its job duplicates another: not every method has a divergence."""
    if not isinstance(error, DuplicateConfiguration):
        raise error


def build_runs(
    jobs: Iterable[Job],
    on_error: Callable[[UserError], object] = raise_mistake,
    unused_allowed: bool = False,
) -> list[Run]:
    """Build the runs of several jobs.

    Args:
        jobs: of command lines.
        on_error: called with the error of a job, which is left out.
        unused_allowed: whether they may have settings that their experiments do not read.

    Raises:
        UserError: that `on_error` raises.
    """
    runs = []
    for job in jobs:
        try:
            runs.append(build_run(job, unused_allowed))
        except UserError as error:
            on_error(error)
    return runs


def reject_unused_overrides(
    cls: type[Experiment], settings: Mapping[str, Any], keys: Sequence[str]
) -> None:
    """Reject overrides of settings that the experiment does not read.

    Args:
        cls: the experiment's class.
        settings: the experiment's own settings. A field that they set reads no group of its name.
        keys: dotted keys given on the command line.

    Raises:
        UserError: for the first such key.
    """
    names = {field.name for field in fields(cls)} - settings.keys()
    nested = (group for name in names for group in NESTED_GROUPS.get(name, ()))
    used = {*names, *EXECUTION_KEYS, *nested}
    for key in keys:
        if key.split(".")[0].split("/")[0] not in used:
            raise UserError(
                f"{key} has no effect with experiment={settings['label']}.", key, "no_effect"
            )
