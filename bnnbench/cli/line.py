"""The jobs that a command line stands for, each composed."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig, OmegaConf, open_dict

from bnnbench.cli.compose import CONFIG_NAME, CONFIGURATION, initialised, plain, sentence
from bnnbench.cli.words import check_words, quote_words
from bnnbench.types import UserError

if TYPE_CHECKING:
    from hydra.core.override_parser.types import Override

USUAL: dict[str, Any] = {
    "launcher._target_": "hydra._internal.core_plugins.basic_launcher.BasicLauncher",
    "sweeper._target_": "hydra._internal.core_plugins.basic_sweeper.BasicSweeper",
    "callbacks": {},
    "run.dir": ".",
    "output_subdir": None,
    "job.chdir": False,
    "job.env_set": {},
    "job_logging.root": None,
}
"""Of Hydra's own settings: with them it runs jobs one by one in this process, as we do ourselves,
and does nothing beside."""


class Job(NamedTuple):
    """One job of a command line.

    Attributes:
        task: its overrides.
        config: composed of them and not resolved yet, Hydra's own part included.
        number: of the job, from 0.
    """

    task: Sequence[str]
    config: DictConfig
    number: int = 0

    def resolved(self) -> dict[str, Any]:
        """The configuration as plain containers, without Hydra's part, to which it may refer.

        Raises:
            UserError: if a value is missing or cannot be resolved.
        """
        with open_dict(self.config.hydra):
            self.config.hydra.runtime.output_dir = os.getcwd()
            self.config.hydra.job.update(num=self.number, id=str(self.number))
        hydra = HydraConfig.instance()
        hydra.set_config(self.config)
        ours = [str(key) for key in self.config if key != "hydra"]
        try:
            return plain(OmegaConf.masked_copy(self.config, ours))
        finally:
            hydra.cfg = None


class Line(NamedTuple):
    """What a command line asks for.

    Attributes:
        several: whether it is a sweep, by `-m` or by its experiment.
        jobs: that it stands for.
    """

    several: bool
    jobs: Sequence[Job]


def line_of(overrides: Sequence[str], several: bool) -> Line | None:
    """The jobs of a command line, each composed once.

    Hydra must be initialised.

    Args:
        overrides: quoted for Hydra's grammar.
        several: whether the line says `-m`.

    Returns:
        None where a configuration has Hydra run them, by a launcher, in a folder, with callbacks.

    Raises:
        HydraException: if they cannot be composed.
    """
    from hydra._internal.config_loader_impl import ConfigLoaderImpl
    from hydra.types import RunMode

    given = _parsed(overrides)
    master = _master(given)
    if any(OmegaConf.select(master.hydra, key) != value for key, value in USUAL.items()):
        return None
    if several or master.hydra.mode == RunMode.MULTIRUN:
        return Line(True, _jobs(given, master))
    ConfigLoaderImpl.validate_sweep_overrides_legal(given, RunMode.RUN, from_shell=True)
    return Line(False, [Job(list(overrides), master)])


def jobs_of(overrides: Sequence[str]) -> list[list[str]]:
    """The overrides of each job that `bnnbench run -m OVERRIDES` starts.

    Hydra must be initialised.

    Raises:
        HydraException: if they cannot be composed.
    """
    given = _parsed(overrides)
    return _split(given, _master(given))


def configs_of(
    overrides: Sequence[str], most: int | None = None, own: str | None = None
) -> list[dict[str, Any]]:
    """The resolved configuration of each of those jobs, as plain containers.

    Args:
        overrides: what follows `bnnbench run -m`.
        most: how many jobs, from the first; all of them if not given.
        own: the folder of `--config-dir`.

    Raises:
        UserError: if one of them cannot be composed.
    """
    check_words(overrides)
    try:
        with initialised(own):
            given = _parsed(quote_words(overrides, sweep=True))
            return [job.resolved() for job in _jobs(given, _master(given), most)]
    except CONFIGURATION as error:
        raise UserError(sentence(error, own)) from None


def _parsed(overrides: Sequence[str]) -> list[Override]:
    from hydra.core.global_hydra import GlobalHydra
    from hydra.core.override_parser.overrides_parser import OverridesParser

    loader = GlobalHydra.instance().config_loader()  # which finds glob(*)
    return OverridesParser.create(loader).parse_overrides(list(overrides))


def _master(given: Sequence[Override]) -> DictConfig:
    """The configuration of what is the same in all jobs."""
    return _composed([str(one.input_line) for one in given if not one.is_sweep_override()])


def _composed(overrides: list[str]) -> DictConfig:
    from hydra import compose

    return compose(CONFIG_NAME, overrides, return_hydra_config=True)


def _jobs(given: Sequence[Override], master: DictConfig, most: int | None = None) -> list[Job]:
    """The jobs, or the first few; of a single one the configuration is that of all jobs."""
    overrides = _split(given, master)
    if len(overrides) == 1:
        same = not master.hydra.sweeper.params and not any(o.is_sweep_override() for o in given)
        return [Job(overrides[0], master if same else _composed(overrides[0]))]
    return [Job(job, _composed(job), number) for number, job in enumerate(overrides[:most])]


def _split(given: Sequence[Override], master: DictConfig) -> list[list[str]]:
    """The overrides of each job; what an experiment sweeps over comes before what is given."""
    from hydra._internal.core_plugins.basic_sweeper import BasicSweeper

    swept = master.hydra.sweeper.params or {}
    parsed = _parsed([f"{key}={value}" for key, value in swept.items()])
    (jobs,) = BasicSweeper.split_arguments([*parsed, *given], None)
    return [[o for o in job if not o.startswith("hydra.")] for job in jobs]
