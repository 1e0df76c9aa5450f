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
