"""Hands `bnnbench run` over to Hydra's own application: help, information, its own settings."""

from __future__ import annotations

import io
import os
import re
import sys
from argparse import Namespace
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stderr
from functools import partial
from tempfile import TemporaryDirectory
from traceback import walk_tb
from typing import Any

from hydra import main as hydra_main
from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig

from bnnbench.config.compose import CONFIG_ERRORS, CONFIG_NAME, to_dict, to_user_error
from bnnbench.config.configs import config_folder
from bnnbench.types import UserError

RunJob = Callable[[bool, Callable[[], dict[str, Any]], Sequence[str]], None]
"""Runs a job: whether it belongs to a sweep, its configuration, its overrides."""

JOB_OPTIONS = {"run", "multirun", "config_dir", "overrides"}
"""Options of Hydra that we handle without its application."""


def needs_hydra_app(given: Namespace) -> bool:
    """Whether an option asks for help or information, or names a folder that does not exist.

    Args:
        given: the parsed options of Hydra.
    """
    if given.config_dir is not None and not os.path.isdir(given.config_dir):
        return True  # Hydra reports it
    return any(
        value not in (None, False) for name, value in vars(given).items() if name not in JOB_OPTIONS
    )


def run_hydra_app(words: Sequence[str], config_dir: str | None, run_job: RunJob) -> None:
    """Run Hydra's application.

    Args:
        words: arguments in the form that Hydra expects.
        config_dir: the folder of `--config-dir`.
        run_job: runs a job, if there are any.

    Raises:
        UserError: if Hydra refuses an argument.
    """
    _hide_subcommand()
    decorate = hydra_main(
        version_base="1.3", config_path=str(config_folder()), config_name=CONFIG_NAME
    )

    def one_job(config: DictConfig) -> None:
        hydra = HydraConfig.get()
        is_sweep = hydra.mode is not None and hydra.mode.name == "MULTIRUN"
        run_job(is_sweep, partial(to_dict, config), hydra.overrides.task)

    with TemporaryDirectory(prefix="bnnbench-") as sweep_dir:
        # Hydra's own record of a sweep adds nothing to those of the runs.
        completing = {"-sc", "--shell-completion"} & {*words}
        sys.argv = ["bnnbench", *words, *([] if completing else [f"hydra.sweep.dir='{sweep_dir}'"])]
        try:
            with _raise_hydra_exit(words):
                decorate(one_job)()
        except CONFIG_ERRORS as error:
            raise to_user_error(error, config_dir) from None
        except ValueError as error:  # from Hydra: a wrong defaults list; from a job: a bug
            if any(frame.f_code is one_job.__code__ for frame, _ in walk_tb(error.__traceback__)):
                raise
            raise to_user_error(error) from None


@contextmanager
def _raise_hydra_exit(words: Sequence[str]) -> Iterator[None]:
    """Raise what Hydra prints before it exits, if `--package` names an unknown part."""
    if not any(word.startswith(("-p", "--package")) for word in words):
        yield
        return
    printed = io.StringIO()
    try:
        with redirect_stderr(printed):
            yield
    except SystemExit as stop:
        if stop.code:
            raise UserError(f"{printed.getvalue().strip()}.", "--package") from None
        raise


def _hide_subcommand() -> None:
    """Rewrite `bnnbench run method=` to `bnnbench method=` for Hydra's completion."""
    line = os.environ.get("COMP_LINE", "")
    hidden = re.sub(r"^(\S+\s+)run\s+", r"\1", line)
    if hidden != line:
        point = int(os.environ.get("COMP_POINT", len(line)))
        os.environ["COMP_POINT"] = str(max(0, point - (len(line) - len(hidden))))
        os.environ["COMP_LINE"] = hidden
