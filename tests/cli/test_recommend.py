"""`bnnbench recommend`: a comparison of methods on a table."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from support.command import Command
from support.config import TINY
from support.quick import slow_except
from support.user_errors import raises_user_error

from bnnbench.choice.comparable_runs import _with_splits, comparable_runs, within_budget
from bnnbench.choice.recommend import run_in_time
from bnnbench.experiment.progress import seconds_left
from bnnbench.experiment.run import Run
from bnnbench.experiment.run_folder import RunFolder
from bnnbench.results.recommendation import coverage_by_deviation, recommendation, recommended
from bnnbench.results.run_tables import read_runs

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


def test_out_of_fold_predictions_are_optional(line: Path) -> None:
    for words, expected in (((), False), (("evaluation.out_of_fold=true",), True)):
        runs = comparable_runs(str(line), "y", ["linear", "boosting"], [*SHORT, *words])
        found = [run.config["evaluation"]["out_of_fold"] for run in runs]
        assert found == [expected, expected]


@pytest.mark.slow
def test_splits_of_the_table_replace_the_default_number(tmp_path: Path) -> None:
    """Splits by time have five windows; a list of columns needs no brackets."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(90, 4)), columns=["a", "b", "c", "y"])
    frame = frame.assign(day=np.arange(90), person=np.arange(90) // 3)
    frame.to_csv(tmp_path / "t.csv", index=False)
    for word, expected in (("dataset.time=day", 5), ("dataset.group=person", 10)):
        words = [word, "dataset.drop=b,c"]
        runs = comparable_runs(str(tmp_path / "t.csv"), "y", ["linear", "boosting"], words)
        assert [len(run.experiment.units()) for run in runs] == [expected] * 2
        assert not {"b", "c"} & set(runs[0].experiment.table.features)


@pytest.mark.slow
def test_participants_that_do_not_accept_a_setting_are_left_out(
    line: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = ["linear", "deep_ensemble/heteroscedastic"]
    plain = comparable_runs(str(line), "y", names, SHORT)
    found = [run.experiment.metadata()["likelihood"] for run in plain]
    assert found == ["gaussian", "heteroscedastic"]
    names = ["linear", "vadam", "deep_ensemble"]
    runs = comparable_runs(str(line), "y", names, [*SHORT, "likelihood=heteroscedastic"])
    assert [run.experiment.metadata()["method"] for run in runs] == names[1:]
    assert "method=linear" in capsys.readouterr().err


def test_a_time_budget_reduces_splits_and_then_methods(line: Path) -> None:
    runs = comparable_runs(str(line), "y", ["vadam", "linear", "pbp"], ["splits=10", *SHORT])
    seconds = sum(map(seconds_left, runs))
    assert [len(run.experiment.units()) for run in within_budget(runs, 1.01 * seconds)] == [10] * 3
    fewest = sorted(map(seconds_left, (_with_splits(run, 3) for run in runs)))
    half = within_budget(runs, sum(fewest) + (seconds - sum(fewest)) / 4)
    (count,) = {len(run.experiment.units()) for run in half}
    assert len(half) == 3 and 3 <= count <= 5
    assert {run.config["splits"][-1] for run in half} == {count - 1}
    two = within_budget(runs, sum(fewest[:2]) * 1.01)
    assert [len(run.experiment.units()) for run in two] == [3, 3]
    with raises_user_error("--minutes", "too_short"):
        within_budget(runs, sum(fewest[:2]) * 0.5)


@pytest.mark.parametrize(("slowness", "expected"), slow_except([(1.0, 3), (1.6, 2)], 1.6))
def test_the_pace_of_the_machine_counts_for_the_time_budget(
    line: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    slowness: float,
    expected: int,
) -> None:
    """Three runs of about 1,000 s fit into an hour, but not if two of them took 3,200 s."""
    runs = comparable_runs(str(line), "y", ["linear", "pbp", "vadam"], ["splits=3", *SHORT])
    now, finished = [0.0], list[RunFolder]()

    def run_slowly(runs: Sequence[Run], say: object) -> list[RunFolder]:
        now[0] += slowness * seconds_left(runs[0])
        finished.append(runs[0].folder)
        return [runs[0].folder]

    monkeypatch.setattr("time.monotonic", lambda: now[0])
    monkeypatch.setattr("bnnbench.experiment.progress.REPORT_SECONDS", 1000)
    monkeypatch.setattr("bnnbench.run_all.run_all", run_slowly)
    monkeypatch.setattr(Run, "complete", lambda run: run.folder in finished)
    assert len(run_in_time(runs, 60)) == expected
    assert ("vadam" in capsys.readouterr().err) == (expected == 2)
