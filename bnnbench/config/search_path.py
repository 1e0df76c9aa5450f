"""Adds the folders of plug-ins and of the current project to Hydra's search path."""

from __future__ import annotations

from hydra.core.config_search_path import ConfigSearchPath
from hydra.core.plugins import Plugins
from hydra.plugins.search_path_plugin import SearchPathPlugin

from bnnbench.config.configs import config_folders


class ConfigFolders(SearchPathPlugin):
    """Called by Hydra whenever it is initialised."""

    def manipulate_search_path(self, search_path: ConfigSearchPath) -> None:
        """Append the folders after ours; no two of them have files of the same name."""
        for folder in config_folders()[1:]:
            search_path.append("bnnbench", f"file://{folder.path}")


def register() -> None:
    """Register the plug-in with Hydra."""
    Plugins.instance().register(ConfigFolders)
