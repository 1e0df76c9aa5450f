"""Sweeps over divergences with given mean scores."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from support.runs import make_run

OFFSETS = np.array([-0.3, -0.1, 0.1, 0.3])


def make_grid(outputs: Path, means: Mapping[str, float], **more: Any) -> None:
    """Write a finished run per divergence, with four splits around a mean RMSE; NLL = RMSE / 10."""
    for name, mean in means.items():
        rmse = mean + OFFSETS
        changes = {"divergence": name, "rmse": rmse, "log_likelihood": -rmse / 10, **more}
        kind = {"method": "bbb", "experiment": "grid", **changes}
        variant = "-".join([name, *(str(more.get(key, "")) for key in ("depth", "seed"))])
        make_run(outputs, variant, **kind)
