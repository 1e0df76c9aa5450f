"""Hands `bnnbench run` over to Hydra's own application: help, information, launchers."""

from __future__ import annotations

import io
import os
import re
import sys
from argparse import Namespace
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, suppress
from functools import partial
from traceback import walk_tb
from typing import TYPE_CHECKING

from hydra import main as hydra_main
from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig

from bnnbench.cli.sweep_runner import SweepRunner, build_run
from bnnbench.config.compose import CONFIG_ERRORS, CONFIG_NAME, to_dict, to_user_error
from bnnbench.config.configs import config_folder
from bnnbench.notes import note, status_message
from bnnbench.types import UserError

if TYPE_CHECKING:
    from bnnbench.experiment.run import Run

JOB_OPTIONS = {"run", "multirun", "config_dir", "overrides"}
"""Options of Hydra that we handle without its application."""


def needs_hydra_app(given: Namespace) -> bool:
    """Whether a command line asks for more than composing: help, a launcher, a working directory.

    Args:
        given: the parsed options of Hydra.
    """
    if any(word.lstrip("+~").startswith("hydra") for word in given.overrides):
        return True
    if given.config_dir is not None and not os.path.isdir(given.config_dir):
        return True  # Hydra reports it
    return any(
        value not in (None, False) for name, value in vars(given).items() if name not in JOB_OPTIONS
    )


def run_hydra_app(words: Sequence[str], runner: SweepRunner, config_dir: str | None) -> None:
    """Run Hydra's application.

    Args:
        words: arguments in the form that Hydra expects.
        runner: runs the jobs, if there are any, and collects their errors.
        config_dir: the folder of `--config-dir`.

    Raises:
        UserError: if Hydra or its launcher refuses an argument.
    """
    _hide_subcommand()
    _check_launcher(words)
    completing = {"-sc", "--shell-completion"} & {*words}
    # Hydra's own record of a sweep adds nothing to those of the runs.
    sweep_dir = [] if completing else [f"hydra.sweep.dir='{runner.message_dir}'"]
    sys.argv = ["bnnbench", *words, *sweep_dir]
    decorate = hydra_main(
        version_base="1.3", config_path=str(config_folder()), config_name=CONFIG_NAME
    )

    def one_job(config: DictConfig) -> None:
        runner.is_sweep = _is_sweep()
        runner.collect_errors(lambda: runner.run_one(_build_job(config)))

    try:
        with _watch_launcher(runner, words, config_dir), _raise_hydra_exit(words):
            decorate(one_job)()
    except CONFIG_ERRORS as error:
        raise to_user_error(error, config_dir) from None
    except ValueError as error:  # from Hydra: a wrong defaults list; from a job: a bug
        if any(frame.f_code is one_job.__code__ for frame, _ in walk_tb(error.__traceback__)):
            raise
        raise to_user_error(error) from None


def _build_job(config: DictConfig) -> Run:
    """Build the run of a job that Hydra started.

    Raises:
        UserError: for anything that is wrong with it.
    """
    hydra = HydraConfig.get()
    run = build_run(partial(to_dict, config), hydra.overrides.task, _n_parallel())
    if _is_sweep() and _uses_launcher() and run.engine.remote:
        raise UserError(
            f"engine={run.engine.name} distributes the runs of a sweep itself; leave out "
            "hydra/launcher.",
            "hydra/launcher",
        )
    return run


def _is_sweep() -> bool:
    mode = HydraConfig.get().mode
    return mode is not None and mode.name == "MULTIRUN"


def _uses_launcher() -> bool:
    """Whether Hydra starts the jobs of a sweep in separate processes."""
    return not str(HydraConfig.get().launcher["_target_"]).endswith(".BasicLauncher")


def _n_parallel() -> int:
    """Return how many jobs the launcher runs in parallel; its value -1 means one per core."""
    from bnnbench.experiment.workers import available_cores

    jobs = HydraConfig.get().launcher.get("n_jobs", 1) if _is_sweep() else 1
    return available_cores() if jobs == -1 else jobs


@contextmanager
def _watch_launcher(
    runner: SweepRunner, words: Sequence[str], config_dir: str | None
) -> Iterator[None]:
    """Show the progress of a sweep whose jobs a launcher runs in separate processes.

    Args:
        runner: reads the errors of those processes in the end.
        words: arguments in the form that Hydra expects.
        config_dir: the folder of `--config-dir`.
    """
    if not any(word.startswith("hydra/launcher=") for word in words):
        yield
        return
    with status_message("reading the runs of the sweep"):
        from bnnbench.experiment.progress import watch_sweep
        from bnnbench.experiment.sweep_progress import SweepProgress

        settings = [word for word in words if "=" in word and not word.startswith("-")]
        runs = _build_runs(settings, config_dir)
    _note_split_stacks(runs)
    with watch_sweep(SweepProgress(runs)):
        yield
    runner.read_messages([run.folder for run in runs if run.complete()])


def _build_runs(overrides: Sequence[str], config_dir: str | None = None) -> list[Run]:
    """Build the runs of `bnnbench run -m OVERRIDES`; the jobs themselves report errors."""
    from bnnbench.config.assemble import build
    from bnnbench.config.sweep import compose_configs

    runs = []
    with suppress(UserError):
        for config in compose_configs(overrides, config_dir=config_dir):
            with suppress(UserError):
                runs.append(build(config))
    return runs


def _note_split_stacks(runs: Sequence[Run]) -> None:
    """Print a note if runs that would share a stack do not, because they run in parallel."""
    from bnnbench.experiment.stacking import stack_of

    shared = sum(len(stack_of(run, runs)) > 1 for run in runs)
    if shared:
        note(
            f"without a launcher, {shared} of these runs would be trained in stacks; in parallel "
            "each is trained alone, and results may differ by rounding."
        )


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


def _check_launcher(overrides: Sequence[str]) -> None:
    """Reject more jobs than cores; the launcher starts its processes before any job.

    Raises:
        UserError: about the key.
    """
    from joblib import cpu_count

    for override in overrides:
        key, _, value = override.partition("=")
        allowed = {"-1", *map(str, range(1, cpu_count() + 1))}
        if key.lstrip("+") != "hydra.launcher.n_jobs":
            continue
        if not any(word.startswith("hydra/launcher=") for word in overrides):
            raise UserError(
                f"{key} needs hydra/launcher=joblib, which runs jobs in parallel.",
                "hydra.launcher.n_jobs",
                "no_launcher",
            )
        if value not in allowed:
            raise UserError(
                f"{key} must be -1 or 1 to {cpu_count()} (cores), not {value!r}.",
                "hydra.launcher.n_jobs",
            )


def _hide_subcommand() -> None:
    """Rewrite `bnnbench run method=` to `bnnbench method=` for Hydra's completion."""
    line = os.environ.get("COMP_LINE", "")
    hidden = re.sub(r"^(\S+\s+)run\s+", r"\1", line)
    if hidden != line:
        point = int(os.environ.get("COMP_POINT", len(line)))
        os.environ["COMP_POINT"] = str(max(0, point - (len(line) - len(hidden))))
        os.environ["COMP_LINE"] = hidden
