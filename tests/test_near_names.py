"""Messages about unknown names: short, on one line, with the nearest known names."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from support.command import Command
from support.runs import make_run

from bnnbench.config.configs import unknown_option
from bnnbench.constraints import check_choice
from bnnbench.data.own_table.columns.encoding import Encoding, encode_rows
from bnnbench.data.own_table.columns.roles import ColumnRoles
from bnnbench.near_names import (
    MAX_LISTED,
    check_known_names,
    closest_match,
    list_names,
    with_known,
)
from bnnbench.notes import MAX_MESSAGE, message_text
from bnnbench.results.read.run_filter import Condition, RunFilter, filter_runs
from bnnbench.results.read.run_tables import read_runs
from bnnbench.types import UserError

NAMES = [f"column_{k:04}" for k in range(2000)]


@pytest.mark.parametrize(
    ("word", "names", "expected"),
    [("MEDV", ["crim", "medv"], "medv"), ("y", ["X", "Y"], "Y"), ("1", ["10"], None),
     ("vadm", ["vadam", "bbb"], "vadam"), ("mine", ["vadam", "bbb"], None), ("é", ["É"], "É"),
     ("sale price", ["Sales", "Sale_Price"], "Sale_Price"), ("Y", ["yy", "y"], "y"),
     ("hohe", ["Höhe", "Ort"], "Höhe"), ("bodyMass", ["body mass", "mass"], "body mass"),
     ("größe", ["GRÖSSE"], "GRÖSSE"), ("--", ["__", "a"], None), ("a b", ["xy", "b"], None),
     ("COLUMN_1234", NAMES, "column_1234"), ("x" * 20_000, NAMES, None), ("", NAMES, None)],
)  # fmt: skip
def test_the_closest_match(word: str, names: list[str], expected: str | None) -> None:
    assert closest_match(word, names) == expected


@pytest.mark.parametrize(
    "names", [NAMES, ["a" * 20_000, "b"], ["two\nlines", "a\x1b[31m"], [], range(10**5), ["x"] * 50]
)
def test_few_names_are_listed(names: list[str]) -> None:
    for text in (list_names(names), list_names(names, "column_1234")):
        assert len(text) < 1000 and text.count(", ") < MAX_LISTED
    assert all(str(name) in list_names(names[:9]) for name in names[:9] if len(str(name)) < 9)


def test_the_nearest_of_many_names_are_listed() -> None:
    assert "column_1234" in list_names(NAMES, "Colum_1234")
    assert "did you mean 'column_1234'" in with_known("Colum_1234", NAMES)
    assert list_names(["b", "a"], "a") == "b, a"


LONG, BREAKS = "n" * 20_000, "a\nb\r\x1b[2J\x00\u2028"


def select_missing_column(word: str) -> object:
    return ColumnRoles(word, None, (), {}).select(Path("t.csv"), NAMES)


def encode_missing_columns(word: str) -> object:
    import pandas as pd

    wanted = [Encoding(f"{word}{k}", "number") for k in range(2000)]
    return encode_rows(pd.DataFrame({name: [1.0] for name in NAMES}), wanted, "t.csv")


def fail(error: UserError) -> None:
    raise error


FAILURES: dict[str, Callable[[str], object]] = {
    "column": select_missing_column,
    "columns of a model": encode_missing_columns,
    "option": lambda word: fail(unknown_option("method", word, NAMES)),
    "name": lambda word: check_known_names("--rename", [word], dict.fromkeys(NAMES)),
    "choice": lambda word: check_choice("key", word, tuple(NAMES)),
    "metric": lambda word: RunFilter(metrics=(word,)),
    "words": lambda word: fail(UserError(f"cannot use {' '.join([word] * 100)}.")),
}


@pytest.mark.parametrize("word", [LONG, BREAKS, "b c " * 5000, "COLUMN_00001"])
@pytest.mark.parametrize("name", FAILURES)
def test_messages_do_not_grow_with_the_input(name: str, word: str) -> None:
    with pytest.raises(UserError) as error:
        FAILURES[name](word)
    text = str(error.value)
    assert len(text) < MAX_MESSAGE + 10 and text.isprintable() and text.endswith(".")


@pytest.mark.ci
@pytest.mark.parametrize("option", ["methods", "datasets", "where"])
def test_a_report_of_many_methods_names_few(tmp_path: Path, option: str) -> None:
    for k in range(12):
        make_run(tmp_path, method=f"method_{k}", dataset=f"data_{k}", depth=k)
    value = (Condition("depth", "99"),) if option == "where" else (LONG,)
    with pytest.raises(UserError) as error:
        filter_runs(read_runs(tmp_path), RunFilter(**{option: value}))
    assert len(str(error.value)) < 1000


ARGUMENTS = {
    "setting": ["run", f"{LONG}=1"],
    "value": ["run", f"training.epochs={LONG}"],
    "option": ["run", f"method={LONG}"],
    "line breaks": ["run", "method=va\ndam"],
    "command": [LONG],
    "flag": ["report", f"--{LONG}"],
    "choice": ["report", "--style", LONG],
    "suite": ["reproduce", LONG],
    "word": ["list", LONG],
    "folder": ["report", LONG],
    "section": ["report", "--sections", LONG],
    "methods": ["recommend", "t.csv", "--target", "y", "--methods", LONG],
}


@pytest.mark.ci
@pytest.mark.parametrize("name", ARGUMENTS)
def test_a_command_echoes_little(command: Command, name: str) -> None:
    code, _, errors = command(*ARGUMENTS[name])
    assert code == 2 and len(errors) < MAX_MESSAGE, errors
    assert errors.strip().isprintable()


@pytest.mark.parametrize("text", ["short", "/".join(["name"] * 100), f"/{'n' * 255}/file"])
def test_paths_are_whole(text: str) -> None:
    assert message_text(text) == text
