"""A run records its code version, so that results of changed code are reported."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from support.tiny_runs import Planner, finished

from bnnbench.experiment import provenance
from bnnbench.experiment.provenance import code_version_of, describe_other_code
from bnnbench.experiment.record import read_record, updated_record, write_record
from bnnbench.experiment.run_status import run_status
from bnnbench.experiment.split_files import MACHINE_COLUMNS

METHOD = """
from dataclasses import dataclass
from bnnbench.methods.map import MAP

@dataclass(frozen=True, kw_only=True)
class Mine(MAP):
    def complexity(self, posterior, streams):
        return {factor} * super().complexity(posterior, streams)
"""

DERIVED = """
from dataclasses import dataclass
from my_base import Mine

@dataclass(frozen=True, kw_only=True)
class Derived(Mine):
    pass
"""


@dataclass(frozen=True)
class Holder:
    part: Any = field(default=None)


def written(folder: Path, monkeypatch: pytest.MonkeyPatch, name: str, text: str) -> Any:
    """A module of this text, imported as another process would."""
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.py").write_text(text)
    monkeypatch.syspath_prepend(folder)
    monkeypatch.delitem(sys.modules, name, raising=False)
    provenance._source.cache_clear()
    return __import__(name)


def test_the_code_version_covers_the_users_classes_and_their_bases(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def one(factor: int, folder: str) -> dict[str, Any]:
        base = METHOD.format(factor=factor)
        written(tmp_path / folder, monkeypatch, "my_base", base)
        module = written(tmp_path / folder, monkeypatch, "my_method", DERIVED)
        return code_version_of(Holder(module.Derived(label="mine")))

    first, same, other = one(1, "a"), one(1, "b"), one(2, "c")
    assert first == same and first["own"] is not None
    assert describe_other_code(first, same) == ""
    assert describe_other_code(first, other) == "another version of your own code"


def test_the_package_has_one_digest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("cpp/a.cpp", "cpp/a.h", "nn.py", "methods/vi/bbb.py", "cli/main.py", "forks.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    monkeypatch.setattr(provenance, "PACKAGE", tmp_path)
    monkeypatch.setattr(provenance, "NUMERIC", ("methods", "nn"))

    def edited(name: str) -> bool:
        before = provenance._package_digest.__wrapped__()
        (tmp_path / name).write_text("edited")
        return bool(before != provenance._package_digest.__wrapped__())

    assert all(map(edited, ("cpp/a.cpp", "cpp/a.h", "nn.py", "methods/vi/bbb.py")))
    assert not edited("cli/main.py") and not edited("forks.py")


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
    monkeypatch.setattr("bnnbench.experiment.run.code_version_of", lambda experiment: edited)
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
    monkeypatch.setattr(provenance, "_commit", lambda: "0123")
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
    assert run_status(run).other_code == ("another version of the code (bnnbench 0.1.0)",)
    assert updated_record(run.record, run.store).code_versions == (older, *run.record.code_versions)


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
