"""Has Hydra look for options in every folder of configurations, not in ours alone."""

from __future__ import annotations

from hydra.core.config_search_path import ConfigSearchPath
from hydra.core.plugins import Plugins
from hydra.plugins.search_path_plugin import SearchPathPlugin

from bnnbench.cli.configs import config_folders


class Folders(SearchPathPlugin):
    """Hydra asks it whenever it begins: wherever options are composed, completed or listed."""

    def manipulate_search_path(self, search_path: ConfigSearchPath) -> None:
        """Adds the folders after ours; no two have a file of one name."""
        for folder in config_folders()[1:]:
            search_path.append("bnnbench", f"file://{folder.path}")


def register() -> None:
    """Tells Hydra of it."""
    Plugins.instance().register(Folders)
