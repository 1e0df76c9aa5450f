"""The folder of one run: `outputs/<experiment>/.../<variant>-<digest>`, and what lies in it."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from bnnbench.files import checksum, write_text
from bnnbench.types import UserError

FIGURES: Mapping[str, tuple[str, ...]] = {
    "png": ("png",),
    "pdf": ("pdf",),
    "both": ("png", "pdf"),
}
"""As what figures may be asked for, and the suffixes of their files."""


@dataclass(frozen=True)
class Done:
    """What the mark of a complete run says.

    Attributes:
        finished: when, ISO 8601 in UTC.
        units: that are in its tables, in their order.
        files: the checksum of its record and of every table and array file, by name.
        page: the checksum of what its page wrote and a report reads back; the numbers stand in
            other files too.
        figures: the names of those that its page drew.
    """

    finished: str
    units: tuple[str, ...]
    files: Mapping[str, str]
    page: Mapping[str, str] = field(default_factory=dict)
    figures: tuple[str, ...] = ()


@dataclass(frozen=True)
class RunFolder:
    """Files of a run of any kind; which tables and arrays there are is the experiment's matter.

    Its name ends in a digest of every setting that can change a number, so different settings
    never meet in one folder and the same command always finds its own.
    """

    root: Path

    @property
    def record(self) -> Path:
        """Which experiment this is, and with what settings."""
        return self.root / "record.json"

    @property
    def config(self) -> Path:
        """The configuration as it was composed."""
        return self.root / "config.yaml"

    @property
    def environment(self) -> Path:
        """What the numbers were computed with."""
        return self.root / "environment.json"

    @property
    def done(self) -> Path:
        """Written last: everything that was asked for is in the tables."""
        return self.root / "DONE"

    @property
    def work(self) -> Path:
        """The pieces from which an interrupted run goes on."""
        return self.root / "work"

    def table(self, name: str) -> Path:
        """`<name>.csv`."""
        return self.root / f"{name}.csv"

    def arrays(self, name: str) -> Path:
        """`<name>.npz`."""
        return self.root / f"{name}.npz"

    def figure(self, name: str, suffix: str) -> Path:
        """`figures/<name>.<suffix>`, suffix `png` or `pdf`."""
        return self.root / "figures" / f"{name}.{suffix}"

    def drawn(self, suffixes: Iterable[str]) -> tuple[str, ...]:
        """The names of the figures that are there with each of these suffixes."""
        there = [
            {path.stem for path in self.figure("*", s).parent.glob(f"*.{s}")} for s in suffixes
        ]
        return tuple(sorted(set.intersection(*there)))

    def finished(self) -> Done | None:
        """What `DONE` says; None where it is not there or damaged."""
        try:
            mark = json.loads(self.done.read_text())
            files, page = dict(mark["files"]), dict(mark.get("page", {}))
            figures = tuple(map(str, mark.get("figures", ())))
            return Done(str(mark["finished"]), tuple(mark["units"]), files, page, figures)
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return None

    def mark(self, done: Done) -> None:
        """Writes `DONE`."""
        write_text(self.done, json.dumps(asdict(done)) + "\n")

    def sums(self, names: Iterable[str]) -> dict[str, str]:
        """The checksums of those of these files that can be read, by name."""
        found = {name: self._checksum(name) for name in names}
        return {name: checked for name, checked in found.items() if checked}

    def damaged(self, sums: Mapping[str, str]) -> list[str]:
        """The names of the files that do not have the checksums with which they were written."""
        return [name for name, wanted in sums.items() if self._checksum(name) != wanted]

    def _checksum(self, name: str) -> str | None:
        try:
            return checksum((self.root / name).read_bytes())
        except OSError:
            return None

    def create(self) -> None:
        """Makes the folder.

        Raises:
            UserError: if it cannot be written to.
        """
        try:
            self.work.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=self.root):
                pass
        except OSError as error:
            raise UserError(
                f"outputs_dir: cannot write to {self.root} ({error.strerror}); "
                "choose a writable folder with outputs_dir=DIR."
            ) from None


def read_environment(folder: RunFolder) -> dict[str, Any]:
    """What `environment.json` says; nothing where it is damaged, since no number needs it."""
    try:
        return dict(json.loads(folder.environment.read_text()))
    except (OSError, ValueError, TypeError):
        return {}


def finished_runs(path: Path) -> Iterator[RunFolder]:
    """Every complete run at or below `path`, in path order."""
    for done in sorted(path.rglob("DONE")):
        yield RunFolder(done.parent)
