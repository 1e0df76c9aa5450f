"""From a composed configuration to a checked plan."""

from __future__ import annotations

import math
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from bnnbench.checks import check_choice
from bnnbench.cli.make import Config, as_declared, construct, make, target
from bnnbench.data import Source
from bnnbench.divergences.base import Divergence
from bnnbench.experiment.plan import Experiment, Plan, choose_splits
from bnnbench.likelihoods.base import Likelihood
from bnnbench.likelihoods.gaussian import Gaussian
from bnnbench.losses.nll import NLL
from bnnbench.methods.shared import compilation
from bnnbench.methods.shared.contract import Method
from bnnbench.search.base import Search
from bnnbench.settings import Dimension, Evaluation, Network, Training
from bnnbench.types import Redundant, Table, UserError

# What cannot change a number, or is decided into the plan by other means.
NOT_IDENTITY = (
    "outputs_dir",
    "workers",
    "data_dir",
    "splits",
    "experiment",
    "device",
    "dataset",
    "summary",
)

# All there was before they could be chosen: a run with both keeps the folder that it had.
STANDARD = (Gaussian, NLL)
NOT_IDENTITY_OF_STANDARD = ("likelihood", "loss")


# What could not be asked for once: a run that does not keeps the folder that it had.
NOT_IDENTITY_UNLESS_ASKED_FOR = ("training_part", "trace")


def pick_device(wanted: Any) -> str:
    """`cpu` or `cuda`.

    Raises:
        UserError: if CUDA is asked for and absent.
    """
    import torch

    check_choice("device.name", wanted, ("auto", "cpu", "cuda"))
    if wanted == "cuda" and not torch.cuda.is_available():
        raise UserError("device=cuda, but torch finds no CUDA device here; use device=cpu.")
    return "cuda" if wanted != "cpu" and torch.cuda.is_available() else "cpu"


