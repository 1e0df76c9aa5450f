"""Errors for unknown options, with a suggestion where a name is close."""

from __future__ import annotations

from collections.abc import Sequence

from bnnbench.discovery import FILE, project
from bnnbench.near_names import closest_match, with_known
from bnnbench.types import UserError

CLOSED_GROUPS = ("depth", "device")
"""Groups to which users cannot add options."""


def unknown_option(
    group: str, value: str, names: Sequence[str], has_config_dir: bool = False
) -> UserError:
    """Return the error for an option that does not exist.

    Args:
        group: the config group.
        value: the given option.
        names: the options of the group.
        has_config_dir: whether the command line names a folder of options.
    """
    word = value.strip("[]{}'\" ")
    closed = has_config_dir or group in CLOSED_GROUPS or project() is not None
    own = (
        ""
        if closed or closest_match(word, names)
        else f"; options of your own need a {FILE} in this folder"
    )
    return UserError(f"unknown {group} {with_known(word, names)}{own}.", group, "unknown_option")
