"""Files of the configuration read once for all jobs of a command, for each of which Hydra asks."""

from __future__ import annotations

import pickle
from typing import Any

from hydra._internal.config_loader_impl import ConfigLoaderImpl
from hydra._internal.config_repository import ConfigRepository
from hydra.core.config_search_path import ConfigSearchPath
from hydra.core.global_hydra import GlobalHydra
from hydra.plugins.config_source import ConfigResult


class ReadOnce(ConfigRepository):
    """Hydra's repository, which reads no file twice.

    Attributes:
        search_path: where files are looked for.
        read: what each file came to, by where it was looked for and its name.
    """

    def __init__(self, search_path: ConfigSearchPath, read: dict[tuple[str, ...], bytes]) -> None:
        super().__init__(search_path)
        self.search_path, self.read = search_path, read

    def __deepcopy__(self, memo: dict[int, Any]) -> ReadOnce:
        """Hydra makes itself a copy for each configuration; all of them share what was read."""
        return ReadOnce(self.search_path, self.read)

    def load_config(self, config_path: str) -> ConfigResult | None:
        """What a file holds: the caller's own, since it may be changed."""
        key = (*(f"{source.provider} {source.path}" for source in self.sources), config_path)
        if key not in self.read:
            self.read[key] = pickle.dumps(super().load_config(config_path))
        found: ConfigResult | None = pickle.loads(self.read[key])
        return found


def read_once() -> None:
    """From here on, until Hydra is initialised again."""
    loader = GlobalHydra.instance().config_loader()
    assert isinstance(loader, ConfigLoaderImpl)
    loader.repository = ReadOnce(loader.get_search_path(), {})
