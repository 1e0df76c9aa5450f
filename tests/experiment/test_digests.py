"""The digests of shipped configurations equal recorded ones, so that no run folder is renamed.

They must stay when a file moves or a class is renamed. To record them again after an intended
change, run in `tests`: `python -m support.digests > experiment/digests.json`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.digests import CASES, digest_of

RECORDED = json.loads(Path(__file__).with_name("digests.json").read_text())


def test_every_shipped_option_is_recorded() -> None:
    assert RECORDED.keys() == CASES.keys()


@pytest.mark.parametrize(
    "processor",
    [
        pytest.param("Prescott", marks=pytest.mark.slow),
        pytest.param("Haswell", marks=pytest.mark.ci),
    ],
)
def test_digests_of_shipped_configurations(processor: str) -> None:
    """With the linear algebra of two x86 processors, whose rounding differs."""
    done = subprocess.run(
        [sys.executable, "-m", "support.digests"],
        cwd=Path(__file__).parents[1],
        env=os.environ | {"OPENBLAS_CORETYPE": processor},
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(done.stdout) == RECORDED


@pytest.mark.parametrize("case", ["method vadam", "divergence renyi", "experiment toy_1d"])
def test_digest_of_a_configuration(case: str) -> None:
    assert digest_of(case) == RECORDED[case]
