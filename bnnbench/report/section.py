"""What one part of the report adds to it: text of the page, tables, figures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import pandas as pd
from matplotlib.figure import Figure


@dataclass(frozen=True)
class Section:
    """One part of the report over many runs.

    Attributes:
        parts: paragraphs, tables and headings of the page, Markdown.
        tables: by name, what is written as `<name>.csv`.
        figures: by name, what is written as `<name>.png` and `<name>.pdf`.
    """

    parts: list[str]
    tables: Mapping[str, pd.DataFrame] = field(default_factory=dict)
    figures: Mapping[str, Figure] = field(default_factory=dict)
