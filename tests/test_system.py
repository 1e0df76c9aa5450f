"""Systems without features of Linux: fallbacks, and whole commands without POSIX."""

from __future__ import annotations

import math
import os
import pkgutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

import bnnbench
from bnnbench import system
from bnnbench.files import cache_folders, is_private, read_bytes
from bnnbench.trust import check_trusted, record_trust

WITHOUT_POSIX = Path(__file__).parent / "support" / "without_posix"

IMPORT_ALL = "import sys, importlib; [importlib.import_module(name) for name in sys.argv[1:]]"


def unknown_name(name: str) -> int:
    raise ValueError("unrecognized configuration name")


def no_support(name: str) -> int:
    raise OSError(22, "Invalid argument")


@pytest.mark.parametrize(
    ("sysconf", "expected"),
    [
        (None, math.inf),
        (unknown_name, math.inf),
        (no_support, math.inf),
        ({"SC_PAGE_SIZE": 4096, "SC_PHYS_PAGES": -1}.get, math.inf),
        ({"SC_PAGE_SIZE": 4096, "SC_PHYS_PAGES": 2**20}.get, 2**32),
    ],
)
def test_memory(monkeypatch: pytest.MonkeyPatch, sysconf: object, expected: float) -> None:
    if sysconf is None:
        monkeypatch.delattr(os, "sysconf")
    else:
        monkeypatch.setattr(os, "sysconf", sysconf)
    assert system.memory() == expected


@pytest.mark.parametrize(("limit", "expected"), [(None, math.inf), (-1, math.inf), (2**30, 2**30)])
def test_address_space(monkeypatch: pytest.MonkeyPatch, limit: int | None, expected: float) -> None:
    found = SimpleNamespace(RLIMIT_AS=9, RLIM_INFINITY=-1, getrlimit=lambda _: (limit, limit))
    monkeypatch.setitem(sys.modules, "resource", found if limit else None)
    assert system.address_space() == expected


def test_files_have_no_owner_on_windows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """There, `stat` reports owner 0, and that everybody can write."""
    monkeypatch.delattr(os, "getuid")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    file = tmp_path / "bnnbench.toml"
    file.write_text("path = []")
    file.chmod(0o666)
    assert system.user_id() is None
    assert is_private(file) and read_bytes(file) == b"path = []"
    assert tmp_path / "cache" / "bnnbench" / "native" in cache_folders("native")
    record_trust(file)
    check_trusted(file)


def without_posix(*words: str, folder: Path) -> str:
    """Run Python without POSIX, in its own process, and return its output."""
    parts = (WITHOUT_POSIX, Path(bnnbench.__file__).parents[1])
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(map(str, parts)),
        "BNNBENCH_NATIVE": "0",
    }
    done = subprocess.run(
        [sys.executable, *words], capture_output=True, text=True, cwd=folder, env=environment
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.ci
def test_every_module_is_imported_without_posix(tmp_path: Path) -> None:
    found = pkgutil.walk_packages(bnnbench.__path__, "bnnbench.")
    names = [module.name for module in found]
    assert len(names) > 400
    without_posix("-c", IMPORT_ALL, *names, folder=tmp_path)


@pytest.mark.parametrize(
    "words",
    [
        pytest.param(words, marks=mark, id=" ".join(words))
        for words, mark in (
            (("method=vadam", "dataset=yacht", "protocol=trial", "splits=1"), pytest.mark.ci),
            (
                (
                    "-m",
                    "method=gp,linear",
                    "dataset=yacht",
                    "protocol=trial",
                    "splits=2",
                    "workers=2",
                ),
                pytest.mark.slow,
            ),
            (("experiment=conjugate_pairs", "workers=2"), pytest.mark.ci),
        )
    ],
)
def test_commands_without_posix(tmp_path: Path, words: tuple[str, ...]) -> None:
    """Processes are spawned, not forked."""
    assert "results: " in without_posix("-m", "bnnbench", "run", *words, folder=tmp_path)
    without_posix("-m", "bnnbench", "report", "--trials", folder=tmp_path)
    assert (tmp_path / "outputs" / "report" / "report.html").is_file()


@pytest.mark.ci
def test_lists_without_posix(tmp_path: Path) -> None:
    assert "vadam" in without_posix("-m", "bnnbench", "list", "method", folder=tmp_path)
