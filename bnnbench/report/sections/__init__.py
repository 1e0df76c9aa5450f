"""The generic sections of a report, one module each: its table, its figure and `section`.

`report_writer.SECTIONS` names them in order. Suites append their own (see `bnnbench.discovery`).
This file has their names, for `--sections`. It imports nothing slow.
"""

from __future__ import annotations

from collections.abc import Collection

from bnnbench.near_names import with_known
from bnnbench.types import UserError

DEFAULT_SECTIONS = ("verdict", "scores", "differences", "results", "time", "calibration")
"""Sections that every report shows."""

FURTHER_SECTIONS = (
    "ranks", "orders", "spread", "intervals", "objective", "curves", "coverage", "criteria",
)  # fmt: skip
"""Sections that a report shows if they are named."""

ALL = "all"
"""Names every section."""


def check_sections(names: Collection[str]) -> None:
    """Reject names that are not those of sections.

    Raises:
        UserError: for the first one.
    """
    available = (*DEFAULT_SECTIONS, *FURTHER_SECTIONS, ALL)
    for name in names:
        if name not in available:
            raise UserError(
                f"--sections: unknown section {with_known(name, available)}.",
                "--sections",
                "unknown_name",
            )


def hidden_sections(named: Collection[str]) -> tuple[str, ...]:
    """Return the sections that a report leaves out, given those that are named."""
    return () if ALL in named else tuple(name for name in FURTHER_SECTIONS if name not in named)
