"""`torch.compile` for the training step of long searches.

Fusing element-wise operations saves about a quarter of the step time on a CPU. Compiling takes
seconds, once per shape and process (less if the on-disk cache is warm).
"""

from __future__ import annotations

import shutil
import sysconfig
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import torch

MIN_STEPS = 5000  # per split, from which compiling pays off


def available() -> bool:
    """Return whether the machine has a compiler and Python headers, which `torch.compile` needs."""
    header = Path(sysconfig.get_paths()["include"]) / "Python.h"
    return shutil.which("g++") is not None and header.exists()


@cache
def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the compiled function, specialised for each shape of its arguments."""
    import torch._dynamo.config as dynamo
    import torch._inductor.config as inductor

    # A sweep has many shapes in one process, and above this limit torch silently runs eagerly.
    dynamo.recompile_limit = 1000
    dynamo.accumulated_recompile_limit = 1000
    inductor.compile_threads = 1
    return torch.compile(function, dynamic=False)
