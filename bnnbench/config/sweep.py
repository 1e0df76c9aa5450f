"""Expands a command line into jobs and composes their configurations."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig, OmegaConf, open_dict

from bnnbench.config.compose import (
    CONFIG_ERRORS,
    CONFIG_NAME,
    initialise_hydra,
    to_dict,
    to_user_error,
)
from bnnbench.config.overrides import check_overrides, launcher_error, quote_overrides

if TYPE_CHECKING:
    from hydra.core.override_parser.types import Override

BASIC_LAUNCHER = "hydra._internal.core_plugins.basic_launcher.BasicLauncher"

DEFAULT_HYDRA_SETTINGS: dict[str, Any] = {
    "sweeper._target_": "hydra._internal.core_plugins.basic_sweeper.BasicSweeper",
    "callbacks": {},
    "run.dir": ".",
    "output_subdir": None,
    "job.chdir": False,
    "job.env_set": {},
    "job_logging.root": None,
}
"""With these, Hydra would only run the jobs one by one in this process, as we do without it."""


class Job(NamedTuple):
    """One job of a command line.

    Attributes:
        overrides: of this job.
        config: the composed configuration, unresolved, with the section `hydra`.
        number: of the job, from 0.
    """

    overrides: Sequence[str]
    config: DictConfig
    number: int = 0

    def resolved(self) -> dict[str, Any]:
        """Return the configuration as plain containers, without the section `hydra`.

        Raises:
            UserError: if a value is missing or cannot be resolved.
        """
        with open_dict(self.config.hydra):
            self.config.hydra.runtime.output_dir = os.getcwd()
            self.config.hydra.job.update(num=self.number, id=str(self.number))
        hydra = HydraConfig.instance()
        hydra.set_config(self.config)  # settings may refer to it
        ours = [str(key) for key in self.config if key != "hydra"]
        try:
            return to_dict(OmegaConf.masked_copy(self.config, ours))
        finally:
            hydra.cfg = None

    def chosen_name(self, group: str, key: str) -> str:
        """Return the name of the chosen option, even if the configuration is invalid."""
        chosen = self.config.get(group)
        return str(chosen.get(key)) if isinstance(chosen, DictConfig) else "the configuration"


class JobList(NamedTuple):
    """The jobs of a command line.

    Attributes:
        is_sweep: whether `-m` or the experiment asks for a sweep.
        jobs: in order.
    """

    is_sweep: bool
    jobs: Sequence[Job]


def compose_jobs(overrides: Sequence[str], multirun: bool) -> JobList | None:
    """Compose each job of a command line once.

    Hydra must be initialised.

    Args:
        overrides: quoted for Hydra's grammar.
        multirun: whether `-m` is given.

    Returns:
        None if the configuration asks for features of Hydra's own application, such as
        a working directory or callbacks.

    Raises:
        HydraException: if they cannot be composed.
        UserError: if they choose a launcher.
    """
    from hydra._internal.config_loader_impl import ConfigLoaderImpl
    from hydra.types import RunMode

    given = _parse(overrides)
    shared = _compose_shared(given)
    if OmegaConf.select(shared.hydra, "launcher._target_") != BASIC_LAUNCHER:
        raise launcher_error()
    settings = DEFAULT_HYDRA_SETTINGS.items()
    given_here = any(one.key_or_group.startswith("hydra") for one in given)
    if given_here or any(OmegaConf.select(shared.hydra, key) != value for key, value in settings):
        return None
    if multirun or shared.hydra.mode == RunMode.MULTIRUN:
        return JobList(True, _compose_each(given, shared))
    ConfigLoaderImpl.validate_sweep_overrides_legal(given, RunMode.RUN, from_shell=True)
    return JobList(False, [Job(list(overrides), shared)])


def job_overrides(overrides: Sequence[str]) -> list[list[str]]:
    """Return the overrides of each job that `bnnbench run -m OVERRIDES` starts.

    Hydra must be initialised.

    Raises:
        HydraException: if they cannot be composed.
    """
    given = _parse(overrides)
    return _split_jobs(given, _compose_shared(given))


def compose_configs(
    overrides: Sequence[str], max_jobs: int | None = None, config_dir: str | None = None
) -> list[dict[str, Any]]:
    """Return the resolved configuration of each job of `bnnbench run -m OVERRIDES`.

    Args:
        overrides: as typed.
        max_jobs: compose only the first jobs.
        config_dir: the folder of `--config-dir`.

    Raises:
        UserError: if a job cannot be composed.
    """
    check_overrides(overrides)
    try:
        with initialise_hydra(config_dir):
            given = _parse(quote_overrides(overrides, sweep=True))
            return [
                job.resolved() for job in _compose_each(given, _compose_shared(given), max_jobs)
            ]
    except CONFIG_ERRORS as error:
        raise to_user_error(error, config_dir) from None


def _parse(overrides: Sequence[str]) -> list[Override]:
    from hydra.core.global_hydra import GlobalHydra
    from hydra.core.override_parser.overrides_parser import OverridesParser

    loader = GlobalHydra.instance().config_loader()  # needed for glob(*)
    return OverridesParser.create(loader).parse_overrides(list(overrides))


def _compose_shared(given: Sequence[Override]) -> DictConfig:
    """Compose the overrides that all jobs share."""
    return _compose([str(one.input_line) for one in given if not one.is_sweep_override()])


def _compose(overrides: list[str]) -> DictConfig:
    from hydra import compose

    return compose(CONFIG_NAME, overrides, return_hydra_config=True)


def _compose_each(
    given: Sequence[Override], shared: DictConfig, max_jobs: int | None = None
) -> list[Job]:
    """Compose the jobs, or the first few; a single job without a sweep reuses `shared`."""
    overrides = _split_jobs(given, shared)
    if len(overrides) == 1:
        same = not shared.hydra.sweeper.params and not any(o.is_sweep_override() for o in given)
        return [Job(overrides[0], shared if same else _compose(overrides[0]))]
    return [Job(job, _compose(job), number) for number, job in enumerate(overrides[:max_jobs])]


def _split_jobs(given: Sequence[Override], shared: DictConfig) -> list[list[str]]:
    """Return the overrides of each job; the sweep of an experiment comes before `given`."""
    from hydra._internal.core_plugins.basic_sweeper import BasicSweeper

    swept = shared.hydra.sweeper.params or {}
    parsed = _parse([f"{key}={value}" for key, value in swept.items()])
    (jobs,) = BasicSweeper.split_arguments([*parsed, *given], None)
    return [[o for o in job if not o.startswith("hydra.")] for job in jobs]
