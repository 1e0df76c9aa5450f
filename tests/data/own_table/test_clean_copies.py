"""A table with a title, metadata, units or a footer is read as the same table without them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support.quick import slow_except

from bnnbench.data.own_table.source import OwnTable

SEEDS = range(30)

UNITS = ("", " km", " %", "", " mg/l", "€", " kWh")
"""What follows the numbers of the first column."""


def lines_of(rng: np.random.Generator, seed: int) -> tuple[list[list[str]], ...]:
    """Return the lines above the names, the names, the data, and the lines below."""
    width, count = int(rng.integers(2, 8)), int(rng.integers(30, 90))
    numbers = rng.normal(rng.uniform(20, 900, width), 9, (count, width)).round(2)
    names = [f"{word}{seed}" for word in ("mass", "flow", "heat", "load", "cost", "wear", "gain")]
    titles = [[], [["Survey of the plant"]], [["Site", "Ulm"], ["Version", "1.2"]] * 4]
    above = titles[seed % 3] if width > 4 else titles[seed % 2]
    gaps = [""] * (width - 1)
    total = ["Toplam", *map(str, numbers[:, 1:].sum(0).round(2))]
    mean = ["Keskiarvo", *map(str, numbers[:, 1:].mean(0).round(3))]
    note, source = ["† corrected", "2021", *gaps[1:]], ["Kaynak: Devlet", *gaps]
    footers = [[total], [mean], [note], [source], [total, note], []]
    data = [[str(value) for value in row] for row in numbers]
    return above, [names[:width]], data, footers[seed % len(footers)]


@pytest.mark.parametrize("seed", slow_except(SEEDS, *range(10)))
def test_a_decorated_table_has_the_numbers_of_the_clean_one(tmp_path: Path, seed: int) -> None:
    rng = np.random.default_rng(seed)
    above, names, data, footer = lines_of(rng, seed)
    separator, decimal = [(",", "."), (";", ","), ("\t", "."), (";", "."), ("\t", ",")][seed % 5]

    def written(name: str, rows: list[list[str]]) -> str:
        cells = ([cell.replace(".", decimal) for cell in row] for row in rows)
        (tmp_path / name).write_text("\n".join(map(separator.join, cells)) + "\n")
        return str(tmp_path / name)

    target = names[0][-1]
    clean = OwnTable(path=written("a.csv", [*names, *data]), target=target).load()
    unit = UNITS[seed % len(UNITS)]
    measured = [[first + unit, *others] for first, *others in data]
    rows = [*above, *names, *measured, *footer]
    found = OwnTable(path=written("b.csv", rows), target=target).load()
    assert found.inputs.tolist() == clean.inputs.tolist() and found.features == clean.features
    assert found.targets.tolist() == clean.targets.tolist()
    assert any("left out" in warning for warning in found.warnings) == bool(footer)
    assert any(f"read '{unit.strip()}' off" in text for text in found.warnings) == bool(unit)
