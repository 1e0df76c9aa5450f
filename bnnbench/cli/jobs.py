"""The jobs of one command line, and what becomes of them."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar
from uuid import uuid4

from omegaconf import DictConfig

from bnnbench.cli.endings import failure, note, print_no_more
from bnnbench.cli.line import Line
from bnnbench.cli.waiting import announced
from bnnbench.types import Redundant, UserError

if TYPE_CHECKING:
    from bnnbench.cli.make import Config
    from bnnbench.experiment.engines.base import Engine
    from bnnbench.experiment.run import Run
    from bnnbench.experiment.run_folder import RunFolder
    from bnnbench.experiment.sweep_progress import SweepProgress

T = TypeVar("T")

TOLD = ".told.json"
"""How the names of files end in which a process leaves word."""


MOST_SENTENCES = 3
"""On what was refused."""


@dataclass
class Jobs:
    """All jobs of a command line, and what becomes of them.

    Attributes:
        aside: a folder where a job of another process leaves word of what went wrong.
        dry: whether to print what would be run instead.
        several: whether the line is a sweep, which goes on without those of its jobs that differ
            from others in name only.
        refused: what was wrong with jobs; a sweep goes on with its others.
        passed: why a sweep passed over some of its combinations.
        failed: what the machine refused, which ends a sweep: a sentence and the exit code.
        ran: the folders of the runs that were run or printed again.
        planned: seconds that each run would take whose plan was printed instead.
        unread: whether the reader of the plans has closed the pipe.
        remarked: what has been said of the data already.
        home: the machine and the process that the command runs in.
    """

    aside: Path
    dry: bool = False
    several: bool = False
    refused: list[str] = field(default_factory=list)
    passed: list[str] = field(default_factory=list)
    failed: tuple[str, int] | None = None
    ran: list[RunFolder] = field(default_factory=list)
    planned: list[float] = field(default_factory=list)
    unread: bool = False
    remarked: set[str] = field(default_factory=set)
    home: tuple[str, int] = field(default_factory=lambda: _here())

    def run(self, line: Line) -> None:
        """All jobs of a line, each checked before the first of them begins."""
        self.several = line.several
        with announced(_first_word(line)):
            from bnnbench.experiment.sweep_progress import SweepProgress

            checked = [
                self.heeded(partial(checked_run, job.resolved, job.task)) for job in line.jobs
            ]
            runs = [run for run in checked if run is not None and not self.failed]
            sweep = SweepProgress(runs) if len(runs) > 1 else None
            from bnnbench.experiment.execution import shared_engine

        with nullcontext() if self.dry else shared_engine(runs, sweep, note) as engine:
            for run in runs:
                self.heeded(partial(self.take, run, sweep, engine))

    def heeded(self, work: Callable[[], T]) -> T | None:
        """What the work of a job comes to; an error is kept for the end.

        Returns:
            None after an error, and at once after one that ends a sweep.
        """
        if self.failed or self.unread:
            return None
        try:
            return work()
        except UserError as error:
            self._keep(str(error), passed=isinstance(error, Redundant) and self.several)
        except Exception as error:
            if self.dry and isinstance(error, BrokenPipeError):
                self.unread = True  # `head` has seen enough of a plan, and nothing was begun
                return None
            ending = failure(error)
            if ending is None:
                raise
            self._keep(*ending)
        return None

    def _keep(self, text: str, code: int = 0, passed: bool = False) -> None:
        """Keeps a sentence; of another process's job in a file, since its memory is its own.

        Raises:
            UserError: with the sentence, in a job of another machine, which has no such file: Hydra
                carries that home.
        """
        if self.home != _here():
            if self.aside.is_dir():
                word = json.dumps({"text": text, "code": code, "passed": passed})
                (self.aside / f"{uuid4()}{TOLD}").write_text(word)
            elif not passed:
                raise UserError(text) from None
        elif code:
            self.failed = (text, code)
        else:
            (self.passed if passed else self.refused).append(text)

    def listen(self, ran: Sequence[RunFolder]) -> None:
        """Takes in what jobs of other processes have left word of.

        Args:
            ran: the folders of their runs.
        """
        for file in sorted(self.aside.glob(f"*{TOLD}")):
            self._keep(**json.loads(file.read_text("utf-8")))
        self.ran = list(ran)

    def take(
        self, run: Run, sweep: SweepProgress | None = None, engine: Engine | None = None
    ) -> None:
        """Does what is open of a run, and prints it; or its plan."""
        self._remark(run.experiment.remarks())
        if self.dry:
            from bnnbench.cli.plan import show_plan

            self.planned.append(show_plan(run))
            return
        from bnnbench.experiment.execution import execute

        # What shows a run is slow to import (matplotlib), and is not needed before there is one.
        folder = execute(run, partial(_write_page, run), sweep, note, _load_pages, engine)
        from bnnbench.cli.printing import show_run

        self.ran.append(folder)
        try:
            show_run(folder)
        except BrokenPipeError:  # the folder has it; what is left of a sweep goes on
            print_no_more()

    def _remark(self, remarks: Sequence[str]) -> None:
        """Says what is to be told, each sentence once for all jobs of this process."""
        for remark in remarks:
            if remark not in self.remarked:
                self.remarked.add(remark)
                note(f"{remark}.")

    def conclude(self) -> int:
        """Says what was refused, passed over or diverged; 1 if no run has a number to show.

        Raises:
            UserError: if a job was refused, or none ran.
            BrokenPipeError: if nobody reads the plans, which ends the command without a word.
        """
        if self.unread:
            raise BrokenPipeError
        if self.failed:
            note(self.failed[0])
            return self.failed[1]
        if self.refused:
            raise UserError(told(self.refused))
        if self.passed and not (self.ran or self.planned):
            raise UserError(self.passed[0])
        if self.passed:
            jobs = f"{len(self.passed)} combination{'s' if len(self.passed) > 1 else ''}"
            note(f"passed over {jobs} that differ from others in name only")
        if len(self.planned) > 1:
            from bnnbench.cli.plan import show_total

            show_total(self.planned)
        if not self.ran:  # a plan was printed, or Hydra printed something
            return 0
        from bnnbench.cli.printing import without_numbers

        lost = without_numbers("the run" if len({*self.ran}) == 1 else "every run", self.ran)
        if lost:
            note(lost)
        return int(bool(lost))


def _here() -> tuple[str, int]:
    return platform.node(), os.getpid()


def _load_pages() -> None:
    import_module("bnnbench.cli.printing")


def _write_page(run: Run, folder: RunFolder) -> Sequence[str]:
    from bnnbench.report.pages import page_writer

    return page_writer(run)(folder)


def told(refused: Sequence[str]) -> str:
    """What is wrong with many jobs, each sentence once and not too many of them."""
    sentences = list(dict.fromkeys(refused))
    more = len(sentences) - MOST_SENTENCES
    rest = [f"{more} more were refused."] if more > 0 else []
    return " ".join([*sentences[:MOST_SENTENCES], *rest])


def checked_run(config: Callable[[], Config], task: Sequence[str], beside: int = 1) -> Run:
    """The run of one job.

    Args:
        config: gives its resolved configuration.
        task: its overrides.
        beside: jobs that run side by side.

    Raises:
        UserError: for everything that can be wrong with it.
    """
    from bnnbench.cli.build import build, refuse_idle

    run = build(config(), beside)
    keys = [word.lstrip("+~").partition("=")[0] for word in task]
    refuse_idle(type(run.experiment), run.experiment.label, keys)
    return run


def _first_word(line: Line) -> str:
    """What is done first: a chosen experiment need not read the data set that has a default."""
    if line.several:
        return f"checking {len(line.jobs)} run{'s' * (len(line.jobs) > 1)}"
    (job,) = line.jobs
    if any(word.startswith("experiment=") for word in job.task):
        return f"preparing {_named(job.config, 'experiment', 'label')}"
    return f"reading {_named(job.config, 'dataset', 'name')}"


def _named(config: DictConfig, group: str, key: str) -> str:
    """The name of what was chosen in a group, as far as the configuration is in order."""
    chosen = config.get(group)
    return str(chosen.get(key)) if isinstance(chosen, DictConfig) else "the configuration"
