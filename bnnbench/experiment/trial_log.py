"""The log of a search: one line per finished evaluation, JSON with a checksum.

The whole file is rewritten after every evaluation. It therefore always contains the search of a
single process, even if two processes work on the same unit without seeing each other's locks.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path

from bnnbench.files import checksum, write_text
from bnnbench.search.base import Trial

SUFFIX = "trials.jsonl"
"""Suffix of the file of a unit."""


class TrialLog:
    """The finished evaluations of a unit, in memory and on disk.

    Attributes:
        path: of the file.
        trials: in order.
    """

    def __init__(self, path: Path, trials: Iterable[Trial] = ()) -> None:
        """Write exactly these trials to the file."""
        self.path, self.trials = path, list(trials)
        self._text = "".join(_line(trial) for trial in self.trials)
        write_text(path, self._text)

    def add(self, trial: Trial) -> None:
        """Append a trial and write it to disk."""
        self.trials.append(trial)
        self._text += _line(trial)
        write_text(self.path, self._text)


def read(path: Path) -> list[Trial]:
    """Read the finished evaluations, up to the first damaged line."""
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


def count(path: Path) -> int:
    """Count the finished evaluations without parsing them."""
    return path.read_bytes().count(b"\n") if path.is_file() else 0


def _line(trial: Trial) -> str:
    # repr-exact floats and NaN survive the round trip, so a resumed search is bit-identical.
    text = json.dumps(asdict(trial))
    return f"{text}\t{checksum(text.encode())}\n"
