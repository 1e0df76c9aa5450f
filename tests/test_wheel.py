"""The wheel contains the files of the package and its licences, and can be uploaded."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import bnnbench
from bnnbench.config.configs import options

ROOT = Path(__file__).parents[1]


NATIVE = (sys.platform, platform.machine()) == ("linux", "x86_64") and shutil.which("g++")


def run_tool(*words: object) -> str:
    """Run a module with arguments and return what it prints; it must succeed."""
    command = [sys.executable, "-m", *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def build_wheel(folder: Path) -> Path:
    """Build the wheel of this repository in a folder."""
    run_tool("pip", "wheel", "--quiet", "--no-deps", "-w", folder, ROOT)
    (wheel,) = folder.glob("*.whl")
    return wheel


@pytest.mark.ci
def test_an_unpacked_wheel_finds_its_files(tmp_path: Path) -> None:
    wheel = build_wheel(tmp_path)
    run_tool("twine", "check", "--strict", wheel)
    run_tool("check_wheel_contents", wheel)
    site = tmp_path / "site"
    zipfile.ZipFile(wheel).extractall(site)
    package = Path(bnnbench.__file__).parent
    suffixes = (".csv", ".txt", ".cpp", ".toml", ".yaml", ".zip")
    data = [path.relative_to(package) for path in package.rglob("*") if path.suffix in suffixes]
    assert len(data) > 3
    for name in (*data, "configs/run.yaml"):
        assert (site / "bnnbench" / name).is_file()
    (licences,) = site.glob("*.dist-info/licenses")
    names = ["LICENSE", "NOTICE.md", "LICENSES/CC-BY-4.0.txt"]
    assert all((licences / name).is_file() for name in names)
    environment = {**os.environ, "PYTHONPATH": str(site)}

    def bnnbench_of_wheel(*words: str) -> str:
        command = [sys.executable, "-m", "bnnbench", *words]
        done = subprocess.run(
            command, capture_output=True, text=True, check=True, cwd=tmp_path, env=environment
        )
        return done.stdout

    lines = bnnbench_of_wheel("list", "method").splitlines()[1:]
    listed = [line.split()[0] for line in lines if line.startswith("  ")]  # no footnote
    assert listed == sorted(options("method"))
    out = bnnbench_of_wheel("run", "method=linear", "dataset=protein", "protocol=trial")
    assert "results: " in out


@pytest.mark.slow
@pytest.mark.skipif(not NATIVE, reason="needs x86-64 Linux and g++")
def test_the_wheel_with_native_code_has_the_tag_that_auditwheel_finds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BNNBENCH_NATIVE_WHEEL", "1")
    wheel = build_wheel(tmp_path)
    tag = wheel.stem.split("-")[-1]
    assert f'"{tag}"' in run_tool("auditwheel", "show", wheel)
