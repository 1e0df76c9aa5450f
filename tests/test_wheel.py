"""The wheel contains the configuration and data files of the package."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import bnnbench
from bnnbench.config.configs import options

ROOT = Path(__file__).parents[1]


@pytest.mark.ci
def test_an_unpacked_wheel_finds_its_files(tmp_path: Path) -> None:
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", str(tmp_path)]
    subprocess.run([*build, str(ROOT)], check=True)
    (wheel,) = tmp_path.glob("*.whl")
    site = tmp_path / "site"
    zipfile.ZipFile(wheel).extractall(site)
    package = Path(bnnbench.__file__).parent
    suffixes = (".csv", ".txt", ".cpp", ".toml", ".yaml", ".gz")
    data = [path.relative_to(package) for path in package.rglob("*") if path.suffix in suffixes]
    assert len(data) > 3
    for name in (*data, "configs/run.yaml"):
        assert (site / "bnnbench" / name).is_file()
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
