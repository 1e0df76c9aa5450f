"""Runs received from others: no file of theirs stops a report, hangs, or reaches the terminal.

Nothing in them is executed, and nothing outside the folder is written.
"""

from __future__ import annotations

import io
import json
import os
import pickle
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
import yaml
from support.auditing import watched
from support.command import Command
from support.models import seal_model
from support.runs import add_arrays, add_checksums, make_points, make_run
from support.tiny_runs import finished, tiny_run
from support.user_errors import assert_user_error

from bnnbench.experiment.store.run_folder import RunFolder, find_run
from bnnbench.prediction.final_model import load_or_fit
from bnnbench.prediction.model import TENSOR_FILE
from bnnbench.results.read.run_files import read_predictions
from bnnbench.results.read.run_tables import read_runs
from bnnbench.types import UserError

Tamper = Callable[[RunFolder], object]

NESTED = "[" * 100_000
"""JSON whose reading exceeds the limit of recursion."""


def edit_json(name: str, *keys: str, value: Any) -> Tamper:
    """Return a function that changes a value in a JSON file and corrects the checksums."""

    def change(folder: RunFolder) -> None:
        content = json.loads((folder.root / name).read_text())
        inner = content
        for key in keys[:-1]:
            inner = inner[key]
        inner[keys[-1]] = value
        (folder.root / name).write_text(json.dumps(content))
        if name == "record.json":
            add_checksums(folder, "record.json")

    return change


def replace_by(name: str, make: Callable[[Path], object]) -> Tamper:
    """Return a function that replaces a file by what `make` creates."""

    def change(folder: RunFolder) -> None:
        (folder.root / name).unlink(missing_ok=True)
        make(folder.root / name)

    return change


def edit_scores(change: Callable[[pd.DataFrame], pd.DataFrame]) -> Tamper:
    """Return a function that changes `splits.csv` and corrects the checksums."""

    def changed(folder: RunFolder) -> None:
        path = folder.table("splits")
        change(pd.read_csv(path)).to_csv(path, index=False)
        add_checksums(folder, "record.json", "splits.csv")

    return changed


TAMPERED: dict[str, Tamper] = {
    "a pipe for the record": replace_by("record.json", os.mkfifo),
    "a pipe for the mark": replace_by("DONE", os.mkfifo),
    "a pipe for the scores": replace_by("splits.csv", os.mkfifo),
    "a pipe that is not read": replace_by("figures", os.mkfifo),
    "a device": replace_by("splits.csv", lambda path: path.symlink_to("/dev/zero")),
    "a link to itself": replace_by("splits.csv", lambda path: path.symlink_to(path)),
    "a folder elsewhere": replace_by("figures", lambda path: path.symlink_to("/")),
    "an absolute name": edit_json("DONE", "files", value={"/dev/zero": "0"}),
    "a name above": edit_json("DONE", "files", value={"../x": "0"}),
    "a null byte": edit_json("DONE", "files", value={"a\0": "0"}),
    "units that are numbers": edit_json("DONE", "units", value=[1]),
    "no date": edit_json("DONE", "finished", value="today"),
    "a nested mark": replace_by("DONE", lambda path: path.write_text(NESTED)),
    "a nested record": replace_by("record.json", lambda path: path.write_text(NESTED)),
    "a list for a name": edit_json("record.json", "metadata", "method", value=["vadam"]),
    "null for a name": edit_json("record.json", "metadata", "dataset", value=None),
    "NaN for a name": edit_json("record.json", "metadata", "method", value=float("nan")),
    "NaN for a number": edit_json("record.json", "metadata", "order", value=float("nan")),
    "a mapping for a number": edit_json("record.json", "metadata", "depth", value={"a": 1}),
    "an escape in a name": edit_json("record.json", "metadata", "method", value="\x1b]0;a\x07"),
    "LaTeX in a name": edit_json("record.json", "metadata", "method", value=r"$\input{/a}$"),
    "a line break in a name": edit_json("record.json", "metadata", "dataset", value="a\nb"),
    "markup in a name": edit_json("record.json", "metadata", "dataset", value="[/x]"),
    "a list for settings": edit_json("record.json", "identity", value=[1]),
    "a number for code": edit_json("record.json", "kind", value=3),
    "half a surrogate pair": edit_json("record.json", "metadata", "target", value="\udfff"),
    "half a pair in a setting": edit_json("record.json", "identity", "seed", value="\udfff"),
    "a text for the depth": edit_json("record.json", "metadata", "depth", value="1"),
    "truth for a weight": edit_json("record.json", "metadata", "weight", value=True),
    "a number for truth": edit_json("record.json", "metadata", "synthetic", value=1),
    "a huge integer": edit_json("record.json", "metadata", "seed", value=10**400),
    "null for the metadata": edit_json("record.json", "metadata", value=None),
    "a mapping in a list": edit_json("record.json", "identity", "seed", value=[{"a": 1}]),
    "texts for code versions": edit_json("record.json", "code_versions", value=["a"]),
    "a mapping of code versions": edit_json("record.json", "code_versions", value={"a": {}}),
    "a list as a code version": edit_json("record.json", "code_versions", value=[[1]]),
    "an unknown key": edit_json("record.json", "hostile", value=1),
    "a dash for a score": edit_scores(lambda scores: scores.assign(crps="-")),
    "a text for a chosen value": edit_scores(lambda scores: scores.assign(**{"hp.x": "=cmd()"})),
    "a date for a diagnostic": edit_scores(lambda scores: scores.assign(**{"diag.x": "2020-1-1"})),
    "a split twice": edit_scores(lambda scores: scores.assign(split=0)),
    "a negative split": edit_scores(lambda scores: scores.assign(split=-scores["split"] - 1)),
    "half a split": edit_scores(lambda scores: scores.assign(split=scores["split"] + 0.5)),
    "infinitely many rows": edit_scores(lambda scores: scores.assign(test_rows="1e400")),
    "no fingerprint": edit_scores(lambda scores: scores.assign(fingerprint="")),
    "text among the scores": edit_scores(lambda scores: scores.assign(rmse="evil")),
    "no scores": edit_scores(lambda scores: scores.head(0)),
    "scores without a column": edit_scores(lambda scores: scores.drop(columns="split")),
    "scores without fingerprints": edit_scores(lambda scores: scores.drop(columns="fingerprint")),
}


