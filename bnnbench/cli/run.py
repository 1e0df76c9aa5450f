"""`bnnbench run`: every job of a line composed, checked and run in this process."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from hydra._internal.utils import get_args_parser

from bnnbench.cli.by_hydra import asks_hydra, run_by_hydra
from bnnbench.cli.compose import CONFIGURATION, initialised, sentence
from bnnbench.cli.jobs import Jobs
from bnnbench.cli.line import Line, line_of
from bnnbench.cli.words import DRY, config_dir_of, hydra_words
from bnnbench.project import make_importable
from bnnbench.types import UserError


def run_command(overrides: Sequence[str]) -> int:
    """Runs what a line asks for.

    Raises:
        UserError: for everything the configuration can get wrong.
    """
    os.environ["HYDRA_FULL_ERROR"] = "1"  # errors come back here instead of ending the process
    words = hydra_words([word for word in overrides if word != DRY])
    own = config_dir_of(words)
    if own is not None:
        make_importable([Path(own).resolve(), Path.cwd()])
    with TemporaryDirectory(prefix="bnnbench-") as aside:
        jobs = Jobs(Path(aside), dry=DRY in overrides)
        given = get_args_parser().parse_args(words)
        line = None if asks_hydra(given) else _line(given.overrides, given.multirun, own)
        if line is None:
            run_by_hydra(words, jobs, own)
        else:
            jobs.run(line)
    return jobs.conclude()


def _line(settings: Sequence[str], several: bool, own: str | None) -> Line | None:
    """The jobs that settings stand for, unless Hydra is to run them."""
    try:
        with initialised(own):
            return line_of(settings, several)
    except (*CONFIGURATION, ValueError) as error:  # the last is about a defaults list
        raise UserError(sentence(error, own)) from None
