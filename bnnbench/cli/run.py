"""`bnnbench run`: composes, checks and runs every job of a command line."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from bnnbench.cli.run_arguments import DRY_RUN, find_config_dir, hydra_arguments
from bnnbench.cli.sweep_runner import SweepRunner, build_run
from bnnbench.config.compose import CONFIG_ERRORS, initialise_hydra, to_user_error
from bnnbench.config.hydra_app import needs_hydra_app, run_hydra_app
from bnnbench.config.hydra_options import option_parser
from bnnbench.config.instantiate import Config
from bnnbench.config.sweep import JobList, compose_jobs
from bnnbench.project import make_importable


def run_command(arguments: Sequence[str]) -> int:
    """Run the jobs of a command line and return the exit code.

    Raises:
        UserError: for any mistake in the configuration.
    """
    os.environ["HYDRA_FULL_ERROR"] = "1"  # Hydra then raises errors instead of exiting
    words = hydra_arguments([word for word in arguments if word != DRY_RUN])
    config_dir = find_config_dir(words)
    if config_dir is not None:
        make_importable([Path(config_dir).resolve(), Path.cwd()])
    runner = SweepRunner(dry_run=DRY_RUN in arguments)
    given = option_parser().parse_args(words)
    jobs = None
    if not needs_hydra_app(given):
        jobs = _compose_jobs(given.overrides, given.multirun, config_dir)
    if jobs is None:
        run_hydra_app(words, config_dir, partial(_run_job, runner))
    else:
        runner.run(jobs)
    return runner.finish()


def _run_job(
    runner: SweepRunner, is_sweep: bool, config: Callable[[], Config], overrides: Sequence[str]
) -> None:
    """Run a job that Hydra started."""
    runner.is_sweep = is_sweep
    run = runner.collect_errors(partial(build_run, config, overrides))
    if run is not None:
        runner.execute([run])


def _compose_jobs(
    overrides: Sequence[str], multirun: bool, config_dir: str | None
) -> JobList | None:
    """Compose the jobs, or return None if the configuration needs Hydra's own application."""
    try:
        with initialise_hydra(config_dir):
            return compose_jobs(overrides, multirun)
    except (*CONFIG_ERRORS, ValueError) as error:  # ValueError: a wrong defaults list
        raise to_user_error(error, config_dir) from None
