"""From a composed configuration to a run, checked before anything is written."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from copy import deepcopy
from dataclasses import fields
from os.path import expanduser
from pathlib import Path
from types import NoneType
from typing import Any

from bnnbench.checks import check_choice, check_folder, check_name
from bnnbench.cli.configs import ALL_GROUPS, config_folder
from bnnbench.cli.make import Config, make, make_from_groups, target
from bnnbench.experiment.base import Experiment
from bnnbench.experiment.engines.base import EngineSettings
from bnnbench.experiment.engines.local import Local
from bnnbench.experiment.run import Run
from bnnbench.types import Redundant, UserError

PARTS_OF_METHODS = ("divergence", "loss", "likelihood")
"""Groups that a method holds, if it has a choice there, in the order in which they are checked."""

USUAL = {"divergence": "kl", "prior": "gaussian", "likelihood": "gaussian", "loss": "nll"}
"""What stands for "no choice was made" where a method has none."""

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

JUDGED = ("method", "dataset", "divergence")
"""Groups whose names stand in tables, beside what was published for them."""

SECTIONS = ("network", "training", "evaluation", "schedule")
"""Settings that stand together and are no group to choose from."""

SET_BY_PROTOCOLS = ("training", "schedule")
"""Sections of which a protocol is made for one, which it names in `protocol.sets`."""

PAIRS = ("bounds", "fixed", "fixed_in_target_units")
"""Settings of a `protocol` that are by hyper-parameter."""

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


def check_groups(config: Config) -> None:
    """Refuses groups that hold no settings, and labels that are no names: they become folders."""
    for group in (*ALL_GROUPS, *SECTIONS):
        held = config.get(group, {})
        if not isinstance(held, Mapping):
            raise UserError(f"{group} must be a group of settings, not {held!r}.")
        for key in {"label", "name"} & held.keys():
            check_name(f"{group}.{key}", held[key])
        if not isinstance(held.get("protocol", {}), Mapping):
            raise UserError(f"{group}.protocol must be settings, not {held['protocol']!r}.")
        for key in PAIRS:
            pairs = held.get("protocol", {}).get(key)
            if not isinstance(pairs, Mapping | NoneType):
                raise UserError(f"{group}.protocol.{key} must be settings, not {pairs!r}.")
        for key in ("_target_", "label") if group in ("experiment", "method") else ():
            if key not in held:
                raise UserError(f"{group}.{key} is missing.")
        if group in JUDGED:
            _check_not_ours(group, held)


def _check_not_ours(group: str, held: Mapping[str, Any]) -> None:
    """Refuses a class from outside that goes by a name of ours, beside what is published for it.

    Args:
        group: of settings.
        held: those settings.
    """
    key = "name" if "name" in held else "label"
    taken = (config_folder() / group / f"{held.get(key)}.yaml").is_file()
    if taken and not str(held.get("_target_", "bnnbench.")).startswith("bnnbench."):
        raise UserError(
            f"{group}.{key}={held[key]} is a name of bnnbench's own, and {held['_target_']} is "
            "not; give it another."
        )


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


def check_parts(groups: Mapping[str, Any], method: type) -> None:
    """Refuses what is wrong with the parts of a method, or would name a run and change nothing.

    Before the method, which holds them, so that a mistake has the shorter name.

    Raises:
        Redundant: if a divergence or prior is chosen for a method that has none to choose.
        UserError: for the rest.
    """
    from bnnbench.divergences.base import Divergence

    label, names = groups["method"]["label"], {field.name for field in fields(method)}
    given = groups["divergence"].get("prior")
    prior = given.get("label") if isinstance(given, Mapping) else USUAL["prior"]
    if "divergence" not in names and prior != USUAL["prior"]:
        raise Redundant(f"prior={prior}, but method={label} has a Gaussian prior; use method=bbb.")
    parts = {name: make(name, groups[name]) for name in PARTS_OF_METHODS}
    if not isinstance(parts["divergence"], Divergence):
        raise UserError(
            f"divergence={parts['divergence'].label} is bounded by a network that tells two "
            f"samples apart, which method={label} does not train."
        )
    if "divergence" not in names and parts["divergence"].name != USUAL["divergence"]:
        raise Redundant(
            f"divergence is {parts['divergence'].name}, but method={label} has none to choose; "
            "use method=bbb."
        )
    model = {name: parts[name].label for name in ("likelihood", "loss")}
    if "likelihood" not in names and any(model[name] != USUAL[name] for name in model):
        raise UserError(
            f"likelihood={model['likelihood']} with loss={model['loss']} does not go with "
            f"method={label}, which is made for likelihood=gaussian and loss=nll."
        )
    _check_handed_on(
        groups["method"],
        names,
        {
            "divergence": parts["divergence"].name != USUAL["divergence"]
            or prior != USUAL["prior"],
            "likelihood": any(model[name] != USUAL[name] for name in model),
        },
    )


def _check_handed_on(
    settings: Mapping[str, Any], names: Collection[str], unusual: Mapping[str, bool]
) -> None:
    """Refuses a choice that the YAML of a method does not hand on to it.

    Args:
        settings: of the method.
        names: of its fields.
        unusual: by part, whether the choice is another than the one that it has by itself.
    """
    for part, chosen in unusual.items():
        if chosen and part in names and part not in settings:
            raise UserError(
                f"method={settings['label']} is not given the {part} that is chosen: its YAML "
                f"needs the line {part}: ${{{part}}}."
            )
