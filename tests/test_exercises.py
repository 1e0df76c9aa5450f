"""The exercises of the book's pages have answers, whose numbers come from the printed commands."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pandas as pd
import pytest

from bnnbench.experiment.store.run_folder import RunFolder

ROOT = Path(__file__).parents[1]

MIN_EXERCISES = 3
"""Exercises of each chapter."""


@pytest.fixture(autouse=True)
def tools(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the scripts in `docs/tools` importable."""
    monkeypatch.syspath_prepend(str(ROOT / "docs" / "tools"))


def test_every_exercise_has_an_answer_whose_numbers_come_from_its_command() -> None:
    from exercises import CHAPTERS, STORED, on_pages

    pages = {path.stem[-1]: path.read_text() for path in CHAPTERS.glob("chapter_*.md")}
    exercises = on_pages()
    counts = Counter(exercise[0] for exercise in exercises)
    assert counts.keys() == pages.keys() and min(counts.values()) >= MIN_EXERCISES
    assert [*exercises] == [f"{k}.{n}" for k in sorted(pages) for n in range(1, counts[k] + 1)]
    assert counts == {k: page.count("<details") for k, page in pages.items()}
    stored = pd.read_csv(STORED, dtype={"exercise": str})
    for exercise, (command, answer) in exercises.items():
        own = stored[stored["exercise"] == exercise]
        shown = set(re.findall(r'exercise\("([\d.]+)", "([\w ]+)"', answer))
        assert shown <= {(exercise, number) for number in own["number"]}
        assert {name.removeprefix("before ") for _, name in shown} == {
            name.removeprefix("before ") for name in own["number"]
        }
        assert command in set(own["command"]), f"{exercise}: run docs/tools/exercises.py"
        assert all(f"\n{line}\n" in pages[exercise[0]] for line in own["command"]), exercise


def test_a_change_is_the_mean_of_paired_differences(tmp_path: Path) -> None:
    from exercises import read

    for folder, scores in {"own": [1.0, 2.0, 6.0], "before": [1.0, 1.0, 4.0]}.items():
        (tmp_path / folder).mkdir()
        rows = pd.DataFrame({"unit": "a", "rmse": scores, "training_rows": 9, "test_rows": 1})
        table = pd.concat([rows, rows.assign(unit="b", rmse=1.0)])
        table.to_csv(tmp_path / folder / "splits.csv", index=False)
    own, before = RunFolder(tmp_path / "own"), RunFolder(tmp_path / "before")
    where = {"table": "splits", "column": "rmse", "unit": "a"}
    error = (1 / 3 + 1 / 9) ** 0.5  # Nadeau and Bengio (2003)
    assert read(own, before, **where, minus="before") == pytest.approx((1, error))
    assert read(own, before, **where, minus={"unit": "b"})[0] == pytest.approx(2)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("chapter", ["2", "3"])
def test_the_commands_of_exercises_give_their_stored_numbers(
    chapter: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import exercises

    monkeypatch.setattr(exercises, "check_committed", lambda run: None)
    stored = pd.read_csv(exercises.STORED, dtype={"exercise": str})
    stored = stored[stored["exercise"].str.startswith(chapter)].reset_index(drop=True)
    again = pd.DataFrame(exercises.measure(tmp_path, chapter))
    pd.testing.assert_frame_equal(again, stored, check_dtype=False, rtol=1e-3)
