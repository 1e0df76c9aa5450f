"""One run in its folder: done once, by one process, with what is needed to repeat it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

from filelock import FileLock, Timeout

from bnnbench.experiment.assembly import plain, write_environment
from bnnbench.experiment.plan import Plan, Report
from bnnbench.experiment.run_folder import RunFolder
from bnnbench.files import write_text
from bnnbench.types import UserError


def once(plan: Plan, report: Report, work: Callable[[], None]) -> RunFolder:
    """Does the work and reports it, unless the run is complete.

    Args:
        plan: the run.
        report: adds what readers look at, before the run counts as complete.
        work: writes the numbers, and goes on from what an interrupted run has left.

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
            if not folder.config.exists():
                write_text(folder.config, plain(plan.config))
            write_environment(folder, plan)
            work()
            report(folder)
            write_text(folder.done, f"{datetime.now(UTC).isoformat(timespec='seconds')}\n")
    except Timeout:
        raise UserError(
            f"another bnnbench process is working in {folder.root}; "
            "wait for it, then give the same command again."
        ) from None
    return folder
