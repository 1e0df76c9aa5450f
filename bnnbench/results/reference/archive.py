"""The archive of reference results, which is replaced as a whole.

Hence a reader finds all members of one state, also while another process writes, and after that
process was killed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from bnnbench.files import READ_ERRORS, pack_members, read_members, write_bytes
from bnnbench.types import UserError

ARCHIVE = "reference_results.zip"

RUNS, SPLITS, FINGERPRINTS = MEMBERS = ("runs.jsonl", "splits.csv", "fingerprints.csv")
"""Members of the archive, in their order."""

LOCK, LOCK_TIMEOUT = ".add.lock", 600.0
"""Lock file of a folder, and the seconds that a writer waits for it."""


def read_archive(folder: Path) -> dict[str, bytes]:
    """Return the contents of the members by name; call it while `reading` the folder."""
    return read_members(folder / ARCHIVE, MEMBERS)


@contextmanager
def reading(folder: Path) -> Iterator[None]:
    """Raise a `UserError` if the archive is missing or damaged, or has other content."""
    try:
        yield
    except READ_ERRORS as error:
        raise UserError(
            f"the folder of reference results {folder} cannot be read ({error}); restore it from "
            "its source.",
            "folder",
            "damaged",
        ) from None


def write_archive(folder: Path, contents: Mapping[str, bytes]) -> None:
    """Write the archive, or leave the old one if an error occurs.

    Args:
        folder: of the reference results, `locked`.
        contents: of `MEMBERS`.
    """
    members = {name: contents[name] for name in MEMBERS}
    write_bytes(folder / ARCHIVE, pack_members(members))


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold the lock of a folder, which is created if it does not exist.

    Temporary files that a killed process left in it are deleted.

    Raises:
        UserError: if another process holds the lock for longer than `LOCK_TIMEOUT`.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with ExitStack() as held:
        try:
            held.enter_context(FileLock(folder / LOCK, timeout=LOCK_TIMEOUT))
        except Timeout:
            raise UserError(
                f"another bnnbench process is adding runs to {folder}; wait until it ends and "
                "repeat the command.",
                code="locked",
            ) from None
        for path in folder.glob(f".{ARCHIVE}.*"):
            path.unlink()
        yield
