"""`bnnbench --version`."""

from __future__ import annotations

from support.command import Command

from bnnbench import __version__
from bnnbench.cpp.library import library


def test_the_version_and_whether_native_code_is_in_use(command: Command) -> None:
    said = f"bnnbench {__version__}\nnative code: {library().status}\n"
    assert command("--version") == (0, said, "")
