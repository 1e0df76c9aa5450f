"""A run records its code version, so that results of changed code are reported."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from support.tiny_runs import Planner, finished

from bnnbench.experiment.run.run import Run, run_status
from bnnbench.experiment.splits.split_search import TRIALS
from bnnbench.experiment.store import provenance
from bnnbench.experiment.store.provenance import describe_other_code
from bnnbench.experiment.store.record import read_record, updated_record, write_record
from bnnbench.experiment.store.split_files import MACHINE_COLUMNS
from bnnbench.experiment.store.unit_store import CODE
from bnnbench.results.read.run_tables import read_runs
from bnnbench.results.read.split_means import CODE_VERSIONS


def test_descriptions_of_code_versions() -> None:
    now = {"version": "0.1.0", "commit": "abc", "digest": "1", "own": None}
    edited, older = {**now, "digest": "2"}, {"version": "0.0.1", "modules": {"bnnbench.nn": "0"}}
    assert describe_other_code({**now, "commit": "def+"}, now) == ""
    found = describe_other_code(edited, now)
    assert found == "another version of the code (bnnbench 0.1.0, commit abc)"
    assert describe_other_code(older, now) == "another version of the code (bnnbench 0.0.1)"


def test_the_status_of_a_finished_run_reports_changed_code(
    tiny: Planner, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = tiny("splits=1")
    assert run_status(run).messages == []
    folder, _ = finished(run)
    status = run_status(run)
    assert status.intact and len(status.messages) == 1
    (before,) = read_record(folder).code_versions
    edited = {**before, "digest": "0"}
    for module in ("run.run", "kinds.base", "splits.split_experiment"):
        target = f"bnnbench.experiment.{module}.code_version_of"
        monkeypatch.setattr(target, lambda experiment: edited)
    status = run_status(tiny("splits=1"))
    (other,) = status.other_code
    assert other.startswith("another version of the code (bnnbench ")
    assert status.messages[1].startswith(f"this run was computed with {other}; add resume=false")
    # A run with new units keeps the code versions of the earlier ones.
    status = run_status(tiny("splits=2"))
    (message,) = status.messages
    assert message.startswith(f"part of this run was computed with {other}; add resume=false")
    finished(tiny("splits=2"))
    assert read_record(folder).code_versions == [before, edited]
    assert run_status(tiny("splits=2", "resume=false")).messages == []


def test_resume_false_repeats_the_requested_units(tiny: Planner) -> None:
    run = tiny("splits=2")
    folder, table = finished(run)
    kept = [run.store.file(unit, "json").stat().st_mtime_ns for unit in run.experiment.units()]
    first = tiny("splits=1", "resume=false")
    _, again = finished(first)
    times = [run.store.file(unit, "json").stat().st_mtime_ns for unit in run.experiment.units()]
    assert times[0] > kept[0] and times[1] == kept[1], "only the requested unit"
    pd.testing.assert_frame_equal(
        again.drop(columns=MACHINE_COLUMNS), table.drop(columns=MACHINE_COLUMNS)
    )
    assert folder.finished() and run.complete()


def test_another_commit_of_the_same_code_is_not_reported(
    tiny: Planner, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, _ = finished(tiny("splits=1"))
    (before,) = read_record(folder).code_versions
    monkeypatch.setattr(provenance, "source_commit", lambda: "0123")
    assert tiny("splits=2").record.code_versions[0]["commit"] == "0123"
    assert run_status(tiny("splits=2")).other_code == ()
    finished(tiny("splits=2"))
    assert read_record(folder).code_versions == [before]


def test_records_of_older_code_are_read(tiny: Planner) -> None:
    """They list the hash of each module."""
    run = tiny("splits=1")
    folder, _ = finished(run)
    older = {"version": "0.1.0", "modules": {"bnnbench.nn": "0123"}}
    write_record(folder, replace(read_record(folder), code_versions=[older]))
    run.store.file("split-00", CODE).unlink()
    assert run_status(run).other_code == ("another version of the code (bnnbench 0.1.0)",)
    assert updated_record(run.record, run.store).code_versions == (older,)


@pytest.mark.parametrize(
    ("first", "then", "expected"),
    [("trial", "book", "book"), ("book", "trial", "book"), ("trial", "trial", "trial")],
)
def test_a_run_with_units_of_another_protocol_is_no_trial(
    tiny: Planner, first: str, then: str, expected: str
) -> None:
    linear = ("method=linear", "splits=1")
    folder, _ = finished(tiny(*linear, f"protocol={first}"))
    now = tiny(*linear, f"protocol={then}")
    assert now.folder.root == folder.root
    assert updated_record(now.record, now.store).metadata["protocol"] == expected


def use_code(monkeypatch: pytest.MonkeyPatch, digest: str) -> None:
    """Let this process compute with another version of the code."""
    code = {"version": "0.1.0", "commit": None, "digest": digest, "own": None}
    for module in ("run.run", "kinds.base", "splits.split_experiment"):
        target = f"bnnbench.experiment.{module}.code_version_of"
        monkeypatch.setattr(target, lambda experiment: code)


def recorded(run: Run) -> list[str]:
    return [code["digest"] for code in read_record(run.folder).code_versions]


QUICK = ("method=map", "training.epochs=1", "training.final_epochs=1", "search.iterations=2")


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        ([("old", "splits=2")], ["old"]),
        ([("old", "splits=1"), ("new", "splits=2")], ["old", "new"]),
        ([("old", "splits=[1]"), ("new", "splits=2")], ["new", "old"]),
        ([("old", "splits=2"), ("new", "splits=2")], ["old"]),
        ([("old", "splits=2"), ("new", "splits=2 resume=false")], ["new"]),
        ([("old", "splits=2"), ("new", "splits=1 resume=false")], ["new", "old"]),
        ([("old", "splits=1"), ("new", "splits=2"), ("new", "splits=1 resume=false")], ["new"]),
        ([("old", "splits=1"), ("new", "splits=2"), ("old", "splits=3")], ["old", "new"]),
    ],
)
def test_the_record_lists_the_code_of_the_units_in_the_tables(
    tiny: Planner,
    monkeypatch: pytest.MonkeyPatch,
    steps: list[tuple[str, str]],
    expected: list[str],
) -> None:
    for digest, words in steps:
        use_code(monkeypatch, digest)
        run = tiny(*QUICK, *words.split())
        finished(run)
    assert recorded(run) == expected
    (table,) = read_runs(run.folder.root).tables.values()
    assert table[CODE_VERSIONS].tolist() == [len(expected)]


def test_files_of_an_unfinished_unit_count(tiny: Planner, monkeypatch: pytest.MonkeyPatch) -> None:
    """A search that was interrupted goes on from the evaluations of the old code."""
    use_code(monkeypatch, "old")
    run = tiny(*QUICK, "splits=1")
    run.folder.create()
    write_record(run.folder, run.record)
    run.store.add_code("split-00", run.record.code_versions[0])
    run.store.file("split-00", TRIALS).write_text("")
    use_code(monkeypatch, "new")
    later = tiny(*QUICK, "splits=1")
    (message,) = run_status(later).messages
    assert message.startswith("part of this run was computed with another")
    finished(later)
    assert recorded(later) == ["old", "new"]
    use_code(monkeypatch, "new")
    again = tiny(*QUICK, "splits=1", "resume=false")
    finished(again)
    assert recorded(again) == ["new"]


@pytest.mark.ci
@pytest.mark.parametrize("content", ["", "{}", "[1]", '"old"', "null", "[" * 5000])
def test_a_damaged_list_of_codes_is_that_of_the_record(
    tiny: Planner, monkeypatch: pytest.MonkeyPatch, content: str
) -> None:
    use_code(monkeypatch, "old")
    run = tiny(*QUICK, "splits=1")
    finished(run)
    run.store.file("split-00", CODE).write_text(content)
    use_code(monkeypatch, "new")
    later = tiny(*QUICK, "splits=2")
    finished(later)
    assert recorded(later) == ["old", "new"]


def test_every_split_names_the_code_that_its_seconds_are_of(
    tiny: Planner, monkeypatch: pytest.MonkeyPatch
) -> None:
    labels = []
    for digest, splits in (("1e5", 1), ("2e5", 2)):
        use_code(monkeypatch, digest)
        _, table = finished(tiny(*QUICK, f"splits={splits}"))
        labels.append(table["code"].tolist())
    assert labels == [["0.1.0+1e5"], ["0.1.0+1e5", "0.1.0+2e5"]]


@pytest.mark.parametrize("content", [None, "", "[{", "[1]"])
def test_an_interrupted_search_of_unknown_code_starts_again(
    tiny: Planner, monkeypatch: pytest.MonkeyPatch, content: str | None
) -> None:
    """`resume=false` may have been killed while it deleted files."""
    use_code(monkeypatch, "old")
    run = tiny(*QUICK, "splits=1")
    finished(run)
    run.folder.done.unlink()
    run.store.file("split-00", "json").unlink()
    log = run.store.file("split-00", TRIALS)
    evaluations = log.read_text()
    log.write_text(evaluations.replace('"objective": ', '"objective": 99') + "\n")
    file = run.store.file("split-00", CODE)
    file.unlink() if content is None else file.write_text(content)
    use_code(monkeypatch, "new")
    later = tiny(*QUICK, "splits=1")
    finished(later)
    assert recorded(later) == ["new"] and '"objective": 99' not in log.read_text()


def test_discarding_deletes_the_list_of_codes_last(
    tiny: Planner, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = tiny(*QUICK, "splits=1")
    finished(run)
    removed: list[str] = []

    def noted(path: Path) -> None:
        removed.append(path.name)
        path.unlink()

    monkeypatch.setattr("bnnbench.experiment.store.unit_store.remove", noted)
    run.store.discard(["split-00"])
    assert removed[0] == "split-00.json" and removed[-1] == f"split-00.{CODE}" and len(removed) > 3
