"""The jobs that Hydra starts for one command line, and what becomes of them."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig

from bnnbench.cli.compose import plain
from bnnbench.cli.endings import failure, note
from bnnbench.cli.waiting import announced
from bnnbench.types import Redundant, UserError

if TYPE_CHECKING:
    from bnnbench.experiment.engines.base import Engine
    from bnnbench.experiment.run import Run
    from bnnbench.experiment.run_folder import RunFolder
    from bnnbench.experiment.sweep_progress import SweepProgress


TOLD = ".told.json"
"""How the names of files end in which a process leaves word."""


MOST_SENTENCES = 3
"""On what was refused."""


@dataclass
class Jobs:
    """All jobs of a command line.

    Attributes:
        words: overrides of the command line.
        aside: a folder where a job of another process leaves word of what went wrong.
        dry: whether to print what would be run instead.
        refused: what was wrong with jobs; a sweep goes on with its others.
        passed: why a sweep passed over some of its combinations.
        failed: what the machine refused, which ends a sweep: a sentence and the exit code.
        ran: the folders of the runs that were run or printed again.
        planned: seconds that each run would take whose plan was printed instead.
        unread: whether the reader of the plans has closed the pipe.
        sweep: all runs of the sweep that this process runs one by one; None for a single run,
            or before the first.
        remarked: what has been said of the data already.
        begun: whether it is known what all runs share.
        engine: that all runs share, if they do.
        opened: what ends with the command.
        home: the machine and the process that the command runs in.
    """

    words: Sequence[str]
    aside: Path
    dry: bool = False
    refused: list[str] = field(default_factory=list)
    passed: list[str] = field(default_factory=list)
    failed: tuple[str, int] | None = None
    ran: list[RunFolder] = field(default_factory=list)
    planned: list[float] = field(default_factory=list)
    unread: bool = False
    sweep: SweepProgress | None = None
    remarked: set[str] = field(default_factory=set)
    begun: bool = False
    engine: Engine | None = None
    opened: ExitStack = field(default_factory=ExitStack)
    home: tuple[str, int] = field(default_factory=lambda: _here())

    def run(self, config: DictConfig) -> None:
        """One job; an error is kept for the end, without Hydra's words."""
        if self.failed or self.unread:
            return
        try:
            self._run(config)
        except UserError as error:
            self._keep(str(error), passed=isinstance(error, Redundant) and sweeping())
        except Exception as error:
            if self.dry and isinstance(error, BrokenPipeError):
                self.unread = True  # `head` has seen enough of a plan, and nothing was begun
                return
            ending = failure(error)
            if ending is None:
                raise
            self._keep(*ending)

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

    def _run(self, config: DictConfig) -> None:
        composed = plain(config)
        task = HydraConfig.get().overrides.task
        with announced(_first_word(composed, task)):
            from bnnbench.cli.build import build, refuse_idle
            from bnnbench.cli.sweep import runs_of
            from bnnbench.experiment.execution import execute
            from bnnbench.experiment.sweep_progress import SweepProgress

            run = build(composed, _concurrent_jobs())
            keys = [word.lstrip("+~").partition("=")[0] for word in task]
            refuse_idle(type(run.experiment), run.experiment.label, keys)
            # A launcher with processes of its own runs each by itself.
            if sweeping() and own_launcher():
                _refuse_two(run)
            elif sweeping() and self.sweep is None:
                runs = runs_of(self.words)
                self.sweep = SweepProgress(runs) if len(runs) > 1 else None
        self._remark(run.experiment.remarks())
        if self.dry:
            from bnnbench.cli.plan import show_plan

            self.planned.append(show_plan(run))
            return
        # What shows a run is slow to import (matplotlib), and is not needed before there is one.
        page, engine = partial(_write_page, run), self._shared(run)
        folder = execute(run, page, self.sweep, note, _load_pages, engine)
        from bnnbench.cli.printing import show_run

        show_run(folder)
        self.ran.append(folder)

    def _shared(self, run: Run) -> Engine | None:
        """The engine of all runs of the command, which begins with the first of them."""
        from bnnbench.experiment.execution import shared_engine

        if not self.begun:
            runs = self.sweep.runs if self.sweep else [run]
            self.engine = self.opened.enter_context(shared_engine(runs, self.sweep, note))
            self.begun = True
        return self.engine

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


def _first_word(config: Mapping[str, Any], task: Sequence[str]) -> str:
    """What a job does first: a chosen experiment need not read the data set that has a default."""
    if any(word.startswith("experiment=") for word in task):
        return f"preparing {_named(config, 'experiment', 'label')}"
    return f"reading {_named(config, 'dataset', 'name')}"


def _named(config: Mapping[str, Any], group: str, key: str) -> str:
    """The name of what was chosen in a group, as far as the configuration is in order."""
    chosen = config.get(group)
    return str(chosen.get(key)) if isinstance(chosen, dict) else "the configuration"


def sweeping() -> bool:
    """Whether the job is one of several."""
    mode = HydraConfig.get().mode
    return mode is not None and mode.name == "MULTIRUN"


def own_launcher() -> bool:
    """Whether Hydra starts the jobs of a sweep in processes of their own."""
    return not str(HydraConfig.get().launcher["_target_"]).endswith(".BasicLauncher")


def _refuse_two(run: Run) -> None:
    """Raises `UserError` where both Hydra and an engine would hand out the work."""
    if run.engine.remote:
        raise UserError(
            f"engine={run.engine.name} hands out all runs of a sweep by itself; leave out "
            "hydra/launcher."
        )


def _concurrent_jobs() -> int:
    """How many jobs the launcher runs side by side; -1 is one per core."""
    from bnnbench.experiment.workers import cores

    jobs = HydraConfig.get().launcher.get("n_jobs", 1) if sweeping() else 1
    return cores() if jobs == -1 else jobs
