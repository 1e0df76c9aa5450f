"""Data sources: each reads one data set, with its fixed train/test splits, into a `Table`.

May import types, checks, identity and files.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from bnnbench.types import Table


class Source(Protocol):
    """What every `_target_` in `configs/dataset/` provides."""

    @property
    def name(self) -> str:
        """The label used in paths and tables."""

    @property
    def summary(self) -> str:
        """One line: rows x columns and the task."""

    def load(self) -> Table:
        """Reads the table.

        Raises:
            UserError: if the data are absent, corrupt or unusable.
        """
