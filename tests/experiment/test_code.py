"""A run knows which code made it: a changed method never passes off old numbers as its own."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from support.command import folder_of
from support.config import TINY
from support.tiny_runs import finished

from bnnbench.experiment import code
from bnnbench.experiment.code import changes, code_of
from bnnbench.experiment.record import read_record
from bnnbench.experiment.run import Run
from bnnbench.experiment.split_files import CIRCUMSTANCES
from bnnbench.experiment.standing import standing

Command = Callable[..., tuple[int, str, str]]
Planner = Callable[..., Run]

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
    code._digest.cache_clear()
    return __import__(name)


def test_the_code_of_a_component_is_that_of_its_classes_and_their_bases(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def one(words: str, factor: int, folder: str) -> dict[str, Any]:
        text = METHOD.format(words=words, factor=factor)
        module = written(tmp_path / folder, monkeypatch, "my_method", text)
        return code_of(Holder(module.Mine(label="mine")))

    first, retold, other = one("a", 1, "a"), one("other words", 1, "b"), one("a", 2, "c")
    assert {"my_method", "bnnbench.methods.map", "bnnbench.methods.shared.contract"} <= first[
        "modules"
    ].keys()
    assert changes(first, retold) == [], "comments and docstrings change no number"
    assert changes(first, other) == ["my_method.py"]
    assert changes({}, other) == [], "nothing is known of what made it"
    old = {**first, "version": "0.0.1"}
    assert changes(old, first) == [f"bnnbench 0.0.1 to {first['version']}"]


def test_a_finished_run_says_so_and_what_changed_since(
    tiny: Planner, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = tiny("splits=1")
    assert standing(run).sentences == []
    folder, _ = finished(run)
    (said,) = standing(run).sentences
    assert said.startswith("finished 20") and said.endswith(", nothing run")
    (before,) = read_record(folder).codes
    edited = {**before, "modules": {**before["modules"], "bnnbench.methods.vadam": "0"}}
    monkeypatch.setattr("bnnbench.experiment.run.code_of", lambda experiment: edited)
    _, changed = standing(tiny("splits=1")).sentences
    assert changed == ("bnnbench/methods/vadam.py changed since it was run; --force runs it again")
    # A run that goes on keeps the codes of all that is in it.
    (begun,) = standing(tiny("splits=2")).sentences
    assert "vadam.py changed since some of it was run" in begun
    finished(tiny("splits=2"))
    assert read_record(folder).codes == [before, edited]
    assert standing(tiny("splits=2", "resume=false")).sentences == []


def test_what_is_forced_is_run_again(tiny: Planner) -> None:
    run = tiny("splits=2")
    folder, table = finished(run)
    kept = [run.store.file(unit, "json").stat().st_mtime_ns for unit in run.experiment.units()]
    first = tiny("splits=1", "resume=false")
    _, again = finished(first)
    times = [run.store.file(unit, "json").stat().st_mtime_ns for unit in run.experiment.units()]
    assert times[0] > kept[0] and times[1] == kept[1], "only what was asked for"
    pd.testing.assert_frame_equal(
        again.drop(columns=CIRCUMSTANCES), table.drop(columns=CIRCUMSTANCES)
    )
    assert folder.finished() and run.complete()


@pytest.mark.usefixtures("undrawn")
def test_the_command_line_says_it_first(command: Command, table_csv: Path) -> None:
    words = ["dataset=csv", "dataset.target=y", f"dataset.path={table_csv}", "outputs_dir=o"]
    line = ("run", *words, *TINY, "splits=1", "method=map", "workers=1")
    assert "nothing run" not in command(*line)[2]
    code_, out, errors = command(*line)
    assert code_ == 0 and errors.splitlines()[-1].startswith("bnnbench: finished 20")
    before = folder_of(out).done.stat().st_mtime_ns
    _, out, errors = command(*line, "resume=false")
    assert "nothing run" not in errors and folder_of(out).done.stat().st_mtime_ns > before


def test_what_a_users_module_imports_from_beside_it_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of ours, and of what is installed, the version tells."""
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
        return code_of(module.Mine(label="mine"))

    before = one(3, "a")
    own = {name for name in before["modules"] if not name.startswith("bnnbench.")}
    assert own == {"my_method", "my_parts", "my_parts.layers", "my_parts.sizes"}
    assert changes(before, one(3, "b")) == []
    assert changes(before, one(4, "c")) == ["my_parts/sizes.py"]
