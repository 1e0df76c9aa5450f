"""The files of reference results, which change together.

`SHA256SUMS` says which contents belong together. A writer first stores each new file under a hidden
name with its digest, then replaces `SHA256SUMS`, and then moves the files to their names. A reader
accepts a file with the listed digest under either name. Hence it finds all files of one state, also
while another process writes, and after that process was killed.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from bnnbench.files import READ_ERRORS, read_bytes, write_bytes, write_text
from bnnbench.types import UserError

RUNS, SPLITS, FINGERPRINTS, SUMS = (
    "runs.jsonl.gz", "splits.csv.gz", "fingerprints.csv", "SHA256SUMS",
)  # fmt: skip

NAMES = (RUNS, SPLITS, FINGERPRINTS)
"""Files that `SUMS` lists."""

LOCK, LOCK_TIMEOUT = ".add.lock", 600.0
"""Lock file of a folder, and the seconds that a writer waits for it."""


def has_files(folder: Path) -> bool:
    """Return whether a folder has any of the files, even if others are missing."""
    return any((folder / name).exists() for name in (*NAMES, SUMS))


def read_files(folder: Path) -> dict[str, bytes]:
    """Return the contents of the files by name.

    Raises:
        UserError: if a file was changed or is damaged.
    """
    while True:
        try:
            before = (folder / SUMS).stat()
            digests = _parse(read_bytes(folder / SUMS))
            found = {name: _find(folder, name, digests[name]) for name in NAMES}
            after = (folder / SUMS).stat()
        except READ_ERRORS as error:
            raise damaged(folder, f"cannot be verified ({error})") from None
        contents = {name: content for name, content in found.items() if content is not None}
        if len(contents) == len(NAMES):
            return contents
        # Another process may have replaced `SUMS`, even by one with the same content.
        if (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns):
            wrong = ", ".join(name for name in NAMES if name not in contents)
            raise damaged(folder, f"was changed: {wrong}")


def write_files(folder: Path, contents: Mapping[str, bytes]) -> None:
    """Write all files, or none if an error occurs. Call it with the folder `locked`.

    Args:
        folder: of the reference results.
        contents: of the files in `NAMES`.
    """
    digests = {name: hashlib.sha256(contents[name]).hexdigest() for name in NAMES}
    try:
        for name in NAMES:
            write_bytes(_hidden(folder, name, digests[name]), contents[name])
        write_text(folder / SUMS, "".join(f"{digests[name]}  {name}\n" for name in NAMES))
    finally:
        tidy(folder)


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold the lock of a folder, which is created if it does not exist.

    Hidden files that a killed process left in it are removed or moved to their names.

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
        tidy(folder)
        yield


def tidy(folder: Path) -> None:
    """Move hidden files that `SUMS` lists to their names, and delete the others."""
    with suppress(FileNotFoundError, ValueError):  # readers report a damaged file
        for name, digest in _parse(read_bytes(folder / SUMS)).items():
            if (hidden := _hidden(folder, name, digest)).exists():
                os.replace(hidden, folder / name)
    for path in folder.glob(".*"):
        if any(name in path.name for name in (*NAMES, SUMS)):
            path.unlink()


def damaged(folder: Path, problem: str) -> UserError:
    """Return the error for reference results whose files are not those that were written."""
    text = f"the folder of reference results {folder} {problem}; restore it from its source."
    return UserError(text, "folder", "damaged")


def _parse(sums: bytes) -> dict[str, str]:
    """Return the digests in `SUMS` by name."""
    lines = [line.split() for line in sums.decode().splitlines()]
    return {name: digest for digest, name in lines}


def _hidden(folder: Path, name: str, digest: str) -> Path:
    """Return where a file is stored until `SUMS` lists it."""
    return folder / f".{name}.{digest[:16]}"


def _find(folder: Path, name: str, digest: str) -> bytes | None:
    """Return the content of a file with this digest; None if there is none.

    The file's own name is tried last again, because a writer may just have moved it there.
    """
    for path in (folder / name, _hidden(folder, name, digest), folder / name):
        with suppress(FileNotFoundError):
            content = read_bytes(path)
            if hashlib.sha256(content).hexdigest() == digest:
                return content
    return None
