"""Write a frame to a file that can be read as the user's own table."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING

from bnnbench.data.errors import invalid
from bnnbench.data.own_table.names import with_names
from bnnbench.files import checksum, write_bytes
from bnnbench.notes import one_line

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa


def write_frame(frame: pd.DataFrame, folder: Path) -> Path:
    """Write a frame without its index as parquet, to a file named by its content.

    Numbers, texts and dates keep their types: the texts `NA` and `007` stay texts.

    Args:
        frame: the rows.
        folder: created if it does not exist.

    Raises:
        UserError: if a column has the name of another, or no single type.
    """
    import pyarrow as pa
    from pyarrow import parquet

    buffer, named = io.BytesIO(), named_by_text(frame)
    parquet.write_table(pa.table({n: _typed(column) for n, column in named.items()}), buffer)
    content = buffer.getvalue()
    path = folder.absolute() / f"frame-{checksum(content)[:12]}.parquet"
    if not path.is_file():
        folder.mkdir(parents=True, exist_ok=True)
        write_bytes(path, content)
    return path


def named_by_text(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the frame with the column names that its file has.

    Raises:
        UserError: if two names are the same text.
    """
    return with_names(Path("the frame"), frame, list(frame))[0]


def _typed(column: pd.Series) -> pa.Array:
    """Return a column with one type; categories, intervals and periods become texts."""
    import pandas as pd
    import pyarrow as pa

    if isinstance(column.dtype, pd.CategoricalDtype | pd.IntervalDtype | pd.PeriodDtype):
        column = column.astype(object).map(str, na_action="ignore").astype("str")
    if isinstance(column.dtype, pd.SparseDtype):
        column = column.sparse.to_dense()
    try:
        array = pa.array(column, from_pandas=True)
        if not pa.types.is_nested(array.type):
            return array
        reason = f"its type is {array.type}"
    except (pa.ArrowException, ValueError, TypeError, OverflowError) as error:
        reason = one_line(str(error)).rstrip(".")
    raise invalid(
        "path",
        "no_single_type",
        f"column {column.name!r} of the frame must hold only numbers, only texts or only dates "
        f"({reason}); convert or drop it.",
    )
