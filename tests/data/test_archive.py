"""How data files are got: registry, downloads, copies, and what is refused."""

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
from support.tables import NOWHERE, SHAPES
from support.user_errors import assert_one_sentence

from bnnbench.data import archive
from bnnbench.data.uci import UCI
from bnnbench.types import UserError


class QuietHandler(SimpleHTTPRequestHandler):
    """Serves files without a log line for each."""

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture
def served(yacht: Path) -> Iterator[str]:
    """The address of a local server of that copy."""
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


def test_only_absent_files_are_downloaded(served: str, yacht: Path, tmp_path: Path) -> None:
    fresh = tmp_path / "fresh"
    shutil.copytree(yacht, fresh)
    (fresh / "yacht/data/n_splits.txt").unlink()
    kept = (fresh / "yacht/data/data.txt").stat().st_mtime_ns
    UCI("yacht", directory=str(fresh), base_url=served).load()
    assert (fresh / "yacht/data/data.txt").stat().st_mtime_ns == kept


def test_fetch_replaces_a_corrupt_file(served: str, yacht: Path, tmp_path: Path) -> None:
    fresh = tmp_path / "fresh"
    shutil.copytree(yacht, fresh)
    (fresh / "yacht/data/data.txt").write_text("1 2 3\n")
    archive.fetch(["yacht"], fresh, base_url=served)
    assert archive.verify(["yacht"], fresh)[0].ok


def test_wrong_download_is_never_kept(served: str, yacht: Path, tmp_path: Path) -> None:
    (yacht / "yacht/data/data.txt").write_text("1 2 3\n")
    fresh = tmp_path / "fresh"
    with pytest.raises(UserError) as error:
        archive.fetch(["yacht"], fresh, base_url=served)
    assert_one_sentence(error, f"{served}yacht/data/data.txt", "SHA-256 is wrong")
    assert not [path for path in fresh.rglob("*") if path.is_file()]


def test_missing_on_the_server(served: str, yacht: Path, tmp_path: Path) -> None:
    (yacht / "yacht/data/data.txt").unlink()
    with pytest.raises(UserError) as error:
        archive.fetch(["yacht"], tmp_path / "fresh", base_url=served)
    assert_one_sentence(error, "HTTP status 404")


def test_no_network_is_one_sentence(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(UserError) as error:
        UCI("yacht", directory=str(tmp_path / "uci"), base_url=NOWHERE).load()
    assert_one_sentence(
        error,
        f"{NOWHERE}yacht/data/data.txt",
        "no connection",
        "bnnbench data fetch yacht --from DIR",
        "BNNBENCH_DATA",
    )
    assert len(capfd.readouterr().err.splitlines()) == 1  # what is being downloaded, no log lines
    assert not (tmp_path / "uci").exists()


def test_unwritable_folder(data: Path, tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    with pytest.raises(UserError) as error:
        UCI("yacht", directory=str(blocked), base_url=NOWHERE).load()
    assert_one_sentence(error, "data_dir must be the name of a folder", f"{blocked} is a file")
    with pytest.raises(UserError) as error:
        archive.fetch(["yacht"], blocked, source=data)
    assert_one_sentence(error, f"Cannot write data files to {blocked}", "data_dir=DIR")


def test_fetch_from_a_corrupt_folder_writes_nothing(yacht: Path, tmp_path: Path) -> None:
    bad = yacht / "yacht/data/n_splits.txt"
    bad.write_text("2\n")
    with pytest.raises(UserError) as error:
        archive.fetch(["yacht"], tmp_path / "fresh", source=yacht)
    assert_one_sentence(error, "--from", str(bad), "corrupt")
    bad.unlink()
    with pytest.raises(UserError) as error:
        archive.fetch(["yacht"], tmp_path / "fresh", source=yacht)
    assert_one_sentence(error, str(bad), "absent")
    assert not (tmp_path / "fresh").exists()


def test_what_is_whole_is_not_fetched_again(yacht: Path) -> None:
    archive.fetch(["yacht"], yacht, base_url=NOWHERE)
    assert archive.verify(["yacht"], yacht)[0].ok


def test_a_server_that_does_not_answer_is_told_from_one_that_is_not_there() -> None:
    assert archive._reason(requests.Timeout()) == "no answer in time"
    assert archive._reason(requests.ConnectionError()) == "no connection"
