"""Expands a command line into jobs and composes their configurations with Hydra.

Hydra searches our folders, caches their files and knows our resolvers. It also completes settings,
for Tab in a shell.
"""

from __future__ import annotations

import errno
import math
import pickle
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from itertools import islice, product
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from hydra import compose, initialize_config_dir
from hydra.core.config_search_path import ConfigSearchPath
from hydra.core.global_hydra import GlobalHydra
from hydra.core.object_type import ObjectType
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.plugins import Plugins
from hydra.plugins.completion_plugin import DefaultCompletionPlugin
from hydra.plugins.config_source import ConfigResult, ConfigSource
from hydra.plugins.search_path_plugin import SearchPathPlugin
from omegaconf import DictConfig, OmegaConf, open_dict

from bnnbench.config.configs import CONFIG_NAME, GROUPS, config_folder, config_folders, is_option
from bnnbench.config.errors import (
    CONFIG_ERRORS,
    hydra_setting_error,
    not_a_mapping,
    to_user_error,
)
from bnnbench.config.hydra_state import own_hydra
from bnnbench.config.overrides import MAX_JOBS, prepare_overrides
from bnnbench.notes import join_words
from bnnbench.results.settings import format_value
from bnnbench.types import UserError

if TYPE_CHECKING:
    from hydra.core.override_parser.types import Override

_config_dirs: ContextVar[tuple[str, ...] | None] = ContextVar("config_dirs", default=None)
"""The folder of `--config-dir`, if any; None outside of `initialise_hydra`, without our cache."""

OWN_PROVIDERS = ("bnnbench", "command-line")
"""Names of the search path's entries for plug-ins, projects, and `--config-dir`."""

CACHED = "cached-"
"""Beginning of the schemes of sources that read every file once per process."""

_files: dict[tuple[str, str], bytes] = {}
"""Pickled files by source and name; they do not change while a process runs."""


def _cached(kind: type[Any]) -> type[ConfigSource]:
    """Return a Hydra source like `kind` that reads every file once, not for every job."""

    def load_config(source: ConfigSource, config_path: str) -> ConfigResult:
        key = source.full_path(), config_path
        if key not in _files:
            _files[key] = pickle.dumps(kind.load_config(source, config_path))
        copied: ConfigResult = pickle.loads(_files[key])  # the caller may change it
        return copied

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
        _, *external = config_folders()
        for folder in external:
            search_path.append(OWN_PROVIDERS[0], f"file://{folder}")
        for given in config_dirs or ():
            search_path.append(OWN_PROVIDERS[1], f"file://{Path(given).absolute()}")


@contextmanager
def initialise_hydra(config_dir: str | None = None) -> Iterator[None]:
    """Initialise Hydra for composing.

    Args:
        config_dir: the folder of `--config-dir`, which is searched after `configs`.

    Raises:
        UserError: for an error of Hydra, OmegaConf or YAML in the body.
    """
    token = _config_dirs.set(() if config_dir is None else (config_dir,))
    try:
        with own_hydra(), initialize_config_dir(str(config_folder()), version_base="1.3"):
            yield
    except UserError:
        raise
    except (*CONFIG_ERRORS, ValueError) as error:  # ValueError: a wrong defaults list
        raise to_user_error(error, config_dir) from None
    except OSError as error:
        if error.errno is None:  # OmegaConf's error for a file without settings
            raise UserError(
                f"a YAML file must contain settings by name ({error}).", code="no_settings"
            ) from None
        if error.errno != errno.ENAMETOOLONG:
            raise
        raise UserError("the name of an option is too long.", code="too_long") from None
    finally:
        _config_dirs.reset(token)


with own_hydra():
    for _source in Plugins.instance().discover(ConfigSource):
        Plugins.instance().register(_cached(_source))
    Plugins.instance().register(ConfigFolders)


SWEEP, MULTIRUN = "sweep", "multirun"
"""Keys of an experiment: the values that it sweeps over, and whether it does so without `-m`."""


