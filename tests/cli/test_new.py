"""`bnnbench new`: the written files work, and names that cannot work are refused."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest
import torch
from support.command import Command, result_folder
from support.config import TINY, compose_configs
from support.linear_model import fit

from bnnbench import discovery
from bnnbench.config.instantiate import target_class
from bnnbench.methods.mc_dropout import MCDropout


@pytest.fixture(autouse=True)
def _modules_of_one_test(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.setattr(discovery, "_own_folders", {})
    yield
    for name in ("mine", "my_method", "taken"):
        sys.modules.pop(name, None)


def files() -> dict[str, str]:
    """Return the contents of all files in the current folder."""
    found = (path for path in Path().rglob("*") if path.is_file())
    return {path.as_posix(): path.read_text() for path in found}


def write(texts: dict[str, str]) -> None:
    for name, text in texts.items():
        path = Path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


@pytest.mark.parametrize("toml", [None, "", 'path = ["."]'])
def test_a_folder_without_methods_gets_one(command: Command, toml: str | None) -> None:
    if toml is not None:
        write({"bnnbench.toml": toml})
    code, out, errors = command("new", "method", "my_method")
    assert (code, errors) == (0, "")
    assert {*files()} == {"bnnbench.toml", "my_method.py", "configs/method/my_method.yaml"}
    assert ("bnnbench trust" in out) == (toml is None) and "method=my_method" in out
    (config,) = compose_configs(["method=my_method"])
    assert target_class("method", config["method"]).__name__ == "MyMethod"
    assert "[yours]" in command("list", "method")[1]


def test_a_project_keeps_its_files_and_its_folders(command: Command) -> None:
    Path("code").mkdir()
    toml = 'config_dirs = ["yamls"]\npath = ["code", "."]\n'
    write({"bnnbench.toml": toml, "taken.py": "", "yamls/method/other.yaml": "label: other\n"})
    before = files()
    done, out, _ = command("new", "method", "mine")
    assert done == 0 and "bnnbench trust" not in out
    after = files()
    assert {*after} - {*before} == {"code/mine.py", "yamls/method/mine.yaml"}
    assert before.items() <= after.items()
    (config,) = compose_configs(["method=mine"])
    assert target_class("method", config["method"]).__name__ == "Mine"
    for name, code in (("mine", "name_taken"), ("other", "name_taken"), ("taken", "module_taken")):
        command.assert_refused("new", "method", name, setting="NAME", code=code)
    assert files() == after


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("", "not_a_name"),
        ("1st", "not_a_name"),
        ("my-method", "not_a_name"),
        ("_mine", "not_a_name"),  # a base file of other options
        ("méthode", "not_a_name"),
        ("../mine", "not_a_name"),
        ("mine\n", "not_a_name"),
        ("m" * 101, "not_a_name"),
        ("class", "keyword"),
        ("none", "keyword"),  # its class would be None
        ("True", "keyword"),
        ("yes", "keyword"),  # true in YAML
        ("nan", "keyword"),  # a number for Hydra
        ("vadam", "name_taken"),
        ("Vadam", "name_taken"),  # one file on some systems
        ("boston", "name_taken"),
        ("dataset", "name_taken"),
        ("bnnbench", "module_taken"),
        ("torch", "module_taken"),
        ("json", "module_taken"),
        ("sys", "module_taken"),
        ("folder", "module_taken"),
    ],
)
def test_names_that_are_refused(command: Command, name: str, code: str) -> None:
    Path("folder").mkdir()
    command.assert_refused("new", "method", name, setting="NAME", code=code)
    assert not files()


@pytest.mark.parametrize(
    ("texts", "setting", "code"),
    [
        ({"configs/method/mine.yaml": "kept"}, "NAME", "file_exists"),
        ({"mine.py": "kept"}, "NAME", "module_taken"),
        ({"bnnbench.toml": "path = []", "configs/a": ""}, "path", "no_folder"),
        ({"bnnbench.toml": "config_dirs = []"}, "config_dirs", "no_folder"),
        ({"bnnbench.toml": "="}, None, "not_toml"),
    ],
)
def test_folders_that_are_refused_stay_as_they_are(
    command: Command, texts: dict[str, str], setting: str | None, code: str
) -> None:
    write(texts)
    command.assert_refused("new", "method", "mine", setting=setting, code=code)
    assert files() == texts


def test_a_project_that_is_not_trusted_is_refused(
    command: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("BNNBENCH_TRUST")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    assert command("new", "method", "mine")[0] == 0
    command.assert_refused("new", "method", "other", code="untrusted")
    assert command("trust")[0] == 0
    assert command("new", "method", "my_method")[0] == 0


def test_it_predicts_with_the_mean_weights_of_the_last_epochs(command: Command) -> None:
    assert command("new", "method", "mine")[0] == 0
    sys.path.append(str(Path.cwd()))
    mine = import_module("mine").Mine
    after = {n: fit(MCDropout(label="d"), n).state["loc"] for n in (1, 2, 3)}
    for averaged, used in ((0.01, (3,)), (0.6, (2, 3)), (0.99, (1, 2, 3))):
        found = fit(mine(label="m", averaged=averaged), 3).state["loc"]
        expected = torch.stack([after[n] for n in used]).mean(0)
        torch.testing.assert_close(found, expected)


@pytest.mark.ci
@pytest.mark.usefixtures("without_figures")
def test_it_passes_its_check_and_runs(command: Command, table_csv: Path) -> None:
    assert command("new", "method", "mine")[0] == 0
    code, out, errors = command("check", "method=mine")
    assert code == 0, out + errors
    table = ["dataset=csv", f"dataset.path={table_csv}", "dataset.target=y", "workers=1"]
    code, out, errors = command("run", "method=mine", *table, *TINY)
    assert code == 0, errors
    assert result_folder(out).root.parent.name == "mine"
