"""The 20-split protocol for one method on one data set: run, resume, assemble."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

from bnnbench.experiment.assembly import assemble
from bnnbench.experiment.plan import Experiment, Plan, Report
from bnnbench.experiment.progress import watch
from bnnbench.experiment.run_folder import RunFolder
from bnnbench.experiment.run_lock import once
from bnnbench.experiment.splits import run_group
from bnnbench.experiment.stacking import row_of
from bnnbench.experiment.sweep_progress import current


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
        return once(plan, report, lambda: self._work(plan))

    def _work(self, plan: Plan) -> None:
        open_splits = [k for k in plan.splits if not plan.folder.scores(k).exists()]
        if open_splits:
            suite = current()
            row = row_of(plan, suite.plans if suite else ())
            with watch(plan):
                run_open(row, open_splits)
        assemble(plan)


def run_open(row: Sequence[Plan], numbers: Sequence[int]) -> None:
    """Runs the groups that hold one of these splits, on up to `workers` processes.

    A group is run whole, so that its stack is the one of an uninterrupted run.

    Args:
        row: the runs that are fitted together, of `row_of`.
        numbers: the splits.
    """
    plan = row[0]
    groups = [group for group in plan.groups if set(group) & set(numbers)]
    workers = min(plan.workers, len(groups))
    if workers == 1 or plan.lockstep:
        # In this process: one that joblib did not start must not follow a parent.
        for group in groups:
            run_group(row, group)
    else:
        from joblib import Parallel, delayed

        parallel = Parallel(n_jobs=workers, backend="loky", inner_max_num_threads=1)
        parallel(delayed(run_group)(row, group, os.getpid()) for group in groups)
