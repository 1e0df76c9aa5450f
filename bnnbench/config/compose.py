"""Expands a command line into jobs and composes their configurations with Hydra.

Hydra searches our folders, caches their files and knows our resolvers.
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from hydra import compose, initialize_config_dir
from hydra.core.config_search_path import ConfigSearchPath
from hydra.core.global_hydra import GlobalHydra
from hydra.core.hydra_config import HydraConfig
from hydra.core.object_type import ObjectType
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.plugins import Plugins
from hydra.plugins.config_source import ConfigResult, ConfigSource
from hydra.plugins.search_path_plugin import SearchPathPlugin
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf, open_dict, read_write

from bnnbench.config import auto_protocol
from bnnbench.config.configs import CONFIG_NAME, GROUPS, config_folder, config_folders, is_option
from bnnbench.config.errors import CONFIG_ERRORS, not_a_mapping, to_user_error
from bnnbench.config.overrides import launcher_error, prepare_overrides
from bnnbench.types import UserError

if TYPE_CHECKING:
    from hydra.core.override_parser.types import Override

_config_dirs: ContextVar[tuple[str, ...] | None] = ContextVar("config_dirs", default=None)
"""The folder of `--config-dir`, if any; None in Hydra's own application, which reads it itself."""


CACHED = "cached-"
"""Beginning of the schemes of sources that read every file once per process."""

_files: dict[tuple[str, str], bytes] = {}
"""Pickled files by source and name; they do not change while a process runs."""


def _cached(kind: type[Any]) -> type[ConfigSource]:
    """Return a source of Hydra that reads every file once, where `kind` reads it for every job."""

    def load_config(source: ConfigSource, config_path: str) -> ConfigResult:
        key = source.full_path(), config_path
        if key not in _files:
            _files[key] = pickle.dumps(kind.load_config(source, config_path))
        return pickle.loads(_files[key])  # a copy that the caller may change

    scheme = staticmethod(lambda: CACHED + kind.scheme())
    return type(f"Cached{kind.__name__}", (kind,), {"scheme": scheme, "load_config": load_config})


class ConfigFolders(SearchPathPlugin):
    """Adds folders to Hydra's search path; called by Hydra whenever it is initialised."""

    def manipulate_search_path(self, search_path: ConfigSearchPath) -> None:
        """Cache our folder and that of Hydra; append those of plug-ins and of the user."""
        config_dirs = _config_dirs.get()
        for entry in search_path.get_path() if config_dirs is not None else ():
            full = entry.path if "://" in entry.path else f"file://{entry.path}"
            entry.path = CACHED + full
        for folder in config_folders()[1:]:
            search_path.append("bnnbench", f"file://{folder.path}")
        for given in config_dirs or ():
            search_path.append("command-line", f"file://{Path(given).absolute()}")


@contextmanager
def initialise_hydra(config_dir: str | None = None) -> Iterator[None]:
    """Initialise Hydra for composing outside of its `main`.

    Args:
        config_dir: the folder of `--config-dir`, which is searched after `configs`.

    Raises:
        UserError: for an error of Hydra, OmegaConf or YAML in the body.
    """
    token = _config_dirs.set(() if config_dir is None else (config_dir,))
    try:
        with initialize_config_dir(str(config_folder()), version_base="1.3"):
            yield
    except (*CONFIG_ERRORS, ValueError) as error:  # ValueError: a wrong defaults list
        raise to_user_error(error, config_dir) from None
    finally:
        _config_dirs.reset(token)


def to_dict(config: DictConfig) -> dict[str, Any]:
    """Return the resolved configuration as plain containers.

    Raises:
        UserError: if a value is missing or cannot be resolved.
    """
    for group in GROUPS:  # first, since other settings refer to their contents
        if group in config and not isinstance(config[group], DictConfig):
            raise not_a_mapping(group, config[group])
    try:
        return OmegaConf.to_container(config, resolve=True, throw_on_missing=True)  # type: ignore[return-value]
    except CONFIG_ERRORS as error:
        raise to_user_error(error) from None


def _choices() -> str:
    """Return every group with its options, for the template of `bnnbench run --help`.

    Hydra's own list includes the base files of options.
    """
    search_path = GlobalHydra.instance().config_loader().get_search_path()
    return _choices_in(tuple(folder.path or "" for folder in search_path.get_path()))


@cache  # Hydra resolves the template in every configuration that it composes
def _choices_in(folders: tuple[str, ...]) -> str:
    """Return a line for each group; `folders` is the current search path, the key of the cache."""
    loader = GlobalHydra.instance().config_loader()
    found = {group: loader.get_group_options(group, ObjectType.CONFIG) for group in GROUPS}
    return "".join(
        f"{group}: {', '.join(filter(is_option, sorted(names)))}\n"
        for group, names in found.items()
    )


for _source in Plugins.instance().discover(ConfigSource):
    Plugins.instance().register(_cached(_source))
