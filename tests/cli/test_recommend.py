"""`bnnbench recommend`: a comparison of methods on a table."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from support.command import Command
from support.config import TINY

from bnnbench.results.compare.recommendation import (
    coverage_by_deviation,
    recommendation,
    recommended,
)
from bnnbench.results.read.run_tables import read_runs

pytestmark = pytest.mark.usefixtures("without_figures")


SHORT = [word for word in TINY if not word.startswith(("splits", "search"))]


@pytest.fixture
def line(tmp_path: Path) -> Path:
    """A table with a linear relation and noise."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(80, 2))
    frame = pd.DataFrame(x, columns=["a", "b"]).assign(y=x[:, 0] + 0.3 * rng.normal(size=80))
    frame.to_csv(tmp_path / "line.csv", index=False)
    return tmp_path / "line.csv"


@pytest.mark.ci
def test_the_best_is_recommended_and_used(command: Command, line: Path) -> None:
    words = ("--methods", "linear,pbp", "splits=3", *SHORT)
    code, out, errors = command("recommend", str(line), "--target", "y", *words)
    assert code == 0, errors
    runs = read_runs(Path("outputs/recommend/uci/line"))
    assert sorted(runs.scored["method"]) == ["linear", "pbp"]
    found = recommendation(runs)
    best = runs.scored["log_likelihood_mean"].astype(float).idxmax()
    assert found.best == best and len(found.others) == 1
    chances = found.others[["p_better", "p_equivalent", "p_worse"]]
    assert chances.to_numpy().sum() == pytest.approx(1)
    inside = coverage_by_deviation(runs, best)
    assert inside is not None and np.mean(inside.thirds) == pytest.approx(inside.whole, abs=0.1)
    last = out.strip().splitlines()
    assert f"{runs.scored.at[best, 'method']} has the best" in out
    assert last[-1] == f"next: bnnbench predict {runs.folders[recommended(found)].root} NEW.csv"
    assert Path("outputs/recommend/uci/line/report/results.md").is_file()
    code, again, errors = command("recommend", "--target", "y", str(line), *words)
    assert code == 0 and "splits," not in errors and again.splitlines()[-1] == last[-1]


def test_methods_that_do_not_work_on_the_table_are_named(
    command: Command, line: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bnnbench.methods.gp.GP.max_rows", 20)
    words = ("--target", "y", "--methods", "linear,gp", "splits=3", *SHORT)
    command.assert_refused("recommend", str(line), *words, setting="--methods", code="too_few")
    assert "gp" in str(command.error) and "20" in str(command.error)


def test_mistakes_are_one_sentence(command: Command, line: Path) -> None:
    wrong: dict[tuple[str, ...], tuple[str, str | None]] = {
        (str(line),): ("--target", None),
        ("nowhere.csv", "--target", "y"): ("dataset.path", "file_not_found"),
        (str(line), "--target", "z"): ("dataset.target", "unknown_column"),
        (str(line), "--target", "y", "--methods", "magic"): ("--methods", "unknown_option"),
        (str(line), "--target", "y", "method=vadam"): ("method", None),
        (str(line), "--target", "y", "seed=1,2"): ("seed", "several_jobs"),
        (str(line), "--target", "y", "nonsense"): ("KEY=VALUE", "syntax"),
        (str(line), "--target", "y", "splits=99"): ("splits", "count_out_of_range"),
    }
    for words, (setting, code) in wrong.items():
        command.assert_refused("recommend", *words, setting=setting, code=code)
        assert list(Path().iterdir()) == []


def test_a_dry_run_lists_the_methods_and_writes_nothing(command: Command, line: Path) -> None:
    words = ("--target", "y", "--methods", "linear,boosting,vadam", "splits=3", *SHORT)
    code, out, errors = command("recommend", "--dry-run", str(line), *words)
    assert code == 0, errors
    first, splits, *methods, last, following = out.splitlines()
    assert following == "next: bnnbench recommend " + " ".join([str(line), *words])
    assert first == "line: 80 rows, 2 inputs, target y" and splits.startswith("splits: 3 of 20")
    assert [word.split()[:2] for word in methods] == [
        [name, "about"] for name in ("linear", "boosting", "vadam")
    ]
    assert "3 runs" in last
    assert list(Path().iterdir()) == []


def test_an_unknown_option_is_named_alone(command: Command, line: Path) -> None:
    words = ("--target", "y", "--dry-runs", "dataset.missing=impute")
    command.assert_refused("recommend", str(line), *words, setting="--dry-runs")
    assert "dataset.missing" not in str(command.error)
