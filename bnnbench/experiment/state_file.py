"""Saved state of a unit: a header line with the last iteration, then the data to resume."""

from __future__ import annotations

import io
import json
import pickle
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from bnnbench.files import READ_ERRORS, checksum, write_bytes

SUFFIX = "state"
"""File suffix of a unit's state."""


def write(path: Path, state: Mapping[str, Any]) -> None:
    """Write a state atomically; `state["iteration"]` is the last finished iteration."""
    buffer = io.BytesIO()
    torch.save(state, buffer)
    content = buffer.getvalue()
    line = json.dumps({"iteration": state["iteration"], "checksum": checksum(content)})
    write_bytes(path, line.encode() + b"\n" + content)


def iteration(path: Path) -> int:
    """Return the last finished iteration, or -1 if there is no readable state."""
    try:
        with path.open("rb") as file:
            return int(json.loads(file.readline())["iteration"])
    except READ_ERRORS:
        return -1


def read(path: Path) -> dict[str, Any] | None:
    """Return the saved state, or None if there is none.

    A damaged state is reported on standard error and ignored, so that the unit starts again.
    """
    if not path.exists():
        return None
    line, _, content = path.read_bytes().partition(b"\n")
    try:
        if json.loads(line)["checksum"] == checksum(content):
            state: dict[str, Any] = torch.load(io.BytesIO(content), weights_only=True)
            return state
    except (RuntimeError, pickle.UnpicklingError, *READ_ERRORS):
        pass
    print(f"bnnbench: {path} is damaged; its unit starts again.", file=sys.stderr)
    return None
