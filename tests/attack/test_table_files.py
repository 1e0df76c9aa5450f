"""`predict` and `recommend` read a table in any format as the same numbers, or refuse it."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd
import pytest
from attack.attempt import Outcome, Verdict, attempt
from attack.sampling import examples
from attack.table_files import CODES, Rows, Style, contents, styles
from hypothesis import strategies as st

from bnnbench.cli.commands import recommend
from bnnbench.types import Table

SETTINGS = ("dataset.categorical=onehot", "dataset.dates=numbers", "dataset.missing=impute",
            "dataset.group=group")  # fmt: skip


def place(style: Style, rows: Rows, folder: Path) -> str:
    """Write the table into a new folder and return the file's name."""
    folder.mkdir()
    (folder / "t.csv").write_bytes(style.write(rows))
    return "t.csv"


@pytest.mark.slow
def test_recommend_reads_the_same_table(record_outcome: Callable[..., str], tmp_path: Path) -> None:
    def one(draw: st.DrawFn, number: int) -> str:
        style, rows = draw(styles()), draw(contents())
        folder, seen = tmp_path / str(number), list[Table]()
        file = place(style, rows, folder)
        show = recommend.show_plans

        def recorded(runs: Any) -> None:
            seen.append(runs[0].experiment.table)
            show(runs)

        words = [file, "--target", "y", "--methods", "linear,map", "--dry-run", *SETTINGS]
        with patch.object(recommend, "show_plans", recorded):
            outcome = attempt(["recommend", *words], folder)
        wrong = "" if outcome.code else other_table(seen[0], rows)
        failure = record_outcome("formats, recommend", outcome, wrong=wrong)
        return failure and f"{style} in {folder}: {failure}"

    failures = examples("recommend", one, 2)
    assert not failures, "\n\n".join(failures)


def other_table(table: Table, rows: Rows) -> str:
    """Why a table is not the written one, if so."""
    inputs = rows.inputs
    if not np.allclose(table.targets, rows.targets):
        return f"other targets: {table.targets[:5]}"
    if table.inputs.shape != inputs.shape:
        return f"other columns: {table.features}"
    if not np.allclose(table.inputs, inputs, equal_nan=True):
        return f"other inputs: {table.inputs[:3]} for {inputs[:3]}"
    assert table.groups is not None
    parts = [{*np.array(rows.groups)[split.test]} for split in table.splits]
    kept = [{*np.array(rows.groups)[split.train]} for split in table.splits]
    leak = any(test & train for test, train in zip(parts, kept, strict=True))
    return "a group is in both parts" if leak else ""


@pytest.fixture(scope="module")
def fitted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a run of `linear` on a table of this kind, and its model."""
    folder = tmp_path_factory.mktemp("fitted") / "cwd"
    rng = np.random.default_rng(0)
    codes = [*CODES] * 8
    days = rng.integers(0, 30_000, 40)
    groups = [f"p{i % 6}" for i in range(40)]
    numbers = [rng.normal(0, 50, 40), rng.integers(0, 10**6, 40)]
    file = place(Style(), Rows(3, *numbers, days, codes, groups, rng.normal(size=40)), folder)
    words = ["run", "dataset=csv", f"dataset.path={file}", "dataset.target=y", *SETTINGS]
    done = attempt([*words, "method=linear", "splits=1", "workers=1"], folder)
    assert done.verdict == Verdict.RAN, done
    assert attempt(["predict", "outputs", file], folder).verdict == Verdict.RAN
    (folder / "t.csv").rename(folder / "trained.csv")
    return folder


def test_predict_reads_the_same_rows(
    record_outcome: Callable[..., str], fitted: Path, tmp_path: Path
) -> None:
    def predictions(style: Style, rows: Rows, folder: Path) -> Outcome:
        place(style, rows, folder)
        shutil.copytree(fitted, folder, dirs_exist_ok=True)
        return attempt(["predict", "outputs", "t.csv"], folder)

    def one(draw: st.DrawFn, number: int) -> str:
        style, rows = draw(styles()), draw(contents(12))
        plain = predictions(Style(), rows, tmp_path / f"{number}-plain")
        folder = tmp_path / str(number)
        outcome = predictions(style, rows, folder)
        wrong = ""
        if plain.code == outcome.code == 0:
            found, expected = (predicted(each) for each in (outcome, plain))
            wrong = "" if np.allclose(found, expected, rtol=1e-4) else "other predictions"
        failure = record_outcome("formats, predict", outcome, wrong=wrong)
        return failure and f"{style} in {folder}: {failure}"

    failures = examples("predict", one, 2)
    assert not failures, "\n\n".join(failures)


def predicted(outcome: Outcome) -> pd.DataFrame:
    return pd.read_csv(StringIO(outcome.out))[["mean", "lower", "upper", "noise"]]
