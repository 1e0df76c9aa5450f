"""The user's own modules that count for the code version of a run."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from bnnbench.experiment.store import own_modules
from bnnbench.experiment.store.provenance import code_version_of, describe_other_code

METHOD = """
from dataclasses import dataclass
from bnnbench.methods.map import MAP
{imports}

@dataclass(frozen=True, kw_only=True)
class Mine(MAP):
    def complexity(self, posterior, streams):
        {inside}
        return super().complexity(posterior, streams)
"""

FILES = {
    "mine.py": METHOD.format(imports="", inside=""),
    "helper.py": "import deeper\n",
    "deeper.py": "FACTOR = 1\n",
    "unrelated.py": "FACTOR = 1\n",
    "kit/__init__.py": "__all__ = ['listed']\n",
    "kit/listed.py": "",
    "kit/part.py": "from . import sibling\nfrom .inner.leaf import FACTOR\n",
    "kit/sibling.py": "",
    "kit/inner/leaf.py": "from ..above import FACTOR\n",
    "kit/above.py": "FACTOR = 1\n",
    "regressor.py": "import helper\nclass Regressor:\n    fit = predict = None\n",
}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of modules that can be imported; they are forgotten at the end."""
    before = {*sys.modules}
    monkeypatch.syspath_prepend(tmp_path)
    write(tmp_path, FILES)
    yield tmp_path
    for name in {*sys.modules} - before:
        del sys.modules[name]


def write(folder: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def own_digest(component: Any) -> str | None:
    """The digest of the user's code as another process would compute it."""
    own_modules._modules.clear()
    own: str | None = code_version_of(component)["own"]
    return own


@pytest.mark.parametrize(
    ("imports", "inside", "file"),
    [
        ("", "", "mine.py"),
        ("import helper", "", "helper.py"),
        ("import helper", "", "deeper.py"),
        ("from helper import deeper as other", "", "deeper.py"),
        ("from helper import *", "", "deeper.py"),
        ("", "import helper", "deeper.py"),
        ("", "from helper import deeper", "helper.py"),
        ("try:\n    import helper\nexcept ImportError:\n    helper = None", "", "helper.py"),
        ("from kit import *", "", "kit/listed.py"),
        ("import kit.part", "", "kit/__init__.py"),
        ("import kit.part", "", "kit/part.py"),
        ("from kit import part", "", "kit/sibling.py"),
        ("from kit import part", "", "kit/inner/leaf.py"),
        ("from kit.part import FACTOR", "", "kit/above.py"),
        ("", "from kit.inner import leaf", "kit/above.py"),
    ],
)
def test_an_edit_of_a_module_that_the_users_class_imports_is_noticed(
    project: Path, imports: str, inside: str, file: str
) -> None:
    write(project, {"mine.py": METHOD.format(imports=imports, inside=inside)})
    component = import_module("mine").Mine(label="mine")
    first = own_digest(component)
    assert own_digest(component) == first is not None
    write(project, {"unrelated.py": "FACTOR = 2\n"})
    assert own_digest(component) == first
    with (project / file).open("a") as text:
        text.write("# edited\n")
    assert own_digest(component) != first


@pytest.mark.parametrize(
    ("imports", "inside"),
    [
        ("import importlib", "importlib.import_module('kit.part')"),
        ("from importlib import import_module as load", "load('kit.part')"),
        ("import importlib as lib", "lib.import_module('.part', package='kit')"),
        ("NAME = 'kit.part'", "__import__(NAME)"),
        ("", "exec(open('kit/part.py').read())"),
        ("import runpy", "runpy.run_path('kit/part.py')"),
        ("from importlib.util import spec_from_file_location", ""),
    ],
)
def test_every_file_near_a_module_that_can_execute_others_counts(
    project: Path, imports: str, inside: str
) -> None:
    write(project, {"mine.py": METHOD.format(imports=imports, inside=inside)})
    component = import_module("mine").Mine(label="mine")
    first = own_digest(component)
    (project / "outputs").mkdir()
    write(project, {"outputs/received.py": "x = 1\n", ".venv/library.py": "x = 1\n"})
    assert own_digest(component) == first
    write(project, {"kit/part.py": "FACTOR = 2\n"})
    assert own_digest(component) != first


def test_a_module_that_is_loaded_again_is_read_again(project: Path) -> None:
    """As in a notebook; an edit alone does not change what this process computes with."""
    module = import_module("mine")
    component = module.Mine(label="mine")
    first = code_version_of(component)["own"]
    write(project, {"mine.py": FILES["mine.py"] + "# edited\n"})
    assert code_version_of(component)["own"] == first
    importlib.reload(module)
    assert code_version_of(component)["own"] != first


def test_a_regressor_that_a_text_names_counts(project: Path) -> None:
    component = {"estimator": "regressor.Regressor", "options": ["1.5", "a b.c"]}
    first = own_digest(component)
    write(project, {"deeper.py": "FACTOR = 2\n"})
    assert first is not None and own_digest(component) != first


def test_components_in_lists_count(project: Path) -> None:
    component = [{"inner": (import_module("mine").Mine(label="mine"),)}]
    assert own_digest(component) is not None


@pytest.mark.parametrize(
    "text", ["sklearn.svm.SVR", "mine.csv", "mine.unrelated", "no.such.module", "torch.nn", "", "."]
)
def test_installed_modules_and_other_texts_do_not_count(project: Path, text: str) -> None:
    assert own_digest(text) is None


def test_equal_code_in_another_folder_is_equal(project: Path, tmp_path: Path) -> None:
    write(project, {"mine.py": METHOD.format(imports="import helper", inside="")})
    first = own_modules.own_modules(["mine"])
    own_modules._modules.clear()
    write(project / "copy", {name: (project / name).read_text() for name in FILES})
    sys.path[0] = str(project / "copy")
    assert own_modules.own_modules(["mine"]) == first and {*first} == {"mine", "helper", "deeper"}


def test_the_message_names_the_users_code(project: Path) -> None:
    component = import_module("mine").Mine(label="mine")
    own_modules._modules.clear()
    first = code_version_of(component)
    write(project, {"mine.py": FILES["mine.py"] + "# edited\n"})
    own_modules._modules.clear()
    other = describe_other_code(first, code_version_of(component))
    assert other == "another version of your own code"
