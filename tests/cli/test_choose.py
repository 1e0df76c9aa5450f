"""`bnnbench choose`: a tournament on one's own table, whose words follow from its numbers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from support.config import TINY

from bnnbench.cli.choose import built
from bnnbench.results.reader import read_runs
from bnnbench.results.recommendation import coverages, recommendation

pytestmark = pytest.mark.usefixtures("undrawn")

Command = Callable[..., tuple[int, str, str]]

SHORT = [word for word in TINY if not word.startswith(("splits", "search"))]


@pytest.fixture
def line(tmp_path: Path) -> Path:
    """A table that a line describes but for noise."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(80, 2))
    frame = pd.DataFrame(x, columns=["a", "b"]).assign(y=x[:, 0] + 0.3 * rng.normal(size=80))
    frame.to_csv(tmp_path / "line.csv", index=False)
    return tmp_path / "line.csv"


def test_the_best_is_recommended_and_used(command: Command, line: Path) -> None:
    words = ("--methods", "linear,pbp", "splits=3", *SHORT)
    code, out, errors = command("choose", str(line), "--target", "y", *words)
    assert code == 0, errors
    runs = read_runs(Path("outputs/choose/uci/line"))
    assert sorted(runs.scored["method"]) == ["linear", "pbp"]
    found = recommendation(runs)
    best = runs.scored["log_likelihood_mean"].astype(float).idxmax()
    assert found.run == best and len(found.rivals) == 1
    rival = found.rivals[0]
    assert rival.better + rival.equivalent + rival.worse == pytest.approx(1)
    assert set(coverages(runs)) == set(runs.scored.index)
    last = out.strip().splitlines()
    assert f"line: {found.best} has the best log-likelihood" in out
    assert last[-1] == f"next: bnnbench predict {runs.folders[best].root} NEW.csv"
    assert Path("outputs/choose/uci/line/report/results.md").is_file()
    code, again, errors = command("choose", "--target", "y", str(line), *words)
    assert code == 0 and "splits," not in errors and again.splitlines()[-1] == last[-1]


def test_who_cannot_take_part_is_named(
    command: Command, line: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bnnbench.methods.gp.GP.most_rows", 20)
    words = ("--target", "y", "--methods", "linear,gp", "splits=3", *SHORT)
    code, _, errors = command("choose", str(line), *words)
    assert code == 2 and "fewer than two methods" in errors and "at most 20 rows" in errors


def test_mistakes_are_one_sentence(command: Command, line: Path) -> None:
    wrong = {
        (str(line),): "--target",
        ("nowhere.csv", "--target", "y"): "no file",
        (str(line), "--target", "z"): "'z'",
        (str(line), "--target", "y", "--methods", "magic"): "magic",
        (str(line), "--target", "y", "method=vadam"): "--methods",
        (str(line), "--target", "y", "nonsense"): "no setting",
        (str(line), "--target", "y", "splits=99"): "splits",
    }
    for words, said in wrong.items():
        code, out, errors = command("choose", *words)
        assert code == 2 and out == "" and said in errors.splitlines()[-1], errors
        assert list(Path().iterdir()) == []


def test_a_dry_run_says_who_takes_part_and_writes_nothing(command: Command, line: Path) -> None:
    words = ("--target", "y", "--methods", "linear,boosting,vadam", "splits=3", *SHORT)
    code, out, errors = command("choose", "--dry-run", str(line), *words)
    assert code == 0, errors
    first, splits, *methods, last = out.splitlines()
    assert first == "line: 80 rows, 2 inputs, target y" and splits.startswith("splits: 3 of 20")
    assert [word.split()[:2] for word in methods] == [
        [name, "about"] for name in ("linear", "boosting", "vadam")
    ]
    assert last.startswith("in all 3 runs, about ")
    assert list(Path().iterdir()) == []


def test_a_wrong_option_alone_is_named(command: Command, line: Path) -> None:
    words = ("--target", "y", "--dry-runs", "dataset.missing=impute")
    code, out, errors = command("choose", str(line), *words)
    assert code == 2 and out == ""
    assert errors == "bnnbench: unrecognized argument: --dry-runs; see `bnnbench choose --help`.\n"


def test_no_fold_is_fitted_once_more_unless_asked(line: Path) -> None:
    for words, kept in (((), False), (("evaluation.out_of_fold=true",), True)):
        runs = built(str(line), "y", ["linear", "boosting"], [*SHORT, *words])
        found = [run.config["evaluation"]["out_of_fold"] for run in runs]
        assert found == [kept, kept]
