"""Watch a block through Python's audit events: executed code and opened files."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

PROGRAMS = {"subprocess.Popen": 0, "os.system": 0, "os.exec": 0, "os.posix_spawn": 0}
"""Events that start a program, with the argument that names it."""

CHANGES = ("os.rename", "os.mkdir", "os.remove", "os.rmdir", "os.link", "os.symlink", "os.truncate")
"""Events that change files; their first argument is a path."""

WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC

SYSTEM = (Path("/dev"), Path("/proc"))

Listener = Callable[[str, bool], None]
"""Called with an event and whether it changes files, before it happens; may raise an error."""


@dataclass
class Watch:
    """The events of a block.

    Attributes:
        folder: the working directory.
        listener: called for the files of the folder.
        executed: programs that were started, files of the folder whose code ran, and classes that
            pickles named.
        outside: files elsewhere that were changed.
    """

    folder: Path
    listener: Listener
    executed: list[str] = field(default_factory=list)
    outside: list[str] = field(default_factory=list)

    def see(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Record an event."""
        if event in PROGRAMS:
            self.executed.append(os.fsdecode(arguments[PROGRAMS[event]] or ""))
        elif event == "pickle.find_class":
            self.executed.append(".".join(arguments))
        elif event == "exec":
            file = getattr(arguments[0], "co_filename", "")
            if os.path.isabs(file) and Path(file).is_relative_to(self.folder):
                self.executed.append(file)
        elif event in CHANGES or event == "open":
            changes = event != "open" or bool((arguments[2] or 0) & WRITING)
            if isinstance(arguments[0], str | bytes | os.PathLike):
                self._touch(event, Path(os.path.abspath(os.fsdecode(arguments[0]))), changes)

    def _touch(self, event: str, path: Path, changes: bool) -> None:
        if path.is_relative_to(self.folder):
            self.listener(event, changes)
            path = path.parent.resolve() / path.name
        own = path.is_relative_to(self.folder) or "__pycache__" in path.parts
        if changes and not own and not any(path.is_relative_to(place) for place in SYSTEM):
            self.outside.append(str(path))


_watches: list[Watch] = []


def _hook(event: str, arguments: tuple[Any, ...]) -> None:
    if _watches:
        _watches[-1].see(event, arguments)


@contextmanager
def watched(folder: Path, listener: Listener = lambda event, changes: None) -> Iterator[Watch]:
    """Watch the block, whose working directory is `folder`."""
    if _hook not in _installed:
        sys.addaudithook(_hook)  # cannot be removed
        _installed.append(_hook)
    _watches.append(Watch(folder.resolve(), listener))
    try:
        yield _watches[-1]
    finally:
        _watches.pop()


_installed: list[object] = []