@pytest.mark.ci
@pytest.mark.parametrize("name", TAMPERED)
def test_a_tampered_run_is_left_out_and_named(tmp_path: Path, name: str) -> None:
    make_run(tmp_path, method="bbb")
    other = make_run(tmp_path, method="vadam")
    add_checksums(other, "record.json", "splits.csv")
    TAMPERED[name](other)
    found = read_runs(tmp_path)
    assert list(found.scored["method"]) == ["bbb"]
    assert len(found.skipped) == 1 and str(other.root) in found.skipped[0]
    assert found.skipped[0].isprintable()


def test_a_run_that_would_hang_is_refused_at_once(tmp_path: Path) -> None:
    folder = make_run(tmp_path)
    (folder.root / "model").mkdir()
    os.mkfifo(folder.root / "model" / "model.json")
    with pytest.raises(UserError) as error:
        find_run(folder.root)
    assert_user_error(error, "model.json", "irregular_file")
    with pytest.raises(UserError) as error:
        folder.create()
    assert_user_error(error, "model.json", "irregular_file")


def test_a_link_inside_the_run_is_accepted(tmp_path: Path) -> None:
    folder = make_run(tmp_path)
    (folder.root / "copy.csv").symlink_to("splits.csv")
    assert find_run(tmp_path).root == folder.root


@pytest.mark.usefixtures("without_figures")
def test_show_and_report_print_no_escape_sequence(command: Command, tmp_path: Path) -> None:
    folder = make_run(tmp_path / "runs", target="t\x1b[2J")
    table = folder.table("splits")
    table.write_text(table.read_text().replace("hp.prior_precision", "hp.\x1b]0;a\x07"))
    for words in (["show", str(folder.root)], ["report", str(tmp_path / "runs")]):
        _, out, errors = command(*words)
        assert "\x1b" not in out + errors


class Evil:
    """Creates a file when it is unpickled."""

    def __reduce__(self) -> tuple[Any, ...]:
        return os.system, ("touch executed",)


def edit_config(group: str, **settings: Any) -> Tamper:
    """Return a function that changes settings of a group in `config.yaml`."""

    def change(folder: RunFolder) -> None:
        config = yaml.safe_load(folder.config.read_text())
        config[group] |= settings
        folder.config.write_text(yaml.safe_dump(config))

    return change


def edit_estimator(name: str, options: dict[str, Any] | None) -> Tamper:
    """Return a function that makes the method an estimator of scikit-learn."""
    target = "bnnbench.methods.sklearn.Sklearn"
    return edit_config("method", _target_=target, label="mine", estimator=name, options=options)


def append(text: str) -> Tamper:
    """Return a function that adds lines to `config.yaml`."""
    return lambda folder: folder.config.write_text(folder.config.read_text() + text)


def pickle_a_column(folder: RunFolder) -> None:
    evil = np.array([Evil()] * len(make_points()["mean"]), dtype=object)
    add_arrays(folder, arrays={**make_points(), "mean": evil})
    add_checksums(folder, "record.json", "splits.csv", "predictions.npz")