def count_workers(wanted: Any, jobs: int) -> int:
    """Worker processes for each of `jobs` concurrent runs, together at most one per core.

    Raises:
        UserError: if a number is asked for that is not one, or exceeds the cores.
    """
    from joblib import cpu_count

    cores = cpu_count()
    if wanted == "auto":
        return max(1, cores // jobs)
    if isinstance(wanted, bool) or not isinstance(wanted, int) or not 1 <= wanted * jobs <= cores:
        beside = f", divided by {jobs} concurrent jobs" if jobs > 1 else ""
        raise UserError(
            f"workers must be auto or 1 to {max(1, cores // jobs)} "
            f"({cores} cores{beside}), not {wanted!r}."
        )
    return wanted


def build(config: Config, jobs: int = 1) -> tuple[Experiment, Plan]:
    """Checks everything and loads the data; writes nothing but data it has to download.

    Args:
        config: resolved, plain containers.
        jobs: runs going on side by side.

    Raises:
        UserError: on the first thing that is wrong.
    """
    config = as_declared(config)
    recorded = deepcopy(config)
    method_protocol = config["method"].pop("protocol", {})
    dataset_protocol = config["dataset"].pop("protocol", {})
    device = pick_device(config["device"]["name"])
    workers = count_workers(config["workers"], jobs)
    network: Network = construct(
        "network", Network, {k: _frozen(v) for k, v in config["network"].items()}
    )
    evaluation: Evaluation = construct("evaluation", Evaluation, config["evaluation"])
    experiment: Experiment = make("experiment", config["experiment"])
    # All come before the method, which holds or needs them, so that a mistake has the shorter name.
    method_class = target("method", config["method"])
    experiment.admit(method_class)
    _prior_used(config, method_class)
    source: Source = make("dataset", config["dataset"])
    divergence: Divergence = make("divergence", config["divergence"])
    make("loss", config["loss"])
    chosen: Likelihood = make("likelihood", config["likelihood"])
    asked: Method = make("method", config["method"])
    known = _known(asked, dataset_protocol.get("fixed"))
    method: Method = replace(asked, **known)
    _used(divergence, method)
    likelihood = _likelihood(method, chosen)
    standard = (type(likelihood), type(likelihood.loss)) == STANDARD
    search: Search = make("search", config["search"])
    frozen = {k: _frozen(v) for k, v in config["training"].items()}
    whole_part = frozen.get("batch_size") == "all"
    chosen_size = {"batch_size": 1} if whole_part else {}  # until the data are there
    training: Training = construct("training", Training, {**frozen, **chosen_size})
    space = _space(method, dataset_protocol.get("bounds", {}), method_protocol.get("bounds", {}))
    table: Table = source.load()
    rows = len(table.splits[0].train)
    if whole_part:
        size = max(len(split.train) for split in table.splits)
        training = replace(training, batch_size=size)
        recorded["training"]["batch_size"] = config["training"]["batch_size"] = size
    steps = math.ceil(rows / training.batch_size) * training.epochs * search.iterations
    fuse = _fuse(training.compile, steps if space else 0, device)
    recorded["training"]["compile"] = config["training"]["compile"] = fuse
    recorded["dataset"]["target"] = table.target
    unasked = [name for name in NOT_IDENTITY_UNLESS_ASKED_FOR if not getattr(evaluation, name)]
    identity = _without(config, (*NOT_IDENTITY, *NOT_IDENTITY_OF_STANDARD * standard, *unasked))
    plan = Plan(
        experiment=experiment.label,
        table=table,
        method=method,
        search=search,
        space=space,
        network=network,
        training=replace(training, compile=fuse),
        evaluation=evaluation,
        divergence=divergence.name,
        likelihood=likelihood.label,
        loss=likelihood.loss.label,
        standard=standard,
        seed=config["seed"],
        splits=choose_splits(table, config["splits"]),
        device=device,
        workers=workers,
        outputs=Path(str(config["outputs_dir"])),
        config=recorded,
        identity={
            **identity,
            "device": device,
            **({"known": known} if known else {}),
            "space": [vars(dimension) for dimension in space],
        },
    )
    return experiment, plan


def _known(method: Method, values: Mapping[str, Any] | None) -> dict[str, Any]:
    """The values that a data set fixes of what the method has and was given no value for."""
    open_ = set(method.hyper_names) - method.fixed().keys()
    return {name: value for name, value in (values or {}).items() if name in open_}


def _prior_used(config: Config, method: type[Method]) -> None:
    """Refuses a prior that would change nothing, before it asks for an estimator.

    Raises:
        Redundant: if the method's prior is a Gaussian.
    """
    prior = config["divergence"].get("prior", {}).get("label", "gaussian")
    if prior != "gaussian" and "divergence" not in {field.name for field in fields(method)}:
        raise Redundant(
            f"prior={prior}, but method={config['method']['label']} has a Gaussian prior; "
            "use method=bbb."
        )


def _used(divergence: Divergence, method: Method) -> None:
    """Refuses a choice that would name the run and change nothing.

    Raises:
        Redundant: if the method has no divergence to choose.
    """
    if not hasattr(method, "divergence") and divergence.name != "kl":
        raise Redundant(
            f"divergence is {divergence.name}, but method={method.label} has none to choose; "
            "use method=bbb."
        )


def _without(config: Config, keys: tuple[str, ...]) -> Config:
    """The configuration without some keys, at any depth."""
    return {
        key: _without(value, keys) if isinstance(value, dict) else value
        for key, value in config.items()
        if key not in keys
    }


def _likelihood(method: Method, chosen: Likelihood) -> Likelihood:
    """The method's likelihood; one that is made for a single likelihood takes no other.

    Raises:
        UserError: if another was chosen for such a method.
    """
    own = getattr(method, "likelihood", None)
    if own is None and (type(chosen), type(chosen.loss)) != STANDARD:
        raise UserError(
            f"likelihood={chosen.label} with loss={chosen.loss.label} does not go with "
            f"method={method.label}, which is made for likelihood=gaussian and loss=nll."
        )
    return own or chosen


def _frozen(value: Any) -> Any:
    """Lists as tuples, which frozen settings can hold and hash."""
    return tuple(value) if isinstance(value, list) else value


def _space(method: Method, *bounds: Mapping[str, Any]) -> tuple[Dimension, ...]:
    known = {name: pair for group in bounds for name, pair in (group or {}).items()}
    free = [name for name in method.hyper_names if name not in method.fixed()]
    for name in free:
        pair = known.get(name)
        if not isinstance(pair, list) or len(pair) != 2:
            raise UserError(f"method.{name} is searched but has no bounds [low, high].")
    return tuple(Dimension(name, *known[name]) for name in free)


def _fuse(wanted: str, steps: int, device: str) -> str:
    """`always` or `never`: on a CPU with a compiler, where the search is long enough."""
    if wanted != "auto":
        return wanted
    pays = device == "cpu" and steps >= compilation.WORTHWHILE_STEPS and compilation.available()
    return "always" if pays else "never"
