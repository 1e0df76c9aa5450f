"""The search's memory on disk: a line per finished evaluation, JSON and its checksum."""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from pathlib import Path

from bnnbench.files import checksum, write_text
from bnnbench.search.base import Trial

SUFFIX = "trials.jsonl"
"""Of the log of a unit."""


def read(path: Path) -> list[Trial]:
    """The finished evaluations, up to a line that a kill has torn or that is damaged."""
    if not path.is_file():
        return []
    trials = []
    for line in path.read_bytes().split(b"\n")[:-1]:
        text, _, sum_ = line.rpartition(b"\t")
        if not text or sum_ != checksum(text).encode():
            break
        record = json.loads(text)
        trials.append(Trial(**{**record, "folds": tuple(record["folds"])}))
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
    return path.read_bytes().count(b"\n") if path.is_file() else 0


def _line(trial: Trial) -> str:
    # repr-exact floats and NaN survive the round trip, so a resumed search is bit-identical.
    text = json.dumps(asdict(trial))
    return f"{text}\t{checksum(text.encode())}\n"
