"""Caches configuration files, which Hydra would read again for every job of a command."""

from __future__ import annotations

import pickle
from typing import Any

from hydra._internal.config_loader_impl import ConfigLoaderImpl
from hydra._internal.config_repository import ConfigRepository
from hydra.core.config_search_path import ConfigSearchPath
from hydra.core.global_hydra import GlobalHydra
from hydra.plugins.config_source import ConfigResult


class CachedConfigRepository(ConfigRepository):
    """Hydra's repository, reading each file once.

    Attributes:
        search_path: where files are looked for.
        cache: pickled files, by the searched places and the name.
    """

    def __init__(self, search_path: ConfigSearchPath, cache: dict[tuple[str, ...], bytes]) -> None:
        super().__init__(search_path)
        self.search_path, self.cache = search_path, cache

    def __deepcopy__(self, memo: dict[int, Any]) -> CachedConfigRepository:
        """Share the cache: Hydra copies the repository for every configuration."""
        return CachedConfigRepository(self.search_path, self.cache)

    def load_config(self, config_path: str) -> ConfigResult | None:
        """Return the contents of a file, as a copy that the caller may change."""
        key = (*(f"{source.provider} {source.path}" for source in self.sources), config_path)
        if key not in self.cache:
            self.cache[key] = pickle.dumps(super().load_config(config_path))
        found: ConfigResult | None = pickle.loads(self.cache[key])
        return found


def cache_config_files() -> None:
    """Cache files until Hydra is initialised again."""
    loader = GlobalHydra.instance().config_loader()
    assert isinstance(loader, ConfigLoaderImpl)
    loader.repository = CachedConfigRepository(loader.get_search_path(), {})