Plugins.instance().register(ConfigFolders)
OmegaConf.register_new_resolver("choices", _choices, replace=True)
OmegaConf.register_new_resolver(auto_protocol.RESOLVER, auto_protocol.resolve, replace=True)


LAUNCHER, SWEEPER = "BasicLauncher", "BasicSweeper"
"""Classes of Hydra that run jobs one by one in this process, as we do without it."""

DEFAULT_HYDRA_SETTINGS: dict[str, Any] = {
    "callbacks": {},
    "run.dir": ".",
    "output_subdir": None,
    "job.chdir": False,
    "job.env_set": {},
    "job_logging.root": None,
}
"""With these and `SWEEPER`, Hydra would do nothing more than run the jobs."""


class Job(NamedTuple):
    """One job of a command line.

    Attributes:
        overrides: of this job.
        config: the composed configuration, unresolved; with the section `hydra`, unless Hydra's
            own application runs the job.
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
        if "hydra" not in self.config:
            return to_dict(self.config)
        with read_write(self.config.hydra), open_dict(self.config.hydra):
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
    given = _parse(overrides)
    shared = _compose_shared(given)
    if _class_name(shared, "launcher") != LAUNCHER:
        raise launcher_error()
    if any(one.key_or_group.startswith("hydra") for one in given) or _needs_hydra_app(shared):
        return None
    if multirun or shared.hydra.mode == RunMode.MULTIRUN:
        return JobList(True, _compose_each(given, shared))
    if any(one.is_sweep_override() for one in given):
        _compose(overrides)  # Hydra raises the error
    return JobList(False, [Job(list(overrides), shared)])


def _needs_hydra_app(shared: DictConfig) -> bool:
    settings = DEFAULT_HYDRA_SETTINGS.items()
    return _class_name(shared, "sweeper") != SWEEPER or any(
        OmegaConf.select(shared.hydra, key) != value for key, value in settings
    )


def _class_name(config: DictConfig, plugin: str) -> str:
    return str(OmegaConf.select(config.hydra, f"{plugin}._target_")).rpartition(".")[2]


def sweep_jobs(
    overrides: Sequence[str], max_jobs: int | None = None, config_dir: str | None = None
) -> list[Job]:
    """Compose the jobs of `bnnbench run -m OVERRIDES`.

    Args:
        overrides: as typed.
        max_jobs: compose only the first jobs.
        config_dir: the folder of `--config-dir`.

    Raises:
        UserError: if a job cannot be composed.
    """
    prepared = prepare_overrides(overrides, sweep=True)
    with initialise_hydra(config_dir):
        given = _parse(prepared)
        return _compose_each(given, _compose_shared(given), max_jobs)


def single_job(overrides: Sequence[str]) -> Job:
    """Compose the job of `bnnbench run OVERRIDES`.

    Raises:
        UserError: if it cannot be composed, or the overrides are those of several jobs.
    """
    prepared = prepare_overrides(overrides)
    with initialise_hydra():
        given = _parse(prepared)
        jobs = _compose_each(given, _compose_shared(given), 2)
    if len(jobs) > 1:
        swept = [str(one.key_or_group) for one in given if one.is_sweep_override()]
        raise UserError(
            f"{' and '.join(swept) or 'the experiment'} would start several runs; give the "
            "settings of one.",
            swept[0] if swept else "experiment",
            "several_jobs",
        )
    return jobs[0]


def compose_configs(
    overrides: Sequence[str], max_jobs: int | None = None, config_dir: str | None = None
) -> list[dict[str, Any]]:
    """Return the resolved configuration of each of the `sweep_jobs`.

    Raises:
        UserError: if a job cannot be composed.
    """
    return [job.resolved() for job in sweep_jobs(overrides, max_jobs, config_dir)]


def _parse(overrides: Sequence[str]) -> list[Override]:
    loader = GlobalHydra.instance().config_loader()  # needed for glob(*)
    return OverridesParser.create(loader).parse_overrides(list(overrides))


def _compose_shared(given: Sequence[Override]) -> DictConfig:
    """Compose the overrides that all jobs share."""
    return _compose([str(one.input_line) for one in given if not one.is_sweep_override()])


def _compose(overrides: Sequence[str]) -> DictConfig:
    return compose(CONFIG_NAME, list(overrides), return_hydra_config=True)


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
    """Return the overrides of each job; the sweep of an experiment comes before `given`.

    The last override of a key replaces those before it, in their place, as in Hydra.
    """
    swept = shared.hydra.sweeper.params or {}
    choices: dict[str, list[str]] = {}
    for one in [*_parse([f"{key}={value}" for key, value in swept.items()]), *given]:
        key, many = one.get_key_element(), one.is_sweep_override()
        values = one.sweep_string_iterator() if many else [one.get_value_element_as_str()]
        choices[key] = [f"{key}={value}" for value in values]
    return [[o for o in job if not o.startswith("hydra.")] for job in product(*choices.values())]
