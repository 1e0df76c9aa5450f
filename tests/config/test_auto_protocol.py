"""`protocol=auto`: settings by the number of rows, and their plans by `--dry-run`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.command import Command
from support.config import TINY, compose_configs
from support.user_errors import raises_user_error

from bnnbench.config.auto_protocol import auto_setting


def test_small_tables_have_the_books_protocol() -> None:
    found = {name: auto_setting(name, 455) for name in ("batch_size", "epochs", "folds", "splits")}
    assert found == {"batch_size": 32, "epochs": 40, "folds": 5, "splits": 20}
    assert auto_setting("iterations", 455) == 30


@given(st.integers(10, 10**6))
def test_the_number_of_steps_hardly_depends_on_the_rows(rows: int) -> None:
    batch, epochs = auto_setting("batch_size", rows), auto_setting("epochs", rows)
    steps = -(-rows // batch) * epochs
    assert 10 <= epochs <= 40 and batch in (32, 64, 128, 256, 512, 1024)
    assert epochs == 40 or epochs == 10 or 1500 <= steps <= 2500


def test_an_unknown_setting() -> None:
    with raises_user_error("auto"):
        auto_setting("width", 100)


def test_auto_reads_the_table_and_overrides_win(table_csv: Path) -> None:
    words = ("dataset=csv", f"dataset.path={table_csv}", "dataset.target=y", "protocol=auto")
    (config,) = compose_configs([*words, "training.epochs=3", "dataset.n_splits=4"])
    assert (config["training"]["batch_size"], config["training"]["epochs"]) == (32, 3)
    assert (config["splits"], config["search"]["folds"]) == (4, 5)


@pytest.mark.slow
def test_a_dry_run_prints_the_plan_and_writes_nothing(command: Command, table_csv: Path) -> None:
    words = ["dataset=csv", "dataset.target=y", f"dataset.path={table_csv}", *TINY, "workers=1"]
    code, out, errors = command("run", "--dry-run", *words)
    assert code == 0, errors
    assert out.startswith("vadam on table\n")
    for part in ("60 rows, 3 inputs", "2 of 20", "noise_precision 1 to 148", "0 of 2 splits"):
        assert part in out
    assert list(Path().iterdir()) == []
    sweep = ("-m", *words, "method=linear,bbb", "divergence=kl,kl_prior_posterior", "--dry-run")
    code, out, errors = command("run", *sweep)
    assert code == 0 and out.count("folder") == 3 and out.count("network") == 2
    assert "3 runs" in out.splitlines()[-1] and "skipped 1 combination" in errors.splitlines()[-1]
    code, done, _ = command("run", *words, "method=linear", "splits=1")
    code, out, _ = command("run", *words, "method=linear", "splits=1", "--dry-run")
    assert "1 of 1 split" in out and out.splitlines()[-1].split()[-1] in done


def test_the_plan_of_a_large_table(command: Command, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(60_000, 3))
    np.savetxt(tmp_path / "l.csv", x, delimiter=",", header="a,b,y", comments="", fmt="%.4f")
    words = ["dataset=csv", "dataset.target=y", f"dataset.path={tmp_path / 'l.csv'}"]
    code, out, errors = command("run", *words, "protocol=auto", "--dry-run")
    assert code == 0, errors
    assert "256" in out and "5 of 20" in out and "12 evaluations" in out and "2 folds" in out
