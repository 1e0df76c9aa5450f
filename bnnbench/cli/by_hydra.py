"""What Hydra itself does of `bnnbench run`: its help, its lists, jobs by a launcher of its own."""

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

from bnnbench.cli.compose import CONFIG_NAME, CONFIGURATION, plain, sentence
from bnnbench.cli.configs import config_folder
from bnnbench.cli.endings import note
from bnnbench.cli.jobs import Jobs, checked_run
from bnnbench.cli.waiting import announced
from bnnbench.types import UserError

if TYPE_CHECKING:
    from bnnbench.experiment.run import Run

OURS = {"run", "multirun", "config_dir", "overrides"}
"""Of the options that Hydra knows, those that ask for nothing but jobs."""


def asks_hydra(given: Namespace) -> bool:
    """Whether a line asks Hydra for something beside configurations: help, a launcher, a folder.

    Args:
        given: the options that Hydra knows.
    """
    if any(word.lstrip("+~").startswith("hydra") for word in given.overrides):
        return True
    if given.config_dir is not None and not os.path.isdir(given.config_dir):
        return True  # it says so
    return any(
        value not in (None, False) for name, value in vars(given).items() if name not in OURS
    )


def run_by_hydra(words: Sequence[str], jobs: Jobs, own: str | None) -> None:
    """Has Hydra do what the words say.

    Args:
        words: as Hydra takes them.
        jobs: is told what becomes of the jobs, if there are any.
        own: the folder of `--config-dir`.

    Raises:
        UserError: for what a launcher cannot do, and what Hydra refuses.
    """
    _hide_subcommand()
    _check_launcher(words)
    completing = {"-sc", "--shell-completion"} & {*words}
    # Hydra's record of a sweep says nothing that the runs do not.
    record = [] if completing else [f"hydra.sweep.dir='{jobs.aside}'"]
    sys.argv = ["bnnbench", *words, *record]
    decorate = hydra_main(
        version_base="1.3", config_path=str(config_folder()), config_name=CONFIG_NAME
    )

    def one_job(config: DictConfig) -> None:
        jobs.several = _sweeping()
        jobs.heeded(lambda: jobs.take(_run_of(config)))

    try:
        with _seen_from_outside(jobs, words, own), _one_voice(words):
            decorate(one_job)()
    except CONFIGURATION as error:
        raise UserError(sentence(error, own)) from None
    except ValueError as error:  # of Hydra, about a defaults list; a job's own is no mistake
        if any(frame.f_code is one_job.__code__ for frame, _ in walk_tb(error.__traceback__)):
            raise
        raise UserError(sentence(error)) from None


def _run_of(config: DictConfig) -> Run:
    """The run of a job that Hydra began.

    Raises:
        UserError: for everything that can be wrong with it.
    """
    hydra = HydraConfig.get()
    run = checked_run(partial(plain, config), hydra.overrides.task, _beside())
    if _sweeping() and _own_launcher() and run.engine.remote:
        raise UserError(
            f"engine={run.engine.name} hands out all runs of a sweep by itself; leave out "
            "hydra/launcher."
        )
    return run


def _sweeping() -> bool:
    """Whether the job is one of several."""
    mode = HydraConfig.get().mode
    return mode is not None and mode.name == "MULTIRUN"


def _own_launcher() -> bool:
    """Whether Hydra starts the jobs of a sweep in processes of their own."""
    return not str(HydraConfig.get().launcher["_target_"]).endswith(".BasicLauncher")


def _beside() -> int:
    """How many jobs the launcher runs side by side; -1 is one per core."""
    from bnnbench.experiment.workers import cores

    jobs = HydraConfig.get().launcher.get("n_jobs", 1) if _sweeping() else 1
    return cores() if jobs == -1 else jobs


@contextmanager
def _seen_from_outside(jobs: Jobs, words: Sequence[str], own: str | None) -> Iterator[None]:
    """Shows how far a sweep is whose jobs run side by side, in processes of their own.

    Args:
        jobs: is told in the end which runs there are, which their processes cannot tell it.
        words: as Hydra takes them.
        own: the folder of `--config-dir`.
    """
    if not any(word.startswith("hydra/launcher=") for word in words):
        yield
        return
    with announced("reading the runs of the sweep"):
        from bnnbench.experiment.progress import watch_sweep
        from bnnbench.experiment.sweep_progress import SweepProgress

        settings = [word for word in words if "=" in word and not word.startswith("-")]
        runs = _composed_runs(settings, own)
    _tell_stacks_apart(runs)
    with watch_sweep(SweepProgress(runs)):
        yield
    jobs.listen([run.folder for run in runs if run.complete()])


def _composed_runs(words: Sequence[str], own: str | None = None) -> list[Run]:
    """The runs that `bnnbench run -m WORDS` starts, but for those that are refused."""
    from bnnbench.cli.build import build
    from bnnbench.cli.line import configs_of

    runs = []
    with suppress(UserError):
        for config in configs_of(words, own=own):
            # What is wrong with a job it says itself, when its turn comes.
            with suppress(UserError):
                runs.append(build(config))
    return runs


def _tell_stacks_apart(runs: Sequence[Run]) -> None:
    """Says so where runs that would share a stack do not, since they run side by side."""
    from bnnbench.experiment.stacking import stack_of

    shared = sum(len(stack_of(run, runs)) > 1 for run in runs)
    if shared:
        note(
            f"{shared} of these runs would train in common stacks one after the other; "
            "side by side each trains alone, and may differ by rounding."
        )


@contextmanager
def _one_voice(words: Sequence[str]) -> Iterator[None]:
    """Makes a mistake of what Hydra itself says and ends with, of a part that is not there."""
    if not any(word.startswith(("-p", "--package")) for word in words):
        yield
        return
    said = io.StringIO()
    try:
        with redirect_stderr(said):
            yield
    except SystemExit as stop:
        if stop.code:
            raise UserError(f"{said.getvalue().strip()}.") from None
        raise


def _check_launcher(overrides: Sequence[str]) -> None:
    """Refuses more jobs than cores here, since the launcher starts its processes before any job.

    Raises:
        UserError: naming the key.
    """
    from joblib import cpu_count

    for override in overrides:
        key, _, value = override.partition("=")
        allowed = {"-1", *map(str, range(1, cpu_count() + 1))}
        if key.lstrip("+") != "hydra.launcher.n_jobs":
            continue
        if not any(word.startswith("hydra/launcher=") for word in overrides):
            raise UserError(f"{key} goes with hydra/launcher=joblib, which runs jobs side by side.")
        if value not in allowed:
            raise UserError(f"{key} must be -1 or 1 to {cpu_count()} (cores), not {value!r}.")


def _hide_subcommand() -> None:
    """Shows Hydra's completion `bnnbench method=` where `bnnbench run method=` was typed."""
    line = os.environ.get("COMP_LINE", "")
    hidden = re.sub(r"^(\S+\s+)run\s+", r"\1", line)
    if hidden != line:
        point = int(os.environ.get("COMP_POINT", len(line)))
        os.environ["COMP_POINT"] = str(max(0, point - (len(line) - len(hidden))))
        os.environ["COMP_LINE"] = hidden
