"""Saved state of a unit: a header line with the finished steps, then the data to resume."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from bnnbench.files import (
    READ_ERRORS,
    checksum,
    is_out_of_memory,
    open_file,
    read_bytes,
    write_bytes,
)
from bnnbench.notes import note

SUFFIX = "state"
"""File suffix of a unit's state."""


def write(path: Path, steps: int, replicas: Sequence[Mapping[str, Any]]) -> None:
    """Write the states of all replicas of a unit after a number of steps, atomically."""
    buffer = io.BytesIO()
    torch.save({"steps": steps, "replicas": list(replicas)}, buffer)
    content = buffer.getvalue()
    line = json.dumps({"steps": steps, "checksum": checksum(content)})
    write_bytes(path, line.encode() + b"\n" + content)


def steps(path: Path) -> int:
    """Return the number of finished steps, 0 if there is no readable state."""
    try:
        with open_file(path) as file:
            return int(json.loads(file.readline())["steps"])
    except READ_ERRORS:
        return 0


def read(path: Path) -> tuple[int, list[Any]]:
    """Return the number of finished steps and the states of all replicas; 0 and none if missing.

    A damaged state is reported on standard error and ignored, so that the unit starts again.
    """
    if not path.exists():
        return 0, []
    line, _, content = read_bytes(path).partition(b"\n")
    try:
        if json.loads(line)["checksum"] == checksum(content):
            state = torch.load(io.BytesIO(content), weights_only=True)
            return state["steps"], state["replicas"]
    except READ_ERRORS as error:
        if is_out_of_memory(error):
            raise
    note(f"{path} is damaged; its unit starts again.")
    return 0, []
