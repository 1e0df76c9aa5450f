"""Find the folders of finished runs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from bnnbench.experiment.store.run_folder import RunFolder
from bnnbench.files import check_regular_files
from bnnbench.types import UserError


def finished_runs(path: Path) -> Iterator[RunFolder]:
    """Yield every complete run in or below `path`, in path order."""
    for done in sorted(path.rglob("DONE")):
        yield RunFolder(done.parent)


def find_run(path: Path) -> RunFolder:
    """Return the only finished run at or below a folder.

    Raises:
        UserError: if there is none, or more than one.
    """
    if not path.is_dir():
        raise UserError(
            f"{path} is not a folder; give the run folder that `bnnbench run` printed last.",
            "RUN",
            "not_a_folder",
        )
    found = list(finished_runs(path))
    if not found:
        message = f"there is no finished run at or below {path}; give the folder of a run."
        raise UserError(message, "RUN", "no_run")
    if len(found) > 1:
        raise UserError(
            f"{path} contains {len(found)} finished runs; give the folder of one, such as "
            f"{found[0].root}.",
            "RUN",
            "several_runs",
        )
    check_regular_files(found[0].root)
    return found[0]
