"""The 20-split protocol for one method on one data set: run, resume, assemble."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from filelock import FileLock, Timeout

from bnnbench.experiment.plan import Experiment, Plan, Report
from bnnbench.experiment.progress import watch
from bnnbench.experiment.results import assemble, plain, write_environment
from bnnbench.experiment.splits import run_group
from bnnbench.paths import RunFolder, write_text
from bnnbench.types import UserError


@dataclass(frozen=True, kw_only=True)
class SplitsExperiment(Experiment):
    """Search, final fit and scores on every split (book, section 4.7.3)."""

    label: str
    summary: str = ""

    def run(self, plan: Plan, report: Report) -> RunFolder:
        """Finishes what is not finished yet; a complete run is left alone.

        Args:
            plan: the run.
            report: adds the summary and the figures before the run counts as complete.

        Raises:
            UserError: if the folder is not writable or another process works in it.
        """
        folder = plan.folder
        if folder.done.exists():
            return folder
        folder.create()
        lock = FileLock(folder.lock, timeout=0)
        try:
            with lock:
                self._finish(plan, folder, report)
        except Timeout:
            raise UserError(
                f"another bnnbench process is working in {folder.root}; "
                "wait for it, then give the same command again."
            ) from None
        return folder

    def _finish(self, plan: Plan, folder: RunFolder, report: Report) -> None:
        if not folder.config.exists():
            write_text(folder.config, plain(plan.config))
        write_environment(folder, plan)
        open_splits = [k for k in plan.splits if not folder.scores(k).exists()]
        if open_splits:
            with watch(plan):
                run_open(plan, open_splits)
        assemble(plan)
        report(folder)
        write_text(folder.done, f"{datetime.now(UTC).isoformat(timespec='seconds')}\n")


def run_open(plan: Plan, numbers: Sequence[int]) -> None:
    """Runs splits: all in lockstep, or whole splits on `workers` processes."""
    workers = min(plan.workers, len(numbers))
    if plan.lockstep:
        run_group(plan, plan.splits)
    elif workers == 1:  # in this process: one that joblib did not start must not follow a parent
        for k in numbers:
            run_group(plan, (k,))
    else:
        from joblib import Parallel, delayed

        parallel = Parallel(n_jobs=workers, backend="loky", inner_max_num_threads=1)
        parallel(delayed(run_group)(plan, (k,), os.getpid()) for k in numbers)
