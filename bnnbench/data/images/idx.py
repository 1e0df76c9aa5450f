"""MNIST and Fashion-MNIST from their published IDX files, and the verified download of these.

A file is used only if the SHA-256 of its decompressed content is the published one: archives of the
same content differ in their gzip headers. The digest covers the IDX header, which is skipped.
"""

from __future__ import annotations

import errno
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Annotated, NamedTuple

import numpy as np
import pandas as pd

from bnnbench.constraints import OneOf, check_folder
from bnnbench.data.images.base import (
    GreyImages,
    ImageSource,
    content_and_digest,
    damaged_file,
)
from bnnbench.identity import no_identity
from bnnbench.notes import shows_progress
from bnnbench.types import UserError

MIRRORS = {
    "mnist": (
        "https://ossci-datasets.s3.amazonaws.com/mnist/",
        "https://storage.googleapis.com/cvdf-datasets/mnist/",
    ),
    "fashion_mnist": ("http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",),
}

SYSTEM_FOLDERS = {"fashion_mnist": Path("/usr/share/datasets/fashion-mnist")}
"""Folder of the Debian package dataset-fashion-mnist."""

SHAPE = (28, 28)

IMAGES_HEADER, LABELS_HEADER = 16, 8
"""Bytes before the values."""


class IdxFile(NamedTuple):
    """A published file.

    Attributes:
        sha256: of its content.
        gz_sha256: of the published archive.
    """

    sha256: str
    gz_sha256: str


@cache
def published_files() -> Mapping[str, Mapping[str, IdxFile]]:
    """Return the files of each set by name, from `idx_files.csv`."""
    with files("bnnbench.data.images").joinpath("idx_files.csv").open("rb") as file:
        table = pd.read_csv(file)
    return {
        str(name): {row.file: IdxFile(row.sha256, row.gz_sha256) for row in own.itertuples()}
        for name, own in table.groupby("set")
    }


@dataclass(frozen=True, kw_only=True)
class IdxImages(ImageSource):
    """The training and test images of a published set.

    Attributes:
        directory: the data folder; the files are in its folder `name`.
    """

    identity_name = "bnnbench.data.images.idx.IdxImages"
    name: Annotated[str, OneOf(*MIRRORS)]
    directory: str = no_identity("data")

    def check(self) -> None:
        check_folder("data_dir", self.directory)

    def read(self) -> GreyImages:
        folder = self._folder()
        contents = {name: self._content(folder, name) for name in published_files()[self.name]}
        pixels, labels = (
            {
                part: np.frombuffer(contents[f"{part}-{kind}-ubyte"], np.uint8, offset=header)
                for part in ("train", "t10k")
            }
            for kind, header in (("images-idx3", IMAGES_HEADER), ("labels-idx1", LABELS_HEADER))
        )
        train, test = (pixels[part].reshape(len(labels[part]), -1) for part in pixels)
        return GreyImages(train, test, labels["train"], labels["t10k"], SHAPE)

    def _folder(self) -> Path:
        """Return the folder that has all files, after a download if there is none.

        Raises:
            UserError: if they cannot be downloaded.
        """
        own = check_folder("data_dir", self.directory) / self.name
        names = published_files()[self.name]
        for folder in (own, SYSTEM_FOLDERS.get(self.name, own)):
            if all(_find(folder, name) for name in names):
                return folder
        missing = {
            f"{name}.gz": file.gz_sha256 for name, file in names.items() if not _find(own, name)
        }
        remedy = f"copy the files to {own}, or use images=digits"
        download_files(self.name, missing, own, MIRRORS[self.name], remedy)
        return own

    def _content(self, folder: Path, name: str) -> bytes:
        """Return the verified content of a file.

        Raises:
            UserError: if it is damaged, or another file.
        """
        path = _find(folder, name)
        assert path is not None
        content, digest = content_and_digest(self.name, path)
        if digest == published_files()[self.name][name].sha256:
            return content
        other = next((f"{file} of {kind}" for kind, file, sha in _digests() if sha == digest), "")
        problem = f"has the content of {other}" if other else "is damaged (wrong SHA-256)"
        raise damaged_file(self.name, path, problem)


