"""Tables of a comparison with reference results."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import pytest
from rich.console import Console

from bnnbench.report import blocks
from bnnbench.report.renderers import terminal
from bnnbench.report.sections.reference_results import (
    COUNT_COLUMNS,
    DATASET_COLUMNS,
    OVERALL_COLUMNS,
    choice_note,
)

NAME = "tagi_v_gains_2024"
ROW = {
    **{"b": NAME, "name": f"{NAME} *†", "datasets": 10, "mean_b": -12.345, "needed": 1234},
    **{"better": 10, "equivalent": 10, "undecided": 10, "worse": 10, "p_holm": 0.04999},
    **{"p_better": 0.5, "p_equivalent": 0.2, "p_worse": 0.3},
    **{"difference": -0.1234, "low": -0.2345, "high": -0.0123},
}


@pytest.mark.parametrize("columns", [COUNT_COLUMNS, DATASET_COLUMNS, OVERALL_COLUMNS])
def test_tables_with_long_names_fit_into_80_columns(columns: Sequence[blocks.Column]) -> None:
    table = blocks.fill(columns, pd.DataFrame([ROW]))
    console = Console(width=80)
    with console.capture() as text:
        console.print(terminal.Grid([table]))
    lines = [line for line in text.get().splitlines() if NAME in line]
    assert lines and all(cell.split()[-1] in lines[0] for cell in table.rows[0])


@pytest.mark.parametrize(("names", "count"), [([], 0), (["a"], 0), (["a", "a"], 0), ("ab", 1)])
def test_a_choice_among_methods_of_mine_is_named(names: Sequence[str], count: int) -> None:
    found = list(choice_note(names))
    assert len(found) == count and all(text.startswith("2 ") for text in found)
