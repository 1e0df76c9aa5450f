"""`bnnbench run`: Hydra composes the configuration, launches sweeps, completes words."""

from __future__ import annotations

import io
import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr
from dataclasses import dataclass, field
from multiprocessing import current_process
from tempfile import TemporaryDirectory
from traceback import walk_tb
from typing import TYPE_CHECKING, Any

from hydra import main as hydra_main
from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig

from bnnbench.cli.compose import CONFIG_NAME, CONFIGURATION, plain, sentence
from bnnbench.cli.configs import config_folder
from bnnbench.cli.endings import failure
from bnnbench.cli.waiting import announced
from bnnbench.cli.words import hydra_words
from bnnbench.types import Redundant, UserError

if TYPE_CHECKING:
    from bnnbench.experiment.sweep_progress import SweepProgress


def run_command(overrides: Sequence[str]) -> int:
    """Runs Hydra on the overrides.

    Raises:
        UserError: for everything the configuration can get wrong.
    """
    os.environ["HYDRA_FULL_ERROR"] = "1"  # errors come back here instead of ending the process
    _hide_subcommand()
    words = hydra_words(overrides)
    _check_launcher(words)
    completing = {"-sc", "--shell-completion"} & {*words}
    decorate = hydra_main(
        version_base="1.3", config_path=str(config_folder()), config_name=CONFIG_NAME
    )
    jobs = Jobs([word for word in words if "=" in word and not word.startswith("-")])

    def one_job(config: DictConfig) -> None:
        jobs.run(config)

    try:
        with TemporaryDirectory(prefix="bnnbench-") as folder, _seen_from_outside(jobs.words):
            # Hydra's record of a sweep says nothing that the runs do not.
            aside = [] if completing else [f"hydra.sweep.dir='{folder}'"]
            sys.argv = ["bnnbench", *words, *aside]
            with _one_voice(words):
                decorate(one_job)()
    except CONFIGURATION as error:
        raise UserError(sentence(error)) from None
    except ValueError as error:  # of Hydra, about a defaults list; what a job raises is no mistake
        if any(frame.f_code is one_job.__code__ for frame, _ in walk_tb(error.__traceback__)):
            raise
        raise UserError(sentence(error)) from None
    return jobs.conclude()


@dataclass
class Jobs:
    """The jobs that Hydra starts for one command line, and what became of them.

    Attributes:
        words: overrides of the command line.
        refused: what was wrong with jobs of this process; a sweep goes on with its others.
        passed: why a sweep passed over some of its combinations.
        failed: what the machine refused, which ends a sweep.
        ran: how many jobs of this process ran.
        diverged: how many of them did so on every split.
        sweep: all runs of the sweep that this process runs one by one; None for a single run,
            or before the first.
    """

    words: Sequence[str]
    refused: list[str] = field(default_factory=list)
    passed: list[str] = field(default_factory=list)
    failed: Exception | None = None
    ran: int = 0
    diverged: int = 0
    sweep: SweepProgress | None = None

    def run(self, config: DictConfig) -> None:
        """One job; in the main process an error is kept for the end, without Hydra's words."""
        if self.failed:
            return
        try:
            self._run(config)
        except UserError as error:
            if isinstance(error, Redundant) and sweeping():
                self.passed.append(str(error))
                return
            if current_process().name != "MainProcess":
                raise
            self.refused.append(str(error))
        except Exception as error:
            if failure(error) is None or current_process().name != "MainProcess":
                raise
            self.failed = error

    def _run(self, config: DictConfig) -> None:
        composed = plain(config)
        with announced(f"reading {_dataset_of(composed)}"):
            from bnnbench.cli.build import build, refuse_idle
            from bnnbench.cli.show import diverged, show_run
            from bnnbench.cli.sweep import runs_of
            from bnnbench.experiment.execution import execute
            from bnnbench.experiment.standing import standing
            from bnnbench.experiment.sweep_progress import SweepProgress
            from bnnbench.report.pages import write_page

            run = build(composed, _concurrent_jobs())
            task = HydraConfig.get().overrides.task
            keys = [word.lstrip("+~").partition("=")[0] for word in task]
            refuse_idle(type(run.experiment), run.experiment.label, keys)
            # A launcher with processes of its own runs each by itself.
            one_by_one = sweeping() and "n_jobs" not in HydraConfig.get().launcher
            if one_by_one and self.sweep is None:
                runs = runs_of(self.words)
                self.sweep = SweepProgress(runs) if len(runs) > 1 else None
        for text in standing(run):
            print(f"bnnbench: {text}", file=sys.stderr)
        folder = execute(run, write_page, self.sweep)
        show_run(folder)
        self.ran += 1
        self.diverged += diverged(folder)

    def conclude(self) -> int:
        """Says what was refused, passed over or diverged; 1 if no run has a number to show.

        Raises:
            UserError: if a job was refused, or none ran.
            Exception: what the machine refused.
        """
        if self.failed:
            raise self.failed
        if self.refused:
            raise UserError(" ".join(dict.fromkeys(self.refused)))  # one sentence for many jobs
        if self.passed and not self.ran:
            raise UserError(self.passed[0])
        if self.passed:
            jobs = f"{len(self.passed)} combination{'s' if len(self.passed) > 1 else ''}"
            text = f"bnnbench: passed over {jobs} that differ from others in name only"
            print(text, file=sys.stderr)
        if self.ran and self.diverged == self.ran:
            text = "the run" if self.ran == 1 else "every run"
            print(
                f"bnnbench: {text} diverged on every split, so nothing is known of it; "
                "try a smaller training.learning_rate.",
                file=sys.stderr,
            )
            return 1
        return 0


