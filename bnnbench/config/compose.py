"""Initialises Hydra with our folders, caches and resolvers, and resolves configurations."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from pathlib import Path
from typing import Any

from hydra import initialize_config_dir
from hydra.core.config_search_path import ConfigSearchPath
from hydra.core.global_hydra import GlobalHydra
from hydra.core.object_type import ObjectType
from hydra.core.plugins import Plugins
from hydra.plugins.config_source import ConfigResult, ConfigSource
from hydra.plugins.search_path_plugin import SearchPathPlugin
from omegaconf import DictConfig, OmegaConf

from bnnbench.config import auto_protocol
from bnnbench.config.configs import GROUPS, config_folder, config_folders, is_option
from bnnbench.config.errors import CONFIG_ERRORS, not_a_mapping, to_user_error

_config_dirs: ContextVar[tuple[str, ...] | None] = ContextVar("config_dirs", default=None)
"""The folder of `--config-dir`, if any; None in Hydra's own application, which reads it itself."""


class CachedSource(ConfigSource):
    """A source of Hydra that reads every file once per process; otherwise once per job.

    `cached://file:///a/configs` wraps `file:///a/configs`.

    Attributes:
        source: the wrapped source.
    """

    def __init__(self, provider: str, path: str) -> None:
        super().__init__(provider, path)
        self.source = _source(provider, self.path)

    def __deepcopy__(self, memo: dict[int, Any]) -> CachedSource:
        """Share the source and its cache: Hydra copies all sources for every configuration."""
        return self

    @staticmethod
    def scheme() -> str:
        """Return the beginning of its paths."""
        return "cached"

    def load_config(self, config_path: str) -> ConfigResult:
        """Return the content of a file, as a copy that the caller may change."""
        return pickle.loads(_pickled_file(self.source, config_path))

    def is_group(self, config_path: str) -> bool:
        """Return whether a path is a folder."""
        return _is_group(self.source, config_path)

    def is_config(self, config_path: str) -> bool:
        """Return whether a path is a file."""
        return _is_config(self.source, config_path)

    def available(self) -> bool:
        """Return whether its folder exists."""
        return bool(self.source.available())

    def list(self, config_path: str, results_filter: ObjectType | None) -> list[str]:
        """Return the names in a folder."""
        found: list[str] = self.source.list(config_path, results_filter)
        return found

    def __repr__(self) -> str:
        return repr(self.source)


@cache
def _source(provider: str, path: str) -> ConfigSource:
    for kind in Plugins.instance().discover(ConfigSource):
        if issubclass(kind, ConfigSource) and path.startswith(f"{kind.scheme()}://"):
            return kind(provider, path)
    raise ValueError(f"no source of Hydra reads {path}")


@cache
def _pickled_file(source: ConfigSource, config_path: str) -> bytes:
    return pickle.dumps(source.load_config(config_path))


@cache
def _is_group(source: ConfigSource, config_path: str) -> bool:
    return bool(source.is_group(config_path))


@cache
def _is_config(source: ConfigSource, config_path: str) -> bool:
    return bool(source.is_config(config_path))


class ConfigFolders(SearchPathPlugin):
    """Adds folders to Hydra's search path; called by Hydra whenever it is initialised."""

    def manipulate_search_path(self, search_path: ConfigSearchPath) -> None:
        """Cache our folder and that of Hydra; append those of plug-ins and of the user."""
        config_dirs = _config_dirs.get()
        for entry in search_path.get_path() if config_dirs is not None else ():
            full = entry.path if "://" in entry.path else f"file://{entry.path}"
            entry.path = f"{CachedSource.scheme()}://{full}"
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


Plugins.instance().register(CachedSource)
Plugins.instance().register(ConfigFolders)
OmegaConf.register_new_resolver("choices", _choices, replace=True)
OmegaConf.register_new_resolver(auto_protocol.RESOLVER, auto_protocol.resolve, replace=True)
