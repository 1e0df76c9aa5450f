"""A run records its code version, so that results of changed code are reported."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from support.tiny_runs import Planner, finished

from bnnbench.experiment import provenance
from bnnbench.experiment.provenance import changed_files, code_version_of
from bnnbench.experiment.run import run_status
from bnnbench.experiment.run_folder import read_record
from bnnbench.experiment.split_files import MACHINE_COLUMNS

METHOD = """
from dataclasses import dataclass
from bnnbench.methods.map import MAP

@dataclass(frozen=True, kw_only=True)
class Mine(MAP):
    '''{words}'''

    def complexity(self, posterior, streams):
        return {factor} * super().complexity(posterior, streams)  # {words}
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
    provenance._parsed.cache_clear()
    return __import__(name)


def test_the_code_version_covers_classes_and_their_bases(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def one(words: str, factor: int, folder: str) -> dict[str, Any]:
        text = METHOD.format(words=words, factor=factor)
        module = written(tmp_path / folder, monkeypatch, "my_method", text)
        return code_version_of(Holder(module.Mine(label="mine")))

    first, retold, other = one("a", 1, "a"), one("other words", 1, "b"), one("a", 2, "c")
    assert {"my_method", "bnnbench.methods.map", "bnnbench.methods.shared.contract"} <= first[
        "modules"
    ].keys()
    assert {"bnnbench.cpp", "bnnbench.nn", "bnnbench.methods.shared.trainer"} <= set(
        first["modules"]
    ), "what the classes import counts, too"
    assert changed_files(first, retold) == [], "comments and docstrings do not count"
    assert changed_files(first, other) == ["my_method.py"]
    assert changed_files({}, other) == [], "the earlier code is unknown"
    old = {**first, "version": "0.0.1"}
    assert changed_files(old, first) == [f"bnnbench 0.0.1 to {first['version']}"]


def test_the_status_of_a_finished_run_reports_changed_code(
    tiny: Planner, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = tiny("splits=1")
    assert run_status(run).messages == []
    folder, _ = finished(run)
    status = run_status(run)
    assert status.intact and len(status.messages) == 1
    (before,) = read_record(folder).code_versions
    edited = {**before, "modules": {**before["modules"], "bnnbench.methods.vadam": "0"}}
    monkeypatch.setattr("bnnbench.experiment.run.code_version_of", lambda experiment: edited)
    status = run_status(tiny("splits=1"))
    assert status.changed == ("bnnbench/methods/vadam.py",) and len(status.messages) == 2
    # A run with new units keeps the code versions of the earlier ones.
    status = run_status(tiny("splits=2"))
    assert status.changed == ("bnnbench/methods/vadam.py",) and len(status.messages) == 1
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


def test_local_imports_of_a_users_module_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Imports of bnnbench and of libraries do not; they have versions."""
    helper = "import json\nfrom bnnbench import nn\nWIDTH = {}\n"
    package = {"__init__": "", "layers": "from . import sizes\n", "sizes": helper}

    def one(width: int, folder: str) -> dict[str, Any]:
        for name, text in package.items():
            (tmp_path / folder / "my_parts").mkdir(parents=True, exist_ok=True)
            (tmp_path / folder / "my_parts" / f"{name}.py").write_text(text.format(width))
            monkeypatch.delitem(sys.modules, f"my_parts.{name}", raising=False)
        monkeypatch.delitem(sys.modules, "my_parts", raising=False)
        text = f"from my_parts import layers\n{METHOD.format(words='', factor=1)}"
        module = written(tmp_path / folder, monkeypatch, "my_method", text)
        return code_version_of(module.Mine(label="mine"))

    before = one(3, "a")
    own = {name for name in before["modules"] if not name.startswith("bnnbench.")}
    assert own == {"my_method", "my_parts", "my_parts.layers", "my_parts.sizes"}
    assert changed_files(before, one(3, "b")) == []
    assert changed_files(before, one(4, "c")) == ["my_parts/sizes.py"]
