"""Completes settings, for Tab in a shell."""

from __future__ import annotations

from hydra.core.global_hydra import GlobalHydra
from hydra.plugins.completion_plugin import DefaultCompletionPlugin

from bnnbench.config.compose import initialise_hydra
from bnnbench.config.configs import CONFIG_NAME
from bnnbench.config.errors import CONFIG_ERRORS


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
