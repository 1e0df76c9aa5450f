"""The number of modules that a run passes through, so that its path can be read in one sitting."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.ci

COMMAND = ("run", "protocol=trial", "method=vadam", "dataset=diabetes", "workers=1", "splits=1",
           "search.iterations=6", "training.epochs=2", "training.final_epochs=2")  # fmt: skip
PAGE = Path(__file__).parents[1] / "docs" / "explanation" / "architecture.md"
FIRST_SPLIT, LAST_TABLE = "experiment/splits/split_experiment.py", "results/score/calibration.py"
MAX_BEFORE_FIRST_SPLIT, MAX_UNTIL_TABLES, MAX_MODULES = 41, 60, 76

TRACE = """
import sys
from pathlib import Path
import bnnbench
import matplotlib.pyplot, pandas, skopt, torch  # before the profile, which slows imports down

package = str(Path(bnnbench.__file__).parent) + "/"
entered, importing, function = {}, 0, 1  # CO_OPTIMIZED: not the body of a class

def profile(frame, event, argument):
    global importing
    code = frame.f_code
    if code.co_name == "<module>" and event in ("call", "return"):
        importing += 1 if event == "call" else -1
    elif event == "call" and not importing and code.co_flags & function:
        if code.co_filename.startswith(package):
            entered.setdefault(code.co_filename.removeprefix(package), code.co_qualname)

from bnnbench.cli.main import main

sys.setprofile(profile)
try:
    main()
finally:
    sys.setprofile(None)
    Path("trace.txt").write_text("".join(f"{name} {first}\\n" for name, first in entered.items()))
"""
"""Writes the modules of the package in the order in which their functions are entered, each with
the first one. The code of modules and classes, which runs while they are imported, does not count.
"""


def listed(text: str) -> set[str]:
    """Return the files in the first table of a text."""
    rows = text.partition("\n\n")[2].partition("\n\n")[0]
    return {*re.findall(r"`(\S+\.py)`", rows)}


def test_a_run_enters_few_modules_and_no_suite(tmp_path: Path) -> None:
    """In its main thread."""
    command = [sys.executable, "-c", TRACE, *COMMAND]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "results: " in done.stdout, done.stderr
    modules = [line.split()[0] for line in (tmp_path / "trace.txt").read_text().splitlines()]
    before = modules[: modules.index(FIRST_SPLIT)]
    assert len(before) <= MAX_BEFORE_FIRST_SPLIT, before
    until_tables = modules[: modules.index(LAST_TABLE) + 1]
    assert len(until_tables) <= MAX_UNTIL_TABLES, until_tables
    assert len(modules) <= MAX_MODULES, modules
    computing, presenting = PAGE.read_text().split("\nTo ")[1:3]
    assert listed(computing) == {*until_tables}
    assert listed(presenting) == {*modules} - {*until_tables}
    assert not [name for name in modules if name.startswith("suites/")]
