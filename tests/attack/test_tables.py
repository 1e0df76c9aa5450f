"""CSV files of all kinds are read or refused."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from attack.attempt import OutcomeCheck, attempt
from attack.command_lines import command
from attack.sampling import FULL, examples, sample
from hypothesis import strategies as st

NAMES = st.one_of(
    st.sampled_from(
        ["a", "Preis (€)", "a=b", "$x$", "a,b", "a b", "[m]", "{x}", "x_1", "%", "#", "null", "1"]
    ),
    st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1, max_size=12),
)

# Not `st.floats`: a run flushes denormal numbers to zero, which hypothesis refuses to live with.
NUMBERS = st.one_of(
    st.integers(-100, 100).map(str),
    st.integers(-(10**6), 10**6).map(lambda number: repr(number / 1000)),
    st.tuples(st.integers(-9, 9), st.integers(-30, 30)).map(lambda pair: f"{pair[0]}e{pair[1]}"),
)

ODD = st.sampled_from(
    [
        *("", " ", "NA", "nan", "inf", "-inf", "1e400", "1,5", "1;5", "text", '"', "'", "true"),
        *("0x1F", "\uff11", "--1", "1e", "1_000", "\x00", "\x1a", "=1+1", "1" * 400, "5e-324", "€"),
    ]
)

SEPARATORS = st.sampled_from([";", "\t", "|", " ", ",,"])
ENCODINGS = st.sampled_from(["utf-8-sig", "latin-1", "utf-16", "utf-32", "cp037"])
ENDS = st.sampled_from(["\r\n", "\r", "\n\n"])
LAST = st.sampled_from(["", "\x00", '"', "\n\n\n", "# the end"])

DEFECTS = ("names", "target", "rows", "cells", "separator", "encoding", "ends", "last")


def quoted(cell: str, separator: str) -> str:
    special = separator in cell or '"' in cell
    return '"' + cell.replace('"', '""') + '"' if special else cell


@st.composite
def tables(draw: st.DrawFn) -> tuple[bytes, str]:
    """A file's bytes and the target: a valid table with up to two defects."""
    defects = draw(st.sets(st.sampled_from(DEFECTS), max_size=2))
    names = ["p", "q", "r"]
    if "names" in defects:
        names = draw(st.lists(NAMES, min_size=1, max_size=4, unique=draw(st.booleans())))
    count = draw(st.integers(0, 14)) if "rows" in defects else 14
    rows = [[draw(NUMBERS) for _ in names] for _ in range(count)]
    if rows and "cells" in defects:
        _add_defect(draw, draw(st.sampled_from(rows)))
    separator = draw(SEPARATORS) if "separator" in defects else ","
    end = draw(ENDS) if "ends" in defects else "\n"
    lines = [separator.join(quoted(cell, separator) for cell in row) for row in (names, *rows)]
    text = end.join(lines) + (draw(LAST) if "last" in defects else end)
    target = draw(st.sampled_from(["nothing", "", "P"])) if "target" in defects else names[-1]
    encoding = draw(ENCODINGS) if "encoding" in defects else "utf-8"
    return text.encode(encoding, "replace"), target


def _add_defect(draw: st.DrawFn, row: list[str]) -> None:
    kind, cell = draw(st.sampled_from(["cell", "cell", "more", "fewer", "none"])), draw(ODD)
    if kind == "cell":
        row[draw(st.integers(0, len(row) - 1))] = cell
    elif kind == "more":
        row.append(cell)
    elif kind == "fewer":
        row.pop()
    else:
        row.clear()


def test_generated_tables(record_outcome: Callable[..., str], tmp_path: Path) -> None:
    """The target may be the name of any column."""

    def one(draw: st.DrawFn, number: int) -> str:
        content, target = draw(tables())
        folder, file = tmp_path / f"cwd{number}", tmp_path / "table.csv"
        folder.mkdir()
        file.write_bytes(content)
        outcome = attempt([*command(file, ()), f"dataset.target={target}"], folder)
        failure = record_outcome("tables", outcome)
        return failure and f"{content!r} {target!r}: {failure}"

    failures = examples("tables", one, 2)
    assert not failures, "\n\n".join(failures)


EXTREME_NUMBERS = [
    f"{number} among the {column}"
    for number in ("1e30", "1e99", "1e200", "1e305", "1e-320", "-1e30")
    for column in ("inputs", "targets")
]


@pytest.mark.parametrize("name", sample(EXTREME_NUMBERS, 1))
def test_numbers_that_overflow(
    check_outcome: OutcomeCheck, table: Path, empty: Path, name: str
) -> None:
    """The numbers or their squares are infinite or zero in float32 or float64."""
    file = empty.parent / "table.csv"
    lines = table.read_text().splitlines()
    number = name.split()[0]
    last = f"1,1,{number}" if name.endswith("targets") else f"1,{number},1"
    file.write_text("\n".join([*lines, last]))
    check_outcome("tables", attempt(command(file, ()), empty))


FILE_NAMES = [
    *(f"a{mark}b.csv" for mark in "= ,':$%#&;\t\\/"),
    *("a(b).csv", "a[b].csv", "a{b}.csv", 'a"b.csv', "${b}.csv", "~a.csv", "-a.csv", "+a.csv"),
    *("Jörg.csv", "日本.csv", "😀.csv", "null", "1", "true", ".csv", "a.", " a.csv", "x" * 250),
]


@pytest.mark.parametrize("name", sample(FILE_NAMES, 1))
def test_paths(check_outcome: OutcomeCheck, table: Path, empty: Path, name: str) -> None:
    """A file with an unusual name in the working directory."""
    file = empty / name
    file.parent.mkdir(exist_ok=True)
    shutil.copy(table, file)
    check_outcome("paths", attempt([*command(table, ()), f"dataset.path={name}"], empty))


COLUMNS = [
    *("Preis (€)", "a=b", "a,b", "a b", "$x$", "$x", "a_b^c", "[m/s]", "[bold]x", "[/x]", "{x}"),
    *("${x}", "%s", "#", "'", '"', "\\frac", "null", "true", "1", "1.5", "nan", "~", "-x", "+x"),
    *("日本", "x" * 300, "é" * 80, "a\\,b", "a:b", "x;y", "<b>", "|", "&", "*", "~x", "a\u202eb"),
]


@pytest.mark.slow
@pytest.mark.parametrize("name", sample(COLUMNS, 1))
def test_names_of_the_target(check_outcome: OutcomeCheck, empty: Path, name: str) -> None:
    """The run's output and figures, whose axes show the name, and the report."""
    file = empty.parent / "table.csv"
    draw = random.Random(0)
    header = ["p", quoted(name, ",")]
    rows = [[f"{draw.random():.4f}", f"{draw.random():.4f}"] for _ in range(14)]
    file.write_text("\n".join(",".join(row) for row in (header, *rows)), encoding="utf-8")
    words = [*command(file, ()), f"dataset.target={name}"]
    outcome = attempt(words, empty, figures=True)
    check_outcome("names of columns", outcome)
    if outcome.code == 0 and FULL:
        check_outcome("names of columns", attempt(["report"], empty, figures=True))
