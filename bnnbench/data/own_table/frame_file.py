"""Write a frame to a file that can be read as the user's own table."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bnnbench.files import checksum, write_bytes
from bnnbench.types import UserError

if TYPE_CHECKING:
    import pandas as pd

FORMAT: Mapping[str, Any] = {"separator": "comma", "decimal": ".", "encoding": "utf-8"}
"""Settings of `OwnTable` for the file."""


def write_frame(frame: pd.DataFrame, folder: Path) -> Path:
    """Write a frame without its index as CSV, to a file with a name that depends on the content.

    Args:
        frame: the rows.
        folder: created if it does not exist.

    Raises:
        UserError: if a column would be read with another meaning.
    """
    for name in frame.select_dtypes("category"):
        _check_categories(frame[name])
    content = named_by_text(frame).to_csv(index=False, lineterminator="\n").encode()
    path = folder.absolute() / f"frame-{checksum(content)[:12]}.csv"
    if not path.is_file():
        folder.mkdir(parents=True, exist_ok=True)
        write_bytes(path, content)
    return path


def named_by_text(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the frame with the column names that its file has."""
    return frame.set_axis([str(name).strip() for name in frame], axis=1)


def _check_categories(column: pd.Series) -> None:
    """Raise `UserError` for categories that a file cannot distinguish from numbers."""
    import pandas as pd

    categories = column.cat.categories
    if len(categories) and pd.to_numeric(categories, errors="coerce").notna().all():
        raise UserError(
            f"the categories of column {column.name!r} are numbers, which would be read as "
            f"numbers; make them text, such as {column.name}{categories[0]}, or convert the "
            "column to numbers.",
            str(column.name),
            "numeric_categories",
        )
