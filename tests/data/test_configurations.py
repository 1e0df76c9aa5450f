"""The configured data sets: protocols and light imports."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from support.tables import SHAPES, configured_source


@pytest.mark.parametrize("name", [*SHAPES, "diabetes"])
def test_configured_protocol(name: str) -> None:
    source, protocol = configured_source(name)
    assert source.name == name
    large = name in {"wine", "power", "naval", "kin8nm", "protein"}
    assert (protocol["sample_budget"], protocol["batch_size"]) == (
        ("large", 128) if large else ("small", 32)
    )
    assert protocol["width"] == (100 if name == "protein" else 50)
    narrow = name in {"naval", "power"}
    logs = {key: np.log(bounds).tolist() for key, bounds in protocol["bounds"].items()}
    assert logs == {
        "noise_precision": [1.0, 5.0] if narrow else [0.0, 5.0],
        "prior_precision": [-3.0, 4.0] if narrow else [-4.0, 4.0],
    }


def test_the_data_layer_is_light_to_import() -> None:
    code = (
        "import sys, bnnbench.data.bundled, bnnbench.data.own_table.source; "
        "print({'torch', 'hydra', 'omegaconf', 'pandas', 'sklearn', 'pooch'} & set(sys.modules))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "set()"
