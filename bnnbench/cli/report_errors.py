"""Messages about what a report omits or cannot write."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from bnnbench.files import check_regular_files, real_path
from bnnbench.notes import note
from bnnbench.types import UserError

if TYPE_CHECKING:
    from bnnbench.results.read.run_tables import Runs


def note_omitted_runs(runs: Runs) -> None:
    """Print notes about runs left out, and about the user's values on data sets without runs."""
    for message in runs.skipped:
        note(f"left out: {message}")
    for message in runs.notes:
        note(message)
    tables = [table for table in runs.tables.values() if "dataset" in table]
    datasets = {str(name) for table in tables for name in table["dataset"]}
    if unused := sorted({str(name) for name in runs.user_published["dataset"]} - datasets):
        note(f"--published-values: left out {', '.join(unused)}, since no run uses them.")


@contextmanager
def report_write_errors(path: Path, output_dir: Path | None) -> Iterator[None]:
    """Turn an error of writing the report into a user error, unless the disk is full.

    Args:
        path: of the runs.
        output_dir: where the report goes; `path/report` if not given.

    Raises:
        UserError: if the folder is that of a run, not writable, or leads elsewhere through a link
            although the user did not name it.
    """
    from bnnbench.experiment.store.run_folder import RunFolder
    from bnnbench.report.report_folder import ReportFolder

    if output_dir is not None and RunFolder(output_dir).done.exists():
        raise UserError(
            f"--output-dir: {output_dir} contains a run, whose files the report would overwrite; "
            "choose another folder.",
            "--output-dir",
            "run_folder",
        )
    if output_dir is None:  # received runs may come with a report of links
        _check_links(ReportFolder.below(path).root)
    try:
        yield
    except OSError as error:
        target = output_dir or ReportFolder.below(path).root
        with suppress(OSError):  # remove it if it is empty
            target.rmdir()
        if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EIO) or _is_elsewhere(error, target):
            raise
        raise UserError(
            f"cannot write the report to {output_dir or path} ({error.strerror}); choose a "
            "writable folder with --output-dir DIR.",
            "--output-dir",
        ) from None


def _is_elsewhere(error: OSError, folder: Path) -> bool:
    """Whether an error is about a file outside the folder, such as one of the runs."""
    file, folder = real_path(Path(error.filename or folder)), real_path(folder)
    return not (file.is_relative_to(folder) or folder.is_relative_to(file))


def _check_links(folder: Path) -> None:

    if folder.is_symlink():
        raise UserError(
            f"{folder} is a link; delete it, or name the folder that it leads to with "
            "--output-dir.",
            "--output-dir",
            "irregular_file",
        )
    check_regular_files(folder)
