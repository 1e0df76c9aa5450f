"""The run that a command line means by a folder."""

from __future__ import annotations

from pathlib import Path

from bnnbench.experiment.run_folder import RunFolder, finished_runs
from bnnbench.types import UserError


def run_at(path: Path) -> RunFolder:
    """The one finished run at or below a folder.

    Raises:
        UserError: if there is none, or more than one.
    """
    if not path.is_dir():
        raise UserError(f"{path} is no folder; name that of a run, the last line it printed.")
    found = list(finished_runs(path))
    if not found:
        raise UserError(f"no finished run at or below {path}.")
    if len(found) > 1:
        raise UserError(
            f"{path} holds {len(found)} finished runs; name one, such as {found[0].root}."
        )
    return found[0]
