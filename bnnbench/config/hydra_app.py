"""Hands `bnnbench run` over to Hydra's own application: help, information, its own settings."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stderr
from tempfile import TemporaryDirectory

from hydra import main as hydra_main
from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig

from bnnbench.config.compose import Job, JobList
from bnnbench.config.configs import CONFIG_NAME, config_folder
from bnnbench.config.errors import CONFIG_ERRORS, to_user_error
from bnnbench.types import UserError


def run_hydra_app(
    words: Sequence[str], config_dir: str | None, run_jobs: Callable[[JobList], object]
) -> None:
    """Run Hydra's application.

    Args:
        words: arguments in the form that Hydra expects.
        config_dir: the folder of `--config-dir`.
        run_jobs: runs one job, if there are any.

    Raises:
        UserError: if Hydra refuses an argument.
        Exception: that `run_jobs` raises; no further job is started.
    """
    decorate = hydra_main(
        version_base="1.3", config_path=str(config_folder()), config_name=CONFIG_NAME
    )
    failures: list[Exception] = []

    def one_job(config: DictConfig) -> None:
        hydra = HydraConfig.get()
        is_sweep = hydra.mode is not None and hydra.mode.name == "MULTIRUN"
        try:
            if not failures:
                run_jobs(JobList(is_sweep, [Job(hydra.overrides.task, config)]))
        except Exception as error:  # Hydra would print more about it
            failures.append(error)

    with TemporaryDirectory(prefix="bnnbench-") as folder:
        # Hydra's own record of a sweep adds nothing to those of the runs, unless it is asked for.
        kept = any(word.startswith("hydra.sweep") for word in words)
        sys.argv = ["bnnbench", *words, *([] if kept else [f"hydra.sweep.dir='{folder}'"])]
        try:
            with _raise_hydra_exit(words):
                decorate(one_job)()
        except (*CONFIG_ERRORS, ValueError) as error:  # ValueError: a wrong defaults list
            raise to_user_error(error, config_dir) from None
    if failures:
        raise failures[0]


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
