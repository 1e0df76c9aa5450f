"""`bnnbench run`: parses its arguments, which are those of Hydra, and runs every job."""

from __future__ import annotations

import os
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bnnbench.cli.parser import Parser
from bnnbench.cli.sweep_runner import SweepRunner
from bnnbench.config.compose import initialise_hydra
from bnnbench.config.overrides import prepare_overrides
from bnnbench.config.sweep import compose_jobs
from bnnbench.discovery import make_importable
from bnnbench.types import UserError

DRY_RUN = "--dry-run"

INFO = ("all", "config", "defaults", "defaults-tree", "plugins", "searchpath")

OPTIONS: Mapping[tuple[str, ...], Mapping[str, Any]] = {
    ("--help", "-h"): {"action": "store_true", "help": "all settings, with examples"},
    ("--hydra-help",): {"action": "store_true", "help": "help of Hydra"},
    ("--version",): {"action": "store_true", "help": "print the version"},
    ("--cfg", "-c"): {"choices": ["job", "hydra", "all"], "help": "print the configuration"},
    ("--resolve",): {"action": "store_true", "help": "with --cfg, resolve interpolations"},
    ("--package", "-p"): {"help": "with --cfg, print only this section"},
    ("--run", "-r"): {"action": "store_true", "help": "run one job"},
    ("--multirun", "-m"): {"action": "store_true", "help": "run all combinations of values"},
    ("--config-path", "-cp"): {"help": "a folder instead of configs"},
    ("--config-name", "-cn"): {"help": "a file instead of run.yaml"},
    ("--config-dir", "-cd"): {"help": "a folder with your own YAML files"},
    ("--experimental-rerun",): {"help": "a pickled configuration to run again"},
    ("--info", "-i"): {"const": "all", "nargs": "?", "choices": INFO, "help": "about Hydra"},
}
"""The options that `bnnbench run` shares with Hydra."""

EXCLUSIVE_OPTIONS = ("run", "multirun", "cfg", "info")
"""Options that exclude each other."""

JOB_OPTIONS = ("run", "multirun", "config_dir", "overrides")
"""Options that are handled without Hydra's own application."""


def run_command(arguments: Sequence[str]) -> int:
    """Run the jobs of a command line and return the exit code.

    Raises:
        UserError: for any mistake in the configuration.
    """
    os.environ["HYDRA_FULL_ERROR"] = "1"  # Hydra then raises errors instead of exiting
    words = hydra_arguments([word for word in arguments if word != DRY_RUN])
    given = option_parser().parse_args(words)
    config_dir = given.config_dir if given.config_dir and os.path.isdir(given.config_dir) else None
    if config_dir is not None:
        make_importable([Path(config_dir).resolve(), Path.cwd()])
    runner = SweepRunner(dry_run=DRY_RUN in arguments)
    jobs = None
    if not _needs_hydra_app(given):
        with initialise_hydra(config_dir):
            jobs = compose_jobs(given.overrides, given.multirun)
    if jobs is not None:
        runner.run(jobs)
        return runner.finish()
    from bnnbench.config.hydra_app import run_hydra_app

    run_hydra_app(words, config_dir, runner.run)
    return runner.finish()


def option_parser() -> ArgumentParser:
    """Return the parser of options and overrides."""
    parser = Parser(prog="bnnbench run", add_help=False)
    for names, settings in OPTIONS.items():
        parser.add_argument(*names, **settings)
    parser.add_argument("overrides", nargs="*")
    return parser


def hydra_arguments(words: Sequence[str]) -> list[str]:
    """Return the arguments in the form that Hydra expects: options first, then quoted overrides.

    Raises:
        UserError: for anything that Hydra would misread.
    """
    given = _parse_options(words)
    others = list(words)
    for override in given.overrides:
        others.remove(override)
    if others[-1:] in (["--info"], ["-i"]):  # or it would take the first override for its value
        others.append(given.info)
    return [*others, *prepare_overrides(given.overrides, given.multirun)]


def _parse_options(words: Sequence[str]) -> Namespace:
    """Separate the options from the overrides, in any order.

    Raises:
        UserError: if an option is unknown, lacks its value or excludes another.
    """
    given = option_parser().parse_args(list(words))
    exclusive = [name for name in EXCLUSIVE_OPTIONS if getattr(given, name) not in (None, False)]
    if len(exclusive) > 1:
        first, second = (f"--{name.replace('_', '-')}" for name in exclusive[:2])
        raise UserError(f"{first} and {second} cannot be combined; give one of them.", second)
    if given.resolve and not (given.cfg or given.help):
        raise UserError("--resolve needs --cfg job.", "--resolve")
    return given


def _needs_hydra_app(given: Namespace) -> bool:
    """Whether an option asks for help or information, or names a folder that does not exist."""
    if given.config_dir is not None and not os.path.isdir(given.config_dir):
        return True  # Hydra reports it
    others = (value for name, value in vars(given).items() if name not in JOB_OPTIONS)
    return any(value not in (None, False) for value in others)