class Job(NamedTuple):
    """One job of a command line.

    Attributes:
        overrides: of this job.
        config: the composed configuration, unresolved; without the sweep of its experiment.
    """

    overrides: Sequence[str]
    config: DictConfig

    def resolved(self) -> dict[str, Any]:
        """Return the configuration as plain containers.

        Raises:
            UserError: if a value is missing or cannot be resolved.
        """
        try:
            with own_hydra():  # with our resolvers
                for group in GROUPS:  # first, since other settings refer to their contents
                    if group in self.config and not isinstance(self.config[group], DictConfig):
                        raise not_a_mapping(group, self.config[group])
                return OmegaConf.to_container(  # type: ignore[return-value]
                    self.config, resolve=True, throw_on_missing=True
                )
        except CONFIG_ERRORS as error:
            raise to_user_error(error) from None

    def chosen_name(self, group: str, key: str) -> str:
        """Return the name of the chosen option, even if the configuration is invalid."""
        try:
            with own_hydra():
                return str(self.config[group][key])
        except (*CONFIG_ERRORS, TypeError):
            return "the configuration"


class JobList(NamedTuple):
    """The jobs of a command line.

    Attributes:
        is_sweep: whether `-m` or the experiment asks for a sweep.
        jobs: in order.
    """

    is_sweep: bool
    jobs: Sequence[Job]


def compose_jobs(overrides: Sequence[str], multirun: bool) -> JobList:
    """Compose each job of a command line once.

    Hydra must be initialised.

    Args:
        overrides: quoted for Hydra's grammar.
        multirun: whether `-m` is given.

    Raises:
        HydraException: if they cannot be composed.
    """
    given = _parse(overrides)
    experiment = _compose_experiment(given)
    if multirun or experiment.get(MULTIRUN):
        return JobList(True, _compose_each(given, experiment))
    return JobList(False, [_job(overrides, _compose(overrides))])


def config_text(overrides: Sequence[str], section: str | None = None, resolve: bool = False) -> str:
    """Return the configuration of one job as YAML.

    Hydra must be initialised.

    Args:
        overrides: quoted for Hydra's grammar.
        section: print only this part.
        resolve: whether to replace interpolations by their values.

    Raises:
        HydraException: if they cannot be composed.
        UserError: if the section does not exist.
    """
    config = _job(overrides, _compose(overrides)).config
    if section is None:
        return OmegaConf.to_yaml(config, resolve=resolve)
    found: Any = OmegaConf.select(config, section)
    if found is None:
        raise UserError(f"--package: the configuration has no section {section}.", "--package")
    return OmegaConf.to_yaml(found, resolve=resolve) if OmegaConf.is_config(found) else f"{found}\n"


def setting_values(overrides: Sequence[str], keys: Sequence[str]) -> dict[str, str]:
    """Return the values of those settings that a configuration has; Hydra must be initialised."""
    config = _job(overrides, _compose(overrides)).config
    values = {key: OmegaConf.select(config, key) for key in keys}
    return {key: format_value(value) for key, value in values.items() if value is not None}


def group_options() -> dict[str, list[str]]:
    """Return every group with its options; Hydra must be initialised."""
    loader = GlobalHydra.instance().config_loader()
    return {
        group: list(filter(is_option, sorted(loader.get_group_options(group, ObjectType.CONFIG))))
        for group in GROUPS
    }


def matching_settings(line: str, config_dir: str | None) -> list[str]:
    """Return the settings that complete the last word of a line.

    Args:
        line: options and quoted overrides; the last may be incomplete.
        config_dir: the folder of `--config-dir`.
    """
    with initialise_hydra(config_dir):
        plugin = DefaultCompletionPlugin(GlobalHydra.instance().config_loader())
        try:
            found = plugin._query(CONFIG_NAME, line or " ")
            # Leave out base files of options, `_target_`, and settings of Hydra itself.
            hidden = ("=_", "._", "hydra.", "hydra/")
            return [word for word in found if not any(part in word for part in hidden)]
        except CONFIG_ERRORS:  # the words before are wrong, which `run` will report
            return []


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
        return _compose_each(given, _compose_experiment(given), max_jobs)


def single_job(overrides: Sequence[str]) -> Job:
    """Compose the job of `bnnbench run OVERRIDES`.

    Raises:
        UserError: if it cannot be composed, or the overrides are those of several jobs.
    """
    prepared = prepare_overrides(overrides)
    with initialise_hydra():
        given = _parse(prepared)
        jobs = _compose_each(given, _compose_experiment(given), 2)
    if len(jobs) > 1:
        swept = [str(one.key_or_group) for one in given if one.is_sweep_override()]
        raise UserError(
            f"{' and '.join(swept) or 'the experiment'} would start several runs; give the "
            "settings of one.",
            swept[0] if swept else "experiment",
            "several_jobs",
        )
    return jobs[0]


