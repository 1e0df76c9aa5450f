"""From a composed configuration to a run, checked before anything is written."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from copy import deepcopy
from dataclasses import fields
from os.path import expanduser
from pathlib import Path
from typing import Any

from bnnbench.checks import check_choice, check_folder
from bnnbench.cli.choices import check_groups, check_parts
from bnnbench.cli.make import Config, make, make_from_groups, target
from bnnbench.experiment.base import Experiment
from bnnbench.experiment.engines.base import EngineSettings
from bnnbench.experiment.engines.local import Local
from bnnbench.experiment.run import Run
from bnnbench.types import UserError

EXECUTION = (
    "outputs_dir",
    "workers",
    "resume",
    "figures",
    "data_dir",
    "experiment",
    "hydra",
    "protocol",
    "device",
    "engine",
)
"""Keys that every experiment has a use for: where and how it runs."""

SET_BY_PROTOCOLS = ("training", "schedule")
"""Sections of which a protocol is made for one, which it names in `protocol.sets`."""

CARRIED = {
    "method": ("divergence", "prior", "likelihood", "loss"),
    "network": ("depth",),
}
"""Groups that reach an experiment inside one of its fields."""


def make_engine(config: Config) -> EngineSettings:
    """What was chosen of the group `engine`.

    Raises:
        UserError: if a setting of it is wrong.
    """
    engine = make("engine", config["engine"])
    if not isinstance(engine, EngineSettings):
        raise UserError(f"engine._target_ must name an engine, not {type(engine).__name__}.")
    return engine


def pick_device(wanted: Any, engine: EngineSettings) -> str:
    """`cpu` or `cuda`.

    Args:
        wanted: one of them or `auto`.
        engine: what computes: of other machines nothing is known here.

    Raises:
        UserError: if CUDA is asked for and absent here, or other machines are to choose.
    """
    import torch

    check_choice("device.name", wanted, ("auto", "cpu", "cuda"))
    if engine.remote:
        _check_asked("device", wanted, engine)
        return str(wanted)
    if wanted == "cuda" and not torch.cuda.is_available():
        raise UserError("device=cuda, but torch finds no CUDA device here; use device=cpu.")
    return "cuda" if wanted != "cpu" and torch.cuda.is_available() else "cpu"


def _check_asked(key: str, value: Any, engine: EngineSettings) -> None:
    """Raises `UserError` if this machine would decide what depends on those that compute."""
    if value == "auto":
        choices = "always or never" if key == "training.compile" else "cpu or cuda"
        raise UserError(
            f"{key}=auto is decided by the machine that computes, and engine={engine.name} has "
            f"others do it; choose {key}={choices}."
        )


def count_workers(wanted: Any, jobs: int) -> int:
    """Worker processes for each of `jobs` concurrent runs, together at most one per core.

    Raises:
        UserError: if a number is asked for that is not one, or exceeds the cores.
    """
    from bnnbench.experiment.workers import cores

    most = cores()
    if wanted == "auto":
        return max(1, most // jobs)
    if isinstance(wanted, bool) or not isinstance(wanted, int) or not 1 <= wanted * jobs <= most:
        beside = f", divided by {jobs} concurrent jobs" if jobs > 1 else ""
        raise UserError(
            f"workers must be auto or 1 to {max(1, most // jobs)} "
            f"({most} cores{beside}), not {wanted!r}."
        )
    return wanted


def build(config: Config, jobs: int = 1) -> Run:
    """Checks everything and loads the data; writes nothing but data it has to download.

    Args:
        config: resolved, plain containers.
        jobs: runs going on side by side.

    Raises:
        UserError: on the first thing that is wrong.
    """
    check_folder("outputs_dir", config["outputs_dir"])
    workers = count_workers(config["workers"], jobs)
    engine = make_engine(config)
    parts = assembled(config, engine)
    if engine.remote:
        training = getattr(parts, "training", None)
        _check_asked("training.compile", getattr(training, "compile", None), engine)
    experiment = parts.resolved()
    experiment.check()
    outputs = Path(expanduser(config["outputs_dir"]))
    return Run(experiment, outputs, config, workers, config["resume"], config["figures"], engine)


def assembled(config: Config, engine: EngineSettings | None = None) -> Experiment:
    """The experiment, made of its parts and not yet of its data.

    Args:
        config: resolved, plain containers.
        engine: what computes; this machine if not given.

    Raises:
        UserError: on the first thing that is wrong.
    """
    check_groups(config)
    groups = offered(config, engine)
    chosen = {
        name: target(name, group)
        for name, group in groups.items()
        if isinstance(group, Mapping) and "_target_" in group
    }
    if not issubclass(chosen["experiment"], Experiment):
        raise UserError(
            f"experiment._target_ must name a class that derives from Experiment, "
            f"not {chosen['experiment'].__name__}."
        )
    chosen["experiment"].admit(config["experiment"]["label"], chosen)
    names = {field.name for field in fields(chosen["experiment"])}
    _check_protocol(config, names)
    if "method" in names:
        check_parts(groups, chosen["method"])
    experiment: Experiment = make_from_groups("experiment", groups["experiment"], groups)
    return experiment


def _check_protocol(config: Config, names: Collection[str]) -> None:
    """Refuses a protocol that sets what the experiment does not read, and not what it reads.

    Args:
        config: the whole configuration.
        names: of the experiment's fields.
    """
    protocol, read = config["protocol"], [one for one in SET_BY_PROTOCOLS if one in names]
    if read and protocol["sets"] not in read:
        raise UserError(
            f"protocol={protocol['label']} sets the {protocol['sets']}, and experiment="
            f"{config['experiment']['label']} takes its {read[0]} from a protocol; choose another."
        )


def offered(config: Config, engine: EngineSettings | None = None) -> Config:
    """What the fields of an experiment are built from, by their names.

    The groups of the configuration, where `protocol` holds settings for others: `bounds` and
    `known` values of hyper-parameters come from those of the data set and of the method.
    """
    groups = deepcopy(config)
    dataset, method = (groups.get(name, {}).pop("protocol", {}) for name in ("dataset", "method"))
    return {
        **groups,
        "device": pick_device(config["device"]["name"], engine or Local()),
        "bounds": {**(dataset.get("bounds") or {}), **(method.get("bounds") or {})},
        "known": dataset.get("fixed") or {},
        "in_target_units": {
            **(dataset.get("fixed_in_target_units") or {}),
            **(method.get("fixed_in_target_units") or {}),
        },
    }


def refuse_idle(cls: type[Experiment], label: str, keys: Sequence[str]) -> None:
    """Refuses a setting that the experiment would not read.

    Args:
        cls: the experiment's class.
        label: its label.
        keys: dotted keys that were given on the command line.

    Raises:
        UserError: naming the first.
    """
    names = {field.name for field in fields(cls)}
    used = {*names, *EXECUTION, *(part for name in names for part in CARRIED.get(name, ()))}
    for key in keys:
        if key.split(".")[0].split("/")[0] not in used:
            raise UserError(f"experiment={label} has no use for {key}.")
