"""Folders of runs, `outputs/<experiment>/.../<variant>-<digest>`, and the files in them."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path

from bnnbench.files import (
    READ_ERRORS,
    check_regular_files,
    checksum,
    read_bytes,
    read_text,
    remove,
    write_text,
)
from bnnbench.types import UserError

FIGURE_FORMATS: Mapping[str, tuple[str, ...]] = {
    "png": ("png",),
    "pdf": ("pdf",),
    "both": ("png", "pdf"),
}
"""Formats of figures, with the suffixes of their files."""


@dataclass(frozen=True)
class Done:
    """The content of `DONE`, which marks a complete run.

    Attributes:
        finished: time, ISO 8601 in UTC.
        units: units in its tables, in order.
        files: checksums of its record and of every table and array file, by name.
    """

    finished: str
    units: tuple[str, ...]
    files: Mapping[str, str]


@dataclass(frozen=True)
class RunFolder:
    """The files that every run has; tables and arrays depend on the experiment.

    The name of the folder ends in a digest of every setting that can change a result. Different
    settings therefore use different folders, and the same command always finds its own.
    """

    root: Path

    @classmethod
    def named(cls, outputs: Path, parts: Sequence[str], digest: str) -> RunFolder:
        """Return the folder of a run, `outputs/<part>/.../<last part>-<digest>`.

        Args:
            outputs: where all runs are saved.
            parts: label of the experiment, and what a reader recognises the run by.
            digest: of the identity of the run.
        """
        *parents, last = parts
        return cls(outputs.joinpath(*parents, f"{last}-{digest}"))

    @property
    def record(self) -> Path:
        """The experiment and its settings."""
        return self.root / "record.json"

    @property
    def config(self) -> Path:
        """The composed configuration."""
        return self.root / "config.yaml"

    @property
    def environment(self) -> Path:
        """The software and hardware that computed the run."""
        return self.root / "environment.json"

    @property
    def done(self) -> Path:
        """The file that marks a complete run, written last."""
        return self.root / "DONE"

    @property
    def work(self) -> Path:
        """The files of single units, from which an interrupted run resumes."""
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

    def finished(self) -> Done | None:
        """Read `DONE`; None if it is missing or damaged."""
        try:
            check_regular_files(self.root)
            mark = json.loads(read_text(self.done))
            files, units = dict(mark["files"]), tuple(mark["units"])
            datetime.fromisoformat(mark["finished"])
        except READ_ERRORS:
            return None
        names = (*files, *units)
        plain = all(isinstance(name, str) and name.isprintable() for name in names)
        if not plain or any("/" in name or name == ".." for name in names):
            return None
        return Done(mark["finished"], units, files)

    def write_done(self, done: Done) -> None:
        """Write `DONE`."""
        write_text(self.done, json.dumps(asdict(done)) + "\n")

    def remove_figures(self) -> None:
        """Remove all figures, and the page with them."""
        names = (f"figures/*.{suffix}" for suffix in FIGURE_FORMATS["both"])
        for pattern in (*names, "page.html"):
            for path in self.root.glob(pattern):
                remove(path)

    def is_outdated(self, path: Path) -> bool:
        """Whether a file derived from the results is missing, or not newer than they are."""
        return not path.exists() or path.stat().st_mtime_ns <= self.done.stat().st_mtime_ns

    def checksums(self, names: Iterable[str]) -> dict[str, str]:
        """Return the checksums of these files by name, without missing files."""
        checksums = {name: self._checksum(name) for name in names}
        return {name: checked for name, checked in checksums.items() if checked}

    def damaged(self, checksums: Mapping[str, str]) -> list[str]:
        """Return the names of the files that do not have these checksums."""
        return [name for name, expected in checksums.items() if self._checksum(name) != expected]

    def _checksum(self, name: str) -> str | None:
        try:
            return checksum(read_bytes(self.root / name))
        except READ_ERRORS:
            return None

    def create(self) -> None:
        """Create the folder.

        Raises:
            UserError: if it is not writable.
        """
        check_regular_files(self.root)
        try:
            self.work.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=self.root):
                pass
        except OSError as error:
            raise UserError(
                f"outputs_dir: cannot write to {self.root} ({error.strerror}); "
                "choose a writable folder with outputs_dir=DIR.",
                "outputs_dir",
            ) from None


def finished_runs(path: Path) -> Iterator[RunFolder]:
    """Yield every complete run in or below `path`, in path order."""
    for done in sorted(path.rglob("DONE")):
        yield RunFolder(done.parent)


def find_run(path: Path) -> RunFolder:
    """Return the only finished run at or below a folder.

    Raises:
        UserError: if there is none, or more than one.
    """
    if not path.is_dir():
        raise UserError(
            f"{path} is not a folder; give the run folder that `bnnbench run` printed last.",
            "RUN",
            "not_a_folder",
        )
    found = list(finished_runs(path))
    if not found:
        message = f"there is no finished run at or below {path}; give the folder of a run."
        raise UserError(message, "RUN", "no_run")
    if len(found) > 1:
        raise UserError(
            f"{path} contains {len(found)} finished runs; give the folder of one, such as "
            f"{found[0].root}.",
            "RUN",
            "several_runs",
        )
    check_regular_files(found[0].root)
    return found[0]
