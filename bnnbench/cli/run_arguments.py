"""The arguments of `bnnbench run`: options in any order, then overrides."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence

from bnnbench.cli.parser import Parser
from bnnbench.config.hydra_options import option_parser
from bnnbench.config.overrides import check_overrides, check_sweep, quote_overrides
from bnnbench.types import UserError

DRY_RUN = "--dry-run"

EXCLUSIVE_OPTIONS = ("run", "multirun", "cfg", "info", "shell_completion")
"""Options of Hydra that exclude each other."""


def hydra_arguments(words: Sequence[str]) -> list[str]:
    """Return the arguments in the form that Hydra expects: options first, then quoted overrides.

    Raises:
        UserError: for anything that Hydra would misread.
    """
    given = _parse_options(words)
    overrides = list(given.overrides)
    others = list(words)
    for override in overrides:
        others.remove(override)
    if others[-1:] in (["--info"], ["-i"]):  # or it would take the first override for its value
        others.append(given.info)
    if given.shell_completion:
        return [*others, *overrides]
    check_overrides(overrides)
    quoted = quote_overrides(overrides, sweep=given.multirun)
    for override in quoted:
        check_sweep(override)
    return [*others, *quoted]


def find_config_dir(words: Sequence[str]) -> str | None:
    """Return the existing folder that `--config-dir` names, if any; `words` may be incomplete."""
    try:
        given = option_parser().parse_known_args(list(words))[0].config_dir
    except SystemExit:  # the value is missing
        return None
    return given if given is not None and os.path.isdir(given) else None


def _parse_options(words: Sequence[str]) -> argparse.Namespace:
    """Separate the options of Hydra from the overrides, in any order.

    Raises:
        UserError: if an option is unknown, lacks its value or excludes another.
    """
    parser = Parser(
        prog="bnnbench run",
        add_help=False,
        parents=[option_parser()],
        conflict_handler="resolve",
    )
    given = parser.parse_args(list(words))
    exclusive = [name for name in EXCLUSIVE_OPTIONS if getattr(given, name) not in (None, False)]
    if len(exclusive) > 1:
        first, second = (f"--{name.replace('_', '-')}" for name in exclusive[:2])
        raise UserError(f"{first} and {second} cannot be combined; give one of them.", second)
    if given.resolve and not (given.cfg or given.help):
        raise UserError("--resolve needs --cfg job.", "--resolve")
    if given.shell_completion and not given.overrides:
        raise UserError("-sc needs install=SHELL, such as install=bash.", "-sc")
    return given
