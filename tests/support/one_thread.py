"""Set one thread per process before torch is imported; pytest-xdist runs a process per core."""

from __future__ import annotations

import os

THREADS = 1
os.environ["OMP_NUM_THREADS"] = str(THREADS)
os.environ.setdefault("MPLBACKEND", "Agg")
