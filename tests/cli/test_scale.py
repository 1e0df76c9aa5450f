"""`protocol=auto` and `--dry-run`: settings by the number of rows, and what they come to."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.config import TINY

from bnnbench.cli.line import configs_of
from bnnbench.cli.scale import for_rows
from bnnbench.types import UserError

Command = Callable[..., tuple[int, str, str]]


def test_small_tables_have_the_books_protocol() -> None:
    found = {name: for_rows(name, 455) for name in ("batch_size", "epochs", "folds", "splits")}
    assert found == {"batch_size": 32, "epochs": 40, "folds": 5, "splits": 20}
    assert for_rows("iterations", 455) == 30


@given(st.integers(10, 10**6))
def test_a_fit_has_as_many_steps_whatever_the_table(rows: int) -> None:
    batch, epochs = for_rows("batch_size", rows), for_rows("epochs", rows)
    steps = -(-rows // batch) * epochs
    assert 10 <= epochs <= 40 and batch in (32, 64, 128, 256, 512, 1024)
    assert epochs == 40 or epochs == 10 or 1500 <= steps <= 2500


def test_a_setting_that_rows_do_not_decide() -> None:
    with pytest.raises(UserError, match="batch_size, epochs"):
        for_rows("width", 100)


def test_auto_reads_the_table_and_overrides_win(table_csv: Path) -> None:
    words = ("dataset=csv", f"dataset.path={table_csv}", "dataset.target=y", "protocol=auto")
    (config,) = configs_of([*words, "training.epochs=3", "dataset.n_splits=4"])
    assert (config["training"]["batch_size"], config["training"]["epochs"]) == (32, 3)
    assert (config["splits"], config["search"]["folds"]) == (4, 5)


def test_what_is_wrong_with_the_table_is_said_as_ever(command: Command) -> None:
    words = ("dataset=csv", "dataset.path=nowhere.csv", "dataset.target=y", "protocol=auto")
    code, out, errors = command("run", *words)
    assert code == 2 and out == ""
    assert errors.splitlines()[-1] == "bnnbench: dataset.path: there is no file nowhere.csv."


def test_a_dry_run_says_what_it_would_do_and_writes_nothing(
    command: Command, table_csv: Path
) -> None:
    words = ["dataset=csv", "dataset.target=y", f"dataset.path={table_csv}", *TINY, "workers=1"]
    code, out, errors = command("run", "--dry-run", *words)
    assert code == 0, errors
    assert out.startswith("vadam on table\n  table     60 rows, 3 inputs, target y\n")
    for part in (
        "splits    2 of 20",
        "search ",
        "noise_precision 1 to 148",
        "takes ",
        "0 of 2 splits",
    ):
        assert part in out
    assert list(Path().iterdir()) == []
    sweep = ("-m", *words, "method=linear,bbb", "divergence=kl,rkl", "--dry-run")
    code, out, errors = command("run", *sweep)
    assert code == 0 and out.count("folder") == 3 and out.count("network") == 2
    assert out.splitlines()[-1].startswith("in all 3 runs, about ")
    assert errors.splitlines()[-1].startswith("bnnbench: passed over 1 combination")
    code, done, _ = command("run", *words, "method=linear", "splits=1")
    code, out, _ = command("run", *words, "method=linear", "splits=1", "--dry-run")
    assert "1 of 1 splits" in out and out.splitlines()[-1].split()[-1] in done


def test_a_large_table_is_planned_within_bounds(command: Command, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(60_000, 3))
    np.savetxt(tmp_path / "l.csv", x, delimiter=",", header="a,b,y", comments="", fmt="%.4f")
    words = ["dataset=csv", "dataset.target=y", f"dataset.path={tmp_path / 'l.csv'}"]
    code, out, errors = command("run", *words, "protocol=auto", "--dry-run")
    assert code == 0, errors
    assert "minibatches of 256" in out and "5 of 20" in out and "12 evaluations of 2 folds" in out
