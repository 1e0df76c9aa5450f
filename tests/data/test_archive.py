"""The UCI archive: registry, downloads, copies and errors."""

from __future__ import annotations

import functools
import shutil
import threading
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import requests
from support.tables import SHAPES, UNREACHABLE_URL
from support.user_errors import raises_user_error

from bnnbench.data import archive, download
from bnnbench.data.uci import UCI


class QuietHandler(SimpleHTTPRequestHandler):
    """A file server that does not log requests."""

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture
def served(yacht: Path) -> Iterator[str]:
    """The URL of a local server of these files."""
    handler = functools.partial(QuietHandler, directory=str(yacht))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
        thread.join()


def test_registry_lists_every_file_of_every_set() -> None:
    for name in SHAPES:
        n_splits = 5 if name == "protein" else 20
        names = {Path(file).name for file in archive.checksums(name)}
        assert len(names) == 4 + 2 * n_splits
        assert {"data.txt", f"index_test_{n_splits - 1}.txt"} <= names
    assert sum(len(archive.checksums(name)) for name in SHAPES) == len(archive.registry())


def test_first_use_downloads_and_verifies(served: str, yacht: Path, tmp_path: Path) -> None:
    fresh = tmp_path / "fresh"
    table = UCI("yacht", directory=str(fresh), base_url=served).load()
    assert table.inputs.shape == SHAPES["yacht"]
    copies = sorted(path.relative_to(fresh) for path in fresh.rglob("*") if path.is_file())
    assert [str(path) for path in copies] == sorted(archive.checksums("yacht"))
    for path in copies:
        assert (fresh / path).read_bytes() == (yacht / path).read_bytes()
        assert (fresh / path).stat().st_mode & 0o777 == 0o644


def test_fetch_replaces_corrupt_and_absent_files_only(
    served: str, yacht: Path, tmp_path: Path
) -> None:
    fresh = tmp_path / "fresh"
    shutil.copytree(yacht, fresh)
    (fresh / "yacht/data/data.txt").write_text("1 2 3\n")
    (fresh / "yacht/data/n_splits.txt").unlink()
    intact = fresh / "yacht/data/index_test_0.txt"
    before = intact.stat().st_mtime_ns
    archive.fetch(["yacht"], fresh, base_url=served)
    assert archive.verify(["yacht"], fresh)[0].ok and intact.stat().st_mtime_ns == before


def test_a_corrupt_download_is_not_kept(served: str, yacht: Path, tmp_path: Path) -> None:
    (yacht / "yacht/data/data.txt").write_text("1 2 3\n")
    fresh = tmp_path / "fresh"
    with raises_user_error(
        "data_dir", "download_failed", mentions=[f"{served}yacht/data/data.txt", "SHA-256"]
    ):
        archive.fetch(["yacht"], fresh, base_url=served)
    assert not [path for path in fresh.rglob("*") if path.is_file()]


def test_a_missing_network_is_reported_in_one_line(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with raises_user_error("data_dir", "download_failed") as error:
        UCI("yacht", directory=str(tmp_path / "uci"), base_url=UNREACHABLE_URL).load()
    parts = (
        f"{UNREACHABLE_URL}yacht/data/data.txt",
        "bnnbench data fetch yacht --from",
        "BNNBENCH_DATA",
    )
    assert all(part in str(error.value) for part in parts)
    assert len(capfd.readouterr().err.splitlines()) == 1  # the progress message, no log lines
    assert not (tmp_path / "uci").exists()


def test_unwritable_folder(data: Path, tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    with raises_user_error("data_dir"):
        UCI("yacht", directory=str(blocked), base_url=UNREACHABLE_URL).load()
    with raises_user_error("data_dir", "not_writable", mentions=[str(blocked)]):
        archive.fetch(["yacht"], blocked, source=data)


def test_fetch_from_a_corrupt_folder_writes_nothing(yacht: Path, tmp_path: Path) -> None:
    bad = yacht / "yacht/data/n_splits.txt"
    bad.write_text("2\n")
    with raises_user_error("--from", "corrupt_file", mentions=[str(bad)]):
        archive.fetch(["yacht"], tmp_path / "fresh", source=yacht)
    bad.unlink()
    with raises_user_error("--from", "missing_file", mentions=[str(bad)]):
        archive.fetch(["yacht"], tmp_path / "fresh", source=yacht)
    assert not (tmp_path / "fresh").exists()


def test_timeouts_and_missing_connections_are_distinguished() -> None:
    assert download._reason(requests.Timeout()) == "no answer in time"
    assert download._reason(requests.ConnectionError()) == "no connection"
