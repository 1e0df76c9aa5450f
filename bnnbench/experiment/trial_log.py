"""The search's memory on disk: one JSON line per finished evaluation."""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from pathlib import Path

from bnnbench.files import write_text
from bnnbench.search.base import Trial

SUFFIX = "trials.jsonl"
"""Of the log of a unit."""


def read(path: Path) -> list[Trial]:
    """The finished evaluations; a line torn by a kill, and all after it, do not count."""
    if not path.exists():
        return []
    trials = []
    for line in path.read_text().split("\n")[:-1]:
        try:
            record = json.loads(line)
            trials.append(Trial(**{**record, "folds": tuple(record["folds"])}))
        except (json.JSONDecodeError, TypeError, KeyError):
            break
    return trials


def rewrite(path: Path, trials: list[Trial]) -> None:
    """Leaves exactly these trials in the file, so that appending to it is safe."""
    write_text(path, "".join(_line(trial) for trial in trials))


def append(path: Path, trial: Trial) -> None:
    """Adds a trial and waits until the disk has it."""
    with path.open("a") as file:
        file.write(_line(trial))
        file.flush()
        os.fsync(file.fileno())


def count(path: Path) -> int:
    """How many evaluations are finished, without parsing them."""
    return path.read_bytes().count(b"\n") if path.exists() else 0


def _line(trial: Trial) -> str:
    # repr-exact floats and NaN survive the round trip, so a resumed search is bit-identical.
    return json.dumps(asdict(trial)) + "\n"
