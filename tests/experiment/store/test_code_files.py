"""Which files count for the code version: those that can change a number of a run."""

from __future__ import annotations

import ast
import re
import shutil
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import pytest

import bnnbench
from bnnbench.config.configs import config_folder
from bnnbench.experiment.store import provenance
from bnnbench.experiment.store.provenance import (
    NO_NUMBERS,
    SUFFIXES,
    code_version_of,
    counted_files,
)
from bnnbench.methods.map import MAP
from bnnbench.suites.shifts.experiment import ShiftedExperiment

PACKAGE = Path(bnnbench.__file__).parent
MODULES = {
    ".".join(("bnnbench", *path.relative_to(PACKAGE).with_suffix("").parts)).removesuffix(
        ".__init__"
    ): path
    for path in sorted(PACKAGE.rglob("*.py"))
}
SUITES = [path.name for path in sorted((PACKAGE / "suites").glob("*/"))]

DISCOVERS = {"bnnbench", "bnnbench.discovery", "bnnbench.experiment.splits.split_experiment",
             "bnnbench.methods.sklearn", "bnnbench.system"}  # fmt: skip
"""Modules that import by name: the public functions, suites and plug-ins, what a search imports
itself, the class of a regressor, and a module that some systems lack."""


def is_for_types(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"


@cache
def imported(module: str) -> frozenset[str]:
    """The modules of the package that a module imports anywhere, but for types, with parents."""
    names: set[str] = set()
    waiting: list[ast.AST] = [ast.parse(MODULES[module].read_text())]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names |= {f"{node.module}.{alias.name}" for alias in node.names} | {str(node.module)}
        waiting += [] if is_for_types(node) else ast.iter_child_nodes(node)
    parents = {name[: dot.start()] for name in names for dot in re.finditer(r"\.", name)}
    return frozenset((names | parents) & MODULES.keys())


def reached(roots: Iterable[str]) -> set[str]:
    found: set[str] = set()
    waiting = list(roots)
    while waiting:
        module = waiting.pop()
        if module not in found:
            found.add(module)
            waiting += imported(module)
    return found


@cache
def computing() -> frozenset[str]:
    """The modules that `experiment`, `methods` and all classes that YAML files name lead to."""
    texts = [path.read_text() for path in config_folder().rglob("*.yaml")]
    targets = {name for text in texts for name in re.findall(r"_target_: (bnnbench\S+)\.\w+", text)}
    roots = {name for name in MODULES if re.match(r"bnnbench\.(experiment|methods)(\.|$)", name)}
    assert targets <= MODULES.keys() and len(targets) > 50
    return frozenset(reached(targets | roots))


def inside(module: str) -> str:
    return MODULES[module].relative_to(PACKAGE).as_posix()


def test_all_code_that_computes_counts() -> None:
    files = {inside(module) for module in computing()}
    assert files <= counted_files(SUITES).keys()
    assert {"types.py", "settings.py", "random_streams.py", "cpp/library.py", "nn.py"} <= files


def test_only_discovery_imports_by_name() -> None:
    """No other module that computes can reach code that the test above does not see."""
    dynamic = {"import_module", "__import__", "exec", "eval"}
    users = {
        module
        for module in computing()
        for node in ast.walk(ast.parse(MODULES[module].read_text()))
        if isinstance(node, ast.Name | ast.Attribute)
        and (node.id if isinstance(node, ast.Name) else node.attr) in dynamic
        and not ast.unparse(node).startswith("model.")
    }
    assert users == DISCOVERS


def test_suites_are_discovered_for_pages_only() -> None:
    """No module that computes asks for the modules of suites."""
    asking = {"bnnbench.discovery.plugins", "bnnbench.discovery.suites"}
    for module in computing() - {"bnnbench.discovery"}:
        names = {
            f"{node.module}.{alias.name}"
            for node in ast.walk(ast.parse(MODULES[module].read_text()))
            if isinstance(node, ast.ImportFrom)
            for alias in node.names
        }
        assert not names & asking, module


def test_a_suite_computes_without_the_others() -> None:
    for suite in SUITES:
        own = [name for name in MODULES if name.startswith(f"bnnbench.suites.{suite}.")]
        others = {
            name.split(".")[2] for name in reached(own) if name.startswith("bnnbench.suites.")
        }
        assert others <= {suite}


def test_every_kind_of_file_counts_or_is_known_not_to() -> None:
    """A table or an array in a folder that counts may change a number."""
    plain = {"py.typed", "data/gap_splits.LICENSE.txt"}
    for path in (p for p in PACKAGE.rglob("*") if p.is_file() and p.suffix not in SUFFIXES):
        name = path.relative_to(PACKAGE).as_posix()
        assert "__pycache__" in name or name.startswith(NO_NUMBERS) or name in plain, name


@pytest.fixture
def copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the package, whose digest is computed again each time."""
    root = tmp_path / "bnnbench"
    shutil.copytree(PACKAGE, root, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(provenance, "PACKAGE", root)
    monkeypatch.setattr(provenance, "_package_digest", provenance._package_digest.__wrapped__)
    return root


def edits_noticed(root: Path, names: Iterable[str], suites: Iterable[str]) -> dict[str, bool]:
    """Edit files one after the other; return whether the digest changed, by name."""
    noticed, before = {}, provenance._package_digest(frozenset(suites))
    for name in names:
        with (root / name).open("ab") as file:
            file.write(b"\n")
        now = provenance._package_digest(frozenset(suites))
        noticed[name], before = now != before, now
    return noticed


@pytest.mark.ci
def test_an_edit_of_any_file_that_computes_is_noticed(copy: Path) -> None:
    native = [path.relative_to(PACKAGE).as_posix() for path in (PACKAGE / "cpp").glob("*.[ch]*")]
    files = [inside(name) for name in sorted(computing()) if not name.startswith("bnnbench.suites")]
    noticed = edits_noticed(copy, [*files, *native, "data/gap_splits.npz"], ())
    assert len(native) > 10 and [name for name, found in noticed.items() if not found] == []


def test_an_edit_of_other_code_is_not_noticed(copy: Path) -> None:
    others = [
        name
        for name in ("cli/main.py", "report/blocks.py", "results/compare/significance.py")
        if edits_noticed(copy, [name], ("shifts",))[name]
    ]
    own = edits_noticed(copy, ["suites/shifts/experiment.py"], ("shifts",))
    other = edits_noticed(copy, ["suites/regions/experiment.py"], ("shifts",))
    assert not others and all(own.values()) and not any(other.values())


def test_the_suite_of_an_experiment_counts() -> None:
    fields = ShiftedExperiment.__dataclass_fields__
    experiment = object.__new__(ShiftedExperiment)
    for name in fields:
        object.__setattr__(experiment, name, None)
    plain = code_version_of(MAP(label="map"))["digest"]
    assert code_version_of(experiment)["digest"] != plain
