"""`bnnbench --version` says what runs here."""

from __future__ import annotations

from collections.abc import Callable

from bnnbench import __version__
from bnnbench.cpp.library import library

Command = Callable[..., tuple[int, str, str]]


def test_the_version_and_whether_native_code_is_in_use(command: Command) -> None:
    said = f"bnnbench {__version__}\nnative code: {library().standing}\n"
    assert command("--version") == (0, said, "")
