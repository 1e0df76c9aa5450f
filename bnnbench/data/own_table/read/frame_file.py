"""A file of a frame's columns with their types, which is read as the user's own table.

It is an archive of numpy arrays without Python objects: numbers and dates as they are, text as
JSON. So text stays text, whatever it looks like, and only empty cells are missing.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bnnbench.data.own_table.read.names import clean_name
from bnnbench.files import checksum, read_arrays, write_atomically
from bnnbench.notes import one_line
from bnnbench.types import UserError

if TYPE_CHECKING:
    import pandas as pd

SUFFIX = ".frame"

NUMBER_TYPES = ("integer", "floating", "mixed-integer-float", "decimal", "boolean")
DATE_TYPES = ("datetime64", "datetime", "date")
"""Names of `pandas.api.types.infer_dtype` for columns of Python objects."""


def write_frame(frame: pd.DataFrame, folder: Path) -> Path:
    """Write a frame without its index, to a file with a name that depends on the content.

    Args:
        frame: the rows.
        folder: created if it does not exist.

    Raises:
        UserError: if a column holds complex numbers or text that cannot be encoded.
    """
    arrays = {"names": _as_json([clean_name(name) for name in frame])}
    for k in range(frame.shape[1]):
        try:
            found = _arrays_of(frame.iloc[:, k])
        except (TypeError, ValueError) as error:
            name, reason = frame.columns[k], one_line(str(error)).rstrip(".")
            text = f"column {name!r} of the frame must hold numbers, dates or text ({reason})."
            raise UserError(text, "dataset.path", "wrong_type") from None
        arrays |= {f"{name}{k}": array for name, array in found.items()}
    content = b"".join(name.encode() + array.tobytes() for name, array in arrays.items())
    path = folder.absolute() / f"frame-{checksum(content)[:12]}{SUFFIX}"
    if not path.is_file():
        folder.mkdir(parents=True, exist_ok=True)
        write_atomically(path, lambda file: np.savez(file, **arrays))  # type: ignore[arg-type]
    return path


def read_frame_file(path: Path) -> tuple[pd.DataFrame, list[str]]:
    """Return the columns of such a file, and their names, which need not be unique.

    Raises:
        ValueError: if the file is damaged.
    """
    import pandas as pd

    arrays = read_arrays(path)
    try:
        names = _from_json(arrays["names"])
        columns = {k: _column_of(arrays, k) for k in range(len(names))}
    except (KeyError, TypeError) as error:
        raise ValueError(f"damaged: {error}") from None
    return pd.DataFrame(columns), names


def _arrays_of(column: pd.Series) -> dict[str, np.ndarray]:
    """Return a column as `values`, or as `codes` (-1 for no value) of `texts`."""
    import pandas as pd

    kinds = pd.api.types
    text = isinstance(column.dtype, pd.CategoricalDtype)
    kind = "" if text else kinds.infer_dtype(column, skipna=True)
    if kinds.is_datetime64_any_dtype(column.dtype) or kind in DATE_TYPES:
        times = pd.to_datetime(column, utc=True).dt.tz_localize(None)
        return {"values": times.to_numpy("datetime64[us]")}
    if kinds.is_bool_dtype(column.dtype) and not column.isna().any():
        return {"values": column.to_numpy(bool)}
    if kinds.is_numeric_dtype(column.dtype) or kind in NUMBER_TYPES or column.isna().all():
        return {"values": column.astype(object).to_numpy(np.float64, na_value=np.nan)}
    codes, texts = pd.factorize(column.astype(object).map(str, na_action="ignore"))
    return {"codes": codes.astype(np.int64), "texts": _as_json(texts.tolist())}


def _column_of(arrays: Any, index: int) -> pd.Series:
    """Return a column; one of text has the dtype `category`."""
    import pandas as pd

    if f"values{index}" in arrays:
        return pd.Series(arrays[f"values{index}"])
    texts = _from_json(arrays[f"texts{index}"])
    return pd.Series(pd.Categorical.from_codes(arrays[f"codes{index}"], texts))


def _as_json(texts: list[str]) -> np.ndarray:
    return np.frombuffer(json.dumps(texts, ensure_ascii=False).encode(), np.uint8)


def _from_json(array: np.ndarray) -> list[str]:
    texts = json.loads(array.tobytes())
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise ValueError("not a list of texts")
    return texts
