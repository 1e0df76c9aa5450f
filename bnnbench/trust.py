"""Trust in projects: nothing in a folder is executed before the user trusts it.

`bnnbench trust` records the path of a `bnnbench.toml` and the SHA-256 of its content in the user's
configuration folder. `BNNBENCH_TRUST` lists further folders, for machines without a terminal.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

from filelock import FileLock

from bnnbench.files import READ_ERRORS, is_private, read_text, real_path, sha256, write_text
from bnnbench.system import is_own
from bnnbench.types import UserError

TRUST_VARIABLE = "BNNBENCH_TRUST"
"""Absolute folders, separated as in `PATH`; they are trusted with all folders below them."""


def check_trusted(file: Path) -> None:
    """Check that the user owns a project file and trusts its present content.

    Raises:
        UserError: if not.
    """
    _check_owner(file)
    listed = map(Path, filter(os.path.isabs, os.environ.get(TRUST_VARIABLE, "").split(os.pathsep)))
    if any(file.is_relative_to(real_path(folder)) for folder in listed):
        return
    if _recorded().get(str(file)) != sha256(file):
        raise UserError(
            f"{file} is not trusted, or has changed: its project can run code. Inspect the folder "
            f"and run `bnnbench trust {file.parent}`, or change to another folder.",
            code="untrusted",
        )


def record_trust(file: Path) -> None:
    """Record that the user trusts a project file with its present content.

    Raises:
        UserError: if the file belongs to another user.
    """
    _check_owner(file)
    record = _record_file()
    record.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(record.with_suffix(".lock")):  # another process may record a project too
        digests = {**_recorded(), str(file): sha256(file)}
        write_text(record, json.dumps(digests, indent=1) + "\n")


def _check_owner(file: Path) -> None:
    if not (is_own(file.stat()) and is_own(file.lstat())):
        raise UserError(
            f"{file} belongs to another user, so it is not used; copy the folder, or change to "
            "another one.",
            code="foreign_file",
        )


def _record_file() -> Path:
    config_home = os.environ.get("XDG_CONFIG_HOME", "")
    home = Path(config_home) if os.path.isabs(config_home) else Path.home() / ".config"
    return home / "bnnbench" / "trusted.json"


def _recorded() -> dict[str, str]:
    """Return the trusted digests by path; empty if another user can write the record."""
    try:
        return dict(json.loads(read_text(_record_file()))) if is_private(_record_file()) else {}
    except READ_ERRORS:
        return {}
