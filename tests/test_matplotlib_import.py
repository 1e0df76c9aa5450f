"""matplotlib is imported with its default settings by bnnbench, and unchanged by a program."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.ci

BY_BNNBENCH = "exec('import matplotlib', {'__name__': 'bnnbench.page'})"
BY_PLUG_IN = "exec('exec(\\'import matplotlib\\', {})', {'__name__': 'bnnbench.cli.entry'})"
BY_PROGRAM = "import matplotlib"

REPORT = """
import json, os, sys, matplotlib
variables = {name: os.environ.get(name) for name in ("MATPLOTLIBRC", "MPLBACKEND")}
size, backend = matplotlib.rcParams["font.size"], dict(matplotlib.rcParams)["backend"]
print(json.dumps([size, os.getcwd(), variables, str(backend)]))
"""


def imported(how: str, folder: Path, **variables: str) -> tuple[float, str, Any, str, str]:
    """Import matplotlib in a new process.

    Returns:
        The size of fonts, the folder and the environment variables after the import, the backend,
        and standard error.
    """
    names = ("MATPLOTLIBRC", "MPLBACKEND")
    inherited = {name: value for name, value in os.environ.items() if name not in names}
    command = [sys.executable, "-c", f"import bnnbench\n{how}{REPORT}"]
    environment = {**inherited, "XDG_CONFIG_HOME": str(folder / "home"), **variables}
    done = subprocess.run(
        command, capture_output=True, text=True, cwd=folder, env=environment, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return (*json.loads(done.stdout), done.stderr)


FILES: dict[str, Callable[[Path], Any]] = {
    "other sizes": lambda path: path.write_text("font.size: 99\n"),
    "latin-1": lambda path: path.write_bytes(b"font.family: \xe9\n"),
    "a pipe": os.mkfifo,
    "a device": lambda path: path.symlink_to("/dev/zero"),
    "code": lambda path: path.write_text(
        "axes.prop_cycle: cycler('color', [open('ran', 'w') and 'r'])\nfont.size: 99\n"
    ),
    "a link to nothing": lambda path: path.symlink_to("nowhere"),
    "a folder": Path.mkdir,
}


@pytest.mark.parametrize(
    ("place", "kind"),
    [
        *((".", kind) for kind in FILES),
        *(("variable", kind) for kind in ("a pipe", "code")),
        *(("home/matplotlib", kind) for kind in ("other sizes", "latin-1")),
    ],
)
def test_no_file_of_settings_is_read(tmp_path: Path, place: str, kind: str) -> None:
    file = tmp_path / place / "matplotlibrc"
    file.parent.mkdir(parents=True, exist_ok=True)
    FILES[kind](file)
    given = {"MATPLOTLIBRC": str(file)} if place == "variable" else {}
    size, folder, variables, _, said = imported(BY_BNNBENCH, tmp_path, **given)
    assert (size, Path(folder), said) == (10.0, tmp_path, "")
    assert variables == {"MATPLOTLIBRC": given.get("MATPLOTLIBRC"), "MPLBACKEND": None}
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(("how", "size"), [(BY_PLUG_IN, 10.0), (BY_PROGRAM, 99.0)])
def test_a_program_keeps_its_settings(tmp_path: Path, how: str, size: float) -> None:
    (tmp_path / "matplotlibrc").write_text("font.size: 99\n")
    assert imported(how, tmp_path)[0] == size


@pytest.mark.parametrize(
    ("backend", "valid"), [("zz", False), ("é", False), ("module://a.b", True), ("svg", True)]
)
def test_a_backend_that_cannot_be_used_is_ignored(
    tmp_path: Path, backend: str, valid: bool
) -> None:
    _, _, variables, found, said = imported(BY_BNNBENCH, tmp_path, MPLBACKEND=backend)
    assert variables["MPLBACKEND"] == backend and (found == backend) == valid
    assert len(said.splitlines()) == (not valid) and "Traceback" not in said
