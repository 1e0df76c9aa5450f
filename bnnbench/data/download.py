"""Verified downloads of data files."""

from __future__ import annotations

import errno
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from bnnbench.notes import shows_progress
from bnnbench.types import UserError

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
