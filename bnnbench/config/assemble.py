"""Assembles runs, and single fits, from composed configurations; checks them before writing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import fields
from functools import lru_cache
from typing import Any

from bnnbench.config.compose import Job, single_job
from bnnbench.config.group_checks import (
    check_groups,
    check_method_bounds,
    check_method_components,
)
from bnnbench.config.instantiate import Config, instantiate, instantiate_from_groups, target_class
from bnnbench.constraints import check_choice, check_folder
from bnnbench.data.in_memory import NAME, InMemory
from bnnbench.experiment.engines.base import EngineSettings
from bnnbench.experiment.engines.local import Local
from bnnbench.experiment.kinds.base import Experiment
from bnnbench.experiment.run.run import Run
from bnnbench.notes import note_once
from bnnbench.system import available_cores
from bnnbench.types import DuplicateConfiguration, UserError

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
"""Keys that apply to every experiment; they determine where and how it runs."""

NESTED_GROUPS = {
    "method": ("divergence", "prior", "likelihood", "loss"),
    "network": ("depth",),
}
"""Groups that are part of a field of an experiment, by field."""


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
    """Replace `auto` by the values for a remote engine, and print a note.

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
        note_once(f"engine={engine.name} uses {' and '.join(words[group] for group in automatic)}")
    return {**config, **automatic}


def count_workers(workers: Any) -> int:
    """Return the number of worker processes, at most one per core.

    Raises:
        UserError: if the number is not an integer, or exceeds the cores.
    """
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
    engine = instantiate("engine", config["engine"])
    if not isinstance(engine, EngineSettings):
        raise UserError(
            f"engine._target_ must name an engine, not {type(engine).__name__}.",
            "engine._target_",
            "wrong_type",
        )
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
        check_method_bounds(config["method"], chosen["method"])
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
    _add_grid(groups.get("search", {}), method)
    return {
        **groups,
        "device": pick_device(config["device"]["name"], engine or Local()),
        "bounds": {**(dataset.get("bounds") or {}), **(method.get("bounds") or {})},
        "bounds_original_units": method.get("bounds_original_units") or {},
        "fixed": dataset.get("fixed") or {},
        "fixed_original_units": {
            **(dataset.get("fixed_original_units") or {}),
            **(method.get("fixed_original_units") or {}),
        },
    }


def _add_grid(search: Config, protocol: Config) -> None:
    """Add the lists of a method's protocol that the settings of a grid search do not mention.

    `configs/search/grid.yaml` reads only those of the built-in hyper-parameters.
    """
    for lists, grid in (("values", "grid"), ("values_original_units", "grid_original_units")):
        if isinstance(search.get(lists), dict):
            search[lists] = {**(protocol.get(grid) or {}), **search[lists]}


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
    """Raise an error, unless its job duplicates another because a method has no divergence."""
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
        settings: the experiment's own settings; a field set here does not read its group.
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
                f"{key} has no effect with experiment={settings['label']}; leave it out.",
                key,
                "no_effect",
            )


SETTINGS_OF_A_FIT = (
    *("method", "likelihood", "loss", "divergence", "prior", "depth", "network"),
    *("training", "search", "protocol", "device", "seed"),
)
"""Groups whose settings affect a single fit; the others concern splits and files."""

SOURCE = f"{InMemory.__module__}.{InMemory.__qualname__}"

SAMPLES = "evaluation.samples"
"""Monte Carlo samples of a prediction: the only such setting in another group."""

FIXED = ("dataset=csv", "experiment=uci", "splits=all", "evaluation.out_of_fold=false")
"""Overrides of every fit; `dataset=csv` provides the defaults that the protocol reads."""


def compose_fit(settings: Sequence[str], rows: int) -> Config:
    """Return the resolved configuration of one fit; callers must not change it.

    Args:
        settings: overrides, as on the command line.
        rows: number of rows.

    Raises:
        UserError: if a setting is wrong, or has no effect on a fit.
    """
    for word in settings:
        key = word.partition("=")[0].lstrip("+~")
        if key.split(".")[0].split("/")[0] not in SETTINGS_OF_A_FIT and key != SAMPLES:
            raise UserError(
                f"{key} has no effect on a single fit (settings of a fit: {SAMPLES}, "
                f"{', '.join(SETTINGS_OF_A_FIT)}).",
                key,
                "no_effect",
            )
    return _composed(tuple(settings), rows)


@lru_cache(maxsize=256)  # composing takes longer than a small fit
def _composed(settings: tuple[str, ...], rows: int) -> Config:
    job = single_job([*FIXED, *settings])
    job.config.dataset = {
        "_target_": SOURCE,
        "rows": rows,
        "name": NAME,  # presets take published settings by the name of the data set
        "protocol": job.config.dataset.protocol,
    }
    return job.resolved()