def pickle_the_arrays(folder: RunFolder) -> None:
    folder.arrays("predictions").write_bytes(pickle.dumps(Evil()))
    add_checksums(folder, "record.json", "splits.csv", "predictions.npz")


def pickle_the_model(folder: RunFolder) -> None:
    content = io.BytesIO()
    torch.save({"counts": Evil()}, content)
    (folder.root / "model" / TENSOR_FILE).write_bytes(content.getvalue())
    seal_model(folder.root / "model")


LAUGHS = "\na0: &a0 [x, x]\n" + "".join(
    f"a{k + 1}: &a{k + 1} [{', '.join([f'*a{k}'] * 10)}]\n" for k in range(9)
)
"""A billion values in ten lines, nested."""

HOSTILE: dict[str, tuple[Tamper, str, str | None, str | None]] = {
    "a method of this folder": (
        edit_config("method", _target_="hostile.Mine", label="mine"),
        "predict", "method._target_", "unknown_class",
    ),
    "data of this folder": (
        edit_config("dataset", _target_="hostile.Mine", name="mine"),
        "predict", "dataset._target_", "unknown_class",
    ),
    "a function": (
        edit_config("method", _target_="os.system", label="mine"),
        "predict", "method._target_", "unknown_class",
    ),
    "an estimator of this folder": (
        edit_estimator("hostile.Mine", None), "predict", "method.estimator", "untrusted",
    ),
    "a program as estimator": (
        edit_estimator("subprocess.Popen", {"args": ["touch", "executed"]}),
        "predict", "method.estimator", "untrusted",
    ),
    "a file as argument": (
        edit_estimator("sklearn.linear_model.Ridge", {"alpha": "/etc/passwd"}),
        "predict", "method.estimator", "untrusted",
    ),
    "a tag": (
        append("\nx: !!python/object/apply:os.system ['touch executed']\n"),
        "predict", "config.yaml", "damaged",
    ),
    "aliases": (append(LAUGHS), "predict", "config.yaml", "damaged"),
    "a pickled model": (pickle_the_model, "predict", None, "damaged_model"),
    "a pickled column": (pickle_a_column, "report", "predictions.npz", "damaged"),
    "pickled arrays": (pickle_the_arrays, "report", "predictions.npz", "damaged"),
    "an unknown kind": (edit_json("record.json", "kind", value="hostile"), "show", "kind", None),
}  # fmt: skip
"""Changes with correct checksums, the command that meets them, and its error."""


@pytest.fixture(scope="module")
def received(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run with its model and its table."""
    folder = tmp_path_factory.mktemp("received")
    rows = [f"{i},{i % 7},{i * i % 11}" for i in range(20)]
    (folder / "t.csv").write_text("\n".join(["a,b,y", *rows]))
    load_or_fit(finished(tiny_run(folder / "t.csv", folder / "run", "method=linear"))[0])
    return folder


@pytest.mark.usefixtures("without_figures")  # matplotlib makes its folders when imported
@pytest.mark.parametrize("name", HOSTILE)
def test_nothing_that_others_sent_is_executed(
    command: Command, monkeypatch: pytest.MonkeyPatch, received: Path, name: str
) -> None:
    shutil.copytree(received / "run", "run")
    Path("hostile.py").write_text("open('executed', 'w')\n")
    monkeypatch.syspath_prepend(Path.cwd())  # as `python -m bnnbench` does
    change, verb, setting, code = HOSTILE[name]
    change(find_run(Path("run")))
    words = [str(received / "t.csv")] if verb == "predict" else []
    with watched(Path.cwd()) as watch:
        command.assert_refused(verb, "run", *words, setting=setting, code=code)
    assert not watch.executed and not watch.outside
    assert not Path("executed").exists()


def test_the_watch_sees_what_is_executed_and_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So that the test above can fail."""
    folder = tmp_path / "folder"
    folder.mkdir()
    monkeypatch.chdir(folder)
    (folder / "hostile.py").write_text("x = 1\n")
    with watched(folder) as watch:
        pickle.loads(pickle.dumps(Evil()))
        exec(compile("x = 1", str(folder / "hostile.py"), "exec"))
        (tmp_path / "written").touch()
        (folder / "written").touch()
    assert {"posix.system", "touch executed", str(folder / "hostile.py")} <= {*watch.executed}
    assert watch.outside == [str(tmp_path / "written")]


def test_the_unpacked_size_of_arrays_is_limited(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = make_run(tmp_path)
    add_arrays(folder)
    monkeypatch.setenv("BNNBENCH_MAX_UNPACKED_GB", "0.000001")
    with pytest.raises(UserError, match="BNNBENCH_MAX_UNPACKED_GB"):
        read_predictions(folder)
