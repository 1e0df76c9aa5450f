"""The state of a repetition on disk: a line that says how far it is, and what it takes to go on."""

from __future__ import annotations

import io
import json
import pickle
import sys
from pathlib import Path
from typing import Any

import torch

from bnnbench.files import checksum, write_atomically

SUFFIX = "state"
"""Of the state of a unit."""


def write(path: Path, state: dict[str, Any]) -> None:
    """Writes it atomically; `state["iteration"]` is the last one done."""
    buffer = io.BytesIO()
    torch.save(state, buffer)
    content = buffer.getvalue()
    line = json.dumps({"iteration": state["iteration"], "checksum": checksum(content)})
    write_atomically(path, lambda file: file.write(line.encode() + b"\n" + content))


def iteration(path: Path) -> int:
    """The last iteration that is done; -1 if there is no state, or none that can be read."""
    try:
        with path.open("rb") as file:
            return int(json.loads(file.readline())["iteration"])
    except (OSError, ValueError, KeyError, TypeError):
        return -1


def read(path: Path) -> dict[str, Any] | None:
    """The state; None if there is none.

    A damaged one is named on standard error and counts as none: the repetition begins again.
    """
    if not path.exists():
        return None
    line, _, content = path.read_bytes().partition(b"\n")
    try:
        sound = json.loads(line)["checksum"] == checksum(content)
        if sound:
            state: dict[str, Any] = torch.load(io.BytesIO(content), weights_only=True)
            return state
    except (ValueError, KeyError, TypeError, RuntimeError, pickle.UnpicklingError):
        pass
    print(f"bnnbench: {path} is damaged; this repetition begins again.", file=sys.stderr)
    return None
