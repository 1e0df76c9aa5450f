"""Scores are computed once for the same files and code, and never read from others' files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support.runs import add_arrays, make_points, make_run

from bnnbench.experiment.store.run_folder import RunFolder
from bnnbench.results.read.run_tables import read_runs
from bnnbench.results.score import later_scores


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    """Return a run with test points."""
    folder = make_run(tmp_path / "outputs")
    add_arrays(folder)
    return folder


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the user's empty cache of scores."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "bnnbench" / "scores"


@pytest.fixture
def computed(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return the list to which each computed split is appended."""
    splits: list[int] = []
    original = later_scores.split_predictions

    def counted(folder: RunFolder):  # type: ignore[no-untyped-def]
        for one in original(folder):
            splits.append(one.split)
            yield one

    monkeypatch.setattr(later_scores, "split_predictions", counted)
    return splits


def tables(run: RunFolder) -> list[str]:
    """Return the tables of all scores as text with every digit."""
    found = later_scores.score_tables(read_runs(run.root))
    return [table.to_csv() for table in found.values()]


def test_a_second_report_reads_equal_scores(
    run: RunFolder, cache: Path, computed: list[int]
) -> None:
    first = tables(run)
    assert tables(run) == first and computed == [0, 1, 2, 3]
    run.root.chmod(0o500)
    assert tables(run) == first
    assert len(list(cache.iterdir())) == 1 and cache.stat().st_mode & 0o777 == 0o700


def test_changed_files_and_code_are_scored_again(
    run: RunFolder, cache: Path, computed: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    first = tables(run)
    points = make_points()
    add_arrays(run, arrays={**points, "mean": points["mean"] + np.arange(40)})
    changed = tables(run)
    assert changed != first and len(computed) == 8 and len(list(cache.iterdir())) == 2
    monkeypatch.setattr(later_scores, "_code_version", lambda: "another")
    assert tables(run) == changed
    assert len(computed) == 12 and len(list(cache.iterdir())) == 2


@pytest.mark.parametrize("change", ["forged", "truncated", "binary", "open to others"])
def test_damaged_and_foreign_entries_are_not_used(
    run: RunFolder, cache: Path, computed: list[int], change: str
) -> None:
    first = tables(run)
    (entry,) = cache.iterdir()
    content = entry.read_bytes()
    match change:
        case "forged":
            entry.write_bytes(content.replace(b'"coverage": ', b'"coverage": 1'))
        case "truncated":
            entry.write_bytes(content[:-1])
        case "binary":
            entry.write_bytes(b"\xff")
        case _:
            entry.chmod(0o666)
    assert tables(run) == first and len(computed) == 8
    assert tables(run) == first and len(computed) == 8, "the entry was rewritten"


def test_without_a_folder_of_the_user_scores_are_computed(
    run: RunFolder, tmp_path: Path, computed: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(later_scores, "cache_folders", lambda name: iter(()))
    assert tables(run) == tables(run) and len(computed) == 8