def _find(folder: Path, name: str) -> Path | None:
    """Return the file, compressed or not, or None."""
    return next((p for p in (folder / f"{name}.gz", folder / name) if p.is_file()), None)


def _digests() -> Iterator[tuple[str, str, str]]:
    """Yield set, file and digest of the content of every published file."""
    for kind, own in published_files().items():
        for name, file in own.items():
            yield kind, name, file.sha256


# Seconds to connect and between two bytes. Short, because a run without a network should fail fast
# and `requests` tries every address of the host in turn.
TIMEOUT = (3, 15)


def download_files(
    name: str,
    checksums: Mapping[str, str],
    directory: Path,
    base_urls: Sequence[str],
    remedy: str,
) -> None:
    """Download files, verifying each before it is moved into place.

    Args:
        name: of the data set.
        checksums: SHA-256 of each file by its path below a base URL and below `directory`.
        directory: the folder to write to.
        base_urls: mirrors; the next is used if one does not answer.
        remedy: what to do if there is no network, for the error.

    Raises:
        UserError: if a file cannot be downloaded or written; no mirror is tried twice.
    """
    import pooch
    from rich.console import Console
    from rich.progress import Progress

    pooch.get_logger().setLevel("WARNING")
    console, terminal = Console(stderr=True), shows_progress(sys.stderr)
    label = f"{name}: downloading {len(checksums)} files into {directory}"
    if not terminal:
        print(f"{label} from {base_urls[0]}", file=sys.stderr)
    folder = (directory / next(iter(checksums))).parent
    bars = Progress(console=console, transient=True, disable=not terminal)
    with _remove_empty_folders(folder), bars as bar:
        for file in bar.track(checksums, description=label):
            _download_file(name, file, checksums, directory, base_urls, remedy)


def _download_file(
    name: str,
    file: str,
    checksums: Mapping[str, str],
    directory: Path,
    base_urls: Sequence[str],
    remedy: str,
) -> None:
    """Download one file from the first mirror that has it."""
    import pooch
    import requests

    downloader = pooch.HTTPDownloader(timeout=TIMEOUT)
    for url in (f"{base.rstrip('/')}/" for base in base_urls):
        manager = pooch.create(path=directory, base_url=url, registry=dict(checksums))
        try:
            path = Path(manager.fetch(file, downloader=downloader))
            path.chmod(0o644)  # pooch makes files readable by their owner only
            return
        except requests.RequestException as error:
            failure = f"{url}{file} ({_reason(error)})"
        except OSError as error:
            raise unwritable(directory, error) from None
        except ValueError:
            failure = f"{url}{file} (its SHA-256 is wrong)"
    raise UserError(
        f"{name}: cannot download {failure}; {remedy}.",
        setting="data_dir",
        code="download_failed",
    )


@contextmanager
def _remove_empty_folders(folder: Path) -> Iterator[None]:
    """Remove the folder and its parents again if they were created and are still empty."""
    created = [path for path in (folder, *folder.parents) if not path.exists()]
    try:
        yield
    finally:
        with suppress(OSError):  # not empty
            for path in created:
                path.rmdir()


def _reason(error: Exception) -> str:
    """Describe why a download failed, in two or three words."""
    import requests

    if isinstance(error, requests.Timeout):
        return "no answer in time"
    response = getattr(error, "response", None)
    return "no connection" if response is None else f"HTTP status {response.status_code}"


def unwritable(directory: Path, error: OSError) -> UserError | OSError:
    """Return the error that files cannot be written to the data folder."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return error
    reason = error.strerror or "Permission denied"  # pooch drops the errno of this error only
    return UserError(
        f"cannot write data files to {directory} ({reason}); choose a writable folder with "
        "data_dir=DIR.",
        setting="data_dir",
        code="not_writable",
    )
