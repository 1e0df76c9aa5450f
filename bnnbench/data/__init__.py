"""Data sources. Each loads one data set, with its fixed train/test splits, into a `Table`.

May import types, checks, identity and files.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from bnnbench.types import Table


class Source(Protocol):
    """The interface of the classes that configs/dataset/ instantiates."""

    @property
    def name(self) -> str:
        """The label used in paths and tables."""

    def load(self) -> Table:
        """Load the table.

        Raises:
            UserError: if the data are missing, corrupt or unusable.
        """
