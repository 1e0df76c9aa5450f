"""Watch an attempt through Python's audit events: programs, code and files."""

from __future__ import annotations

import os
import sys
import sysconfig
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

PROGRAMS = {"subprocess.Popen": 0, "os.system": 0, "os.exec": 0, "os.posix_spawn": 0}
"""Events that start a program, with the argument that names it."""

HARMLESS_PROGRAMS = ("git", "uname", "lscpu", "/proc/self/exe")
"""Read the version of the code and describe the machine."""

CHANGES = ("os.rename", "os.mkdir", "os.remove", "os.rmdir", "os.link", "os.symlink", "os.truncate")
"""Events that change files; their first arguments are paths."""

WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC

OWN_FOLDERS = tuple(
    Path(folder).expanduser().resolve()
    for folder in ("/dev", "/proc", "~/.cache", sysconfig.get_path("stdlib"), tempfile.gettempdir())
)
"""Devices, caches of libraries, and temporary files, except next to the working directory."""

Listener = Callable[[str, bool], None]
"""Called before a file of the folder is opened or changed, with the event and whether it changes
the file; may raise."""


@dataclass
class Watch:
    """What happened during an attempt.

    Attributes:
        folder: the working directory.
        programs: started, except harmless ones.
        code: files of the folder that were executed.
        outside: files that were changed elsewhere.
        listeners: called for every opened, renamed or created file of the folder.
    """

    folder: Path
    programs: list[str] = field(default_factory=list)
    code: list[str] = field(default_factory=list)
    outside: list[str] = field(default_factory=list)
    listeners: list[Listener] = field(default_factory=list)

    def see(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Record an event."""
        if event in PROGRAMS:
            name = os.fsdecode(arguments[PROGRAMS[event]] or "")
            if not name.endswith(HARMLESS_PROGRAMS):
                self.programs.append(name)
        elif event == "exec":
            file = getattr(arguments[0], "co_filename", "")
            if os.path.isabs(file) and self.contains(Path(file)):
                self.code.append(file)
        elif event == "open" or event in CHANGES:
            paths = arguments[:2] if event in ("os.rename", "os.link") else arguments[:1]
            changes = event != "open" or bool((arguments[2] or 0) & WRITING)
            for path in paths:
                if isinstance(path, str | bytes | os.PathLike):
                    self.touch(event, Path(os.path.abspath(os.fsdecode(path))), changes)

    def touch(self, event: str, path: Path, changes: bool) -> None:
        """Record that a path was opened or changed, and call the listeners."""
        if self.contains(path):
            for listener in self.listeners:
                listener(event, changes)
            path = path.parent.resolve() / path.name
        compiled = "__pycache__" in path.parts  # the interpreter's cache of modules
        own = compiled or any(path.is_relative_to(folder) for folder in OWN_FOLDERS)
        is_sibling = path.is_relative_to(self.folder.parent)
        if changes and not self.contains(path) and (is_sibling or not own):
            self.outside.append(str(path))

    def contains(self, path: Path) -> bool:
        """Return whether a path is in the folder."""
        return path.is_relative_to(self.folder)


_watches: list[Watch] = []


def _hook(event: str, arguments: tuple[Any, ...]) -> None:
    if _watches and (event in PROGRAMS or event in CHANGES or event in ("open", "exec")):
        _watches[-1].see(event, arguments)


@contextmanager
def watched(folder: Path, *listeners: Listener) -> Iterator[Watch]:
    """Watch the block, whose working directory is `folder`."""
    if not _installed:
        sys.addaudithook(_hook)  # cannot be removed
        _installed.append(True)
    outer = _watches[-1].listeners if _watches else []
    watch = Watch(folder.resolve(), listeners=[*outer, *listeners])
    _watches.append(watch)
    try:
        yield watch
    finally:
        _watches.pop()


_installed: list[bool] = []


def reset_peak_memory() -> None:
    """Start a new measurement of `peak_memory`."""
    Path("/proc/self/clear_refs").write_text("5")


def peak_memory() -> float:
    """Return the largest memory of this process since `reset_peak_memory`, in GB."""
    lines = Path("/proc/self/status").read_text().splitlines()
    (peak,) = (line for line in lines if line.startswith("VmHWM:"))
    return int(peak.split()[1]) / 1e6
