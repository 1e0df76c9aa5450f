"""The results of every method, preset and experiment equal recorded ones, bit for bit.

To record them again after an intended change, run in `tests`:
`python -m support.golden /tmp/golden > experiment/golden.json`.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from support.golden import CASES

RECORDED = json.loads(Path(__file__).with_name("golden.json").read_text())
IN_CI = (
    *("bbb", "deep_ensemble", "gp", "hmc", "laplace", "linear", "mc_dropout", "pbp", "sgld"),
    *("svgd", "swag", "tagi", "vadam"),
)
QUICK = [f"method {name}" for name in IN_CI]
"""A method of each family, in `make ci`; the others, presets and variants are slow tests."""


def assert_recorded(cases: list[str], outputs: Path) -> None:
    command = [sys.executable, "-m", "support.golden", str(outputs), *cases]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        cwd=Path(__file__).parents[1],
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found == {case: RECORDED[case] for case in cases}


def test_every_case_is_recorded() -> None:
    assert RECORDED.keys() == CASES.keys() and all(RECORDED.values())


@pytest.mark.ci
def test_runs_of_a_method_of_each_family(tmp_path: Path) -> None:
    assert_recorded(QUICK, tmp_path)


@pytest.mark.slow
def test_runs_of_the_others(tmp_path: Path) -> None:
    assert_recorded([case for case in CASES if case not in QUICK], tmp_path)