def _dataset_of(config: Mapping[str, Any]) -> str:
    """What a job reads first, for its first word."""
    dataset = config.get("dataset")
    return str(dataset.get("name")) if isinstance(dataset, dict) else "the configuration"


@contextmanager
def _seen_from_outside(words: Sequence[str]) -> Iterator[None]:
    """Shows how far a sweep is whose jobs run side by side, in processes of their own."""
    if not any(word.startswith("hydra/launcher=") for word in words):
        yield
        return
    with announced("reading the runs of the sweep"):
        from bnnbench.cli.sweep import composed_runs, tell_stacks_apart
        from bnnbench.experiment.progress import watch_sweep
        from bnnbench.experiment.sweep_progress import SweepProgress

        runs = composed_runs(words)
    tell_stacks_apart(runs)
    with watch_sweep(SweepProgress(runs)):
        yield


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


def sweeping() -> bool:
    """Whether the job is one of several."""
    mode = HydraConfig.get().mode
    return mode is not None and mode.name == "MULTIRUN"


def _concurrent_jobs() -> int:
    """How many jobs the launcher runs side by side; -1 is one per core."""
    from joblib import cpu_count

    jobs = HydraConfig.get().launcher.get("n_jobs", 1) if sweeping() else 1
    return cpu_count() if jobs == -1 else jobs


def _check_launcher(overrides: Sequence[str]) -> None:
    """Refuses more jobs than cores here, since the launcher starts its processes before any job.

    Raises:
        UserError: naming the key.
    """
    from joblib import cpu_count

    for override in overrides:
        key, _, value = override.partition("=")
        allowed = {"-1", *map(str, range(1, cpu_count() + 1))}
        if key.lstrip("+") == "hydra.launcher.n_jobs" and value not in allowed:
            raise UserError(f"{key} must be -1 or 1 to {cpu_count()} (cores), not {value!r}.")


def _hide_subcommand() -> None:
    """Shows Hydra's completion `bnnbench method=` where `bnnbench run method=` was typed."""
    line = os.environ.get("COMP_LINE", "")
    hidden = re.sub(r"^(\S+\s+)run\s+", r"\1", line)
    if hidden != line:
        point = int(os.environ.get("COMP_POINT", len(line)))
        os.environ["COMP_POINT"] = str(max(0, point - (len(line) - len(hidden))))
        os.environ["COMP_LINE"] = hidden
