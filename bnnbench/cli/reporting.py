"""What commands that report share: whom they leave out, and where they cannot write."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from bnnbench.cli.endings import note
from bnnbench.types import UserError

if TYPE_CHECKING:
    from bnnbench.results.reader import Runs


def say_left_out(runs: Runs) -> None:
    """Names the damaged runs, and data sets of brought values that no run is on, on stderr."""
    for sentence in runs.left_out:
        note(f"left out: {sentence}")
    tables = [table for table in runs.tables.values() if "dataset" in table]
    on = {str(name) for table in tables for name in table["dataset"]}
    if lost := sorted({str(name) for name in runs.beside["dataset"]} - on):
        note(f"left out of --beside: no run here is on {', '.join(lost)}")


@contextmanager
def writing(path: Path, to: Path | None) -> Iterator[None]:
    """Makes one sentence of a place that cannot be written; a full disk is said elsewhere.

    Args:
        path: of the runs.
        to: where to write; `path/report` if not given.
    """
    from bnnbench.report.folder import ReportFolder

    try:
        yield
    except OSError as failure:
        with suppress(OSError):  # where not a file has found room
            (to or ReportFolder.below(path).root).rmdir()
        if failure.errno in (errno.ENOSPC, errno.EDQUOT):
            raise
        raise UserError(
            f"cannot write the report to {to or path} ({failure.strerror}); "
            "choose a writable folder with --to DIR."
        ) from None