def _parse(overrides: Sequence[str]) -> list[Override]:
    loader = GlobalHydra.instance().config_loader()  # needed for glob(*)
    return OverridesParser.create(loader).parse_overrides(list(overrides))


def _compose_experiment(given: Sequence[Override]) -> DictConfig:
    """Compose the chosen experiment alone, for its sweep; empty if none, or several, are chosen.

    Other overrides are left to the jobs: a setting may belong to an option that only jobs choose.
    """
    chosen = [one for one in given if one.key_or_group == "experiment"]
    if not chosen or any(one.is_sweep_override() for one in chosen):
        return OmegaConf.create()
    return _compose([str(one.input_line) for one in chosen])


def _compose(overrides: Sequence[str]) -> DictConfig:
    """Compose a configuration; the user's files must not contain settings of Hydra itself."""
    search_path = GlobalHydra.instance().config_loader().get_search_path().get_path()
    with_own_files = any(entry.provider in OWN_PROVIDERS for entry in search_path)
    try:
        config = compose(CONFIG_NAME, list(overrides), return_hydra_config=True)
    except (AttributeError, LookupError, TypeError, AssertionError) as error:
        if not with_own_files:
            raise
        raise UserError(
            f"cannot compose your own YAML files ({type(error).__name__}: {error}); remove keys "
            "that begin with hydra.",
            code="not_composed",
        ) from None
    if with_own_files:
        given = _hydra_section(config)
        for key, value in _default_hydra_section().items():
            if given[key] != value:
                raise hydra_setting_error(f"hydra.{key}")
    with open_dict(config):
        del config["hydra"]
    return config


@cache
def _default_hydra_section() -> dict[str, Any]:
    return _hydra_section(compose(CONFIG_NAME, return_hydra_config=True))


def _hydra_section(config: DictConfig) -> dict[str, Any]:
    """Return the settings of Hydra that no override of ours changes."""
    section: Any = OmegaConf.to_container(config.hydra)
    del section["overrides"], section["runtime"], section["job"]["override_dirname"]
    return dict(section)


def _job(overrides: Sequence[str], config: DictConfig) -> Job:
    """Return a job without the sweep of its experiment."""
    kept = [str(key) for key in config if key not in (SWEEP, MULTIRUN)]
    return Job(list(overrides), OmegaConf.masked_copy(config, kept))


def _compose_each(
    given: Sequence[Override], experiment: DictConfig, max_jobs: int | None = None
) -> list[Job]:
    """Compose the jobs, or the first few.

    Raises:
        UserError: if one of several jobs cannot be composed, with what distinguishes it.
    """
    swept: Any = experiment.get(SWEEP) or OmegaConf.create()
    if not isinstance(swept, Mapping):
        raise not_a_mapping(SWEEP, swept)
    keys = {*swept, *(one.get_key_element() for one in given if one.is_sweep_override())}
    jobs = []
    for words in _split_jobs(given, swept)[:max_jobs]:
        try:
            jobs.append(_job(words, _compose(words)))
        except CONFIG_ERRORS as error:
            found = to_user_error(error, *(_config_dirs.get() or ()))
            own = [word for word in words if word.partition("=")[0] in keys]
            text = ": ".join([*([" ".join(own)] if own else []), str(found)])
            raise UserError(text, found.setting, found.code) from None
    return jobs


def _split_jobs(given: Sequence[Override], swept: Mapping[str, Any]) -> list[list[str]]:
    """Return the overrides of each job; the sweep of an experiment comes before `given`.

    The last override of a key takes the position of earlier ones, as in Hydra.

    Raises:
        UserError: if there are more than `MAX_JOBS`.
    """
    words = prepare_overrides([f"{key}={value}" for key, value in swept.items()], sweep=True)
    choices: dict[str, list[str]] = {}
    for one in [*_parse(words), *given]:
        key, many = one.get_key_element(), one.is_sweep_override()
        values = one.sweep_string_iterator() if many else [one.get_value_element_as_str()]
        choices[key] = [f"{key}={value}" for value in islice(values, MAX_JOBS + 1)]
    count = math.prod(map(len, choices.values()))
    if count > MAX_JOBS:
        keys = [key for key, values in choices.items() if len(values) > 1]
        raise UserError(
            f"{join_words(keys)} would start {count:,} runs; give values for at most {MAX_JOBS:,}.",
            keys[0],
            "too_many_jobs",
        )
    return [list(job) for job in product(*choices.values())]
