"""Saved models of others: a checksum is correct, but an array or a value is not."""

from __future__ import annotations

import errno
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load, save
from support.models import seal_model
from support.tiny_runs import finished, tiny_run
from support.user_errors import raises_user_error

from bnnbench.experiment.store.run_folder import RunFolder, find_run
from bnnbench.prediction import model as model_module
from bnnbench.prediction.final_model import load_or_fit
from bnnbench.prediction.model import JSON_FILE, TENSOR_FILE

ARRAYS: dict[str, Callable[[torch.Tensor], torch.Tensor | None]] = {
    "removed": lambda array: None,
    "longer": lambda array: torch.cat([array.flatten(), array.flatten()]),
    "empty": lambda array: array.flatten()[:0],
    "complex": lambda array: array.to(torch.complex64),
    "double": lambda array: array.double(),
}
"""Changes of an array: what is in its place, if anything."""

CHANGED = [
    *(f"{name} {change}" for name in ("state.loc", "state.s", "counts") for change in ARRAYS),
    *(f"hyper.prior_precision {change}" for change in ARRAYS),
    *(f"hyper.noise_precision {change}" for change in ("removed", "longer", "empty")),
    *(f"scaler.input_scale {change}" for change in ("removed", "longer", "empty")),
    *(f"scaler.target_loc {change}" for change in ("removed", "empty")),
    *(f"array.low {change}" for change in ("removed", "longer", "empty")),
    *("array.scores removed", "array.rows empty"),
]
"""Arrays of a network's model with changes after which it cannot predict."""

WRONG: dict[str, list[Any]] = {
    "label": [None, 3, ["a"], {"_target_": "evil.X"}],
    "target": [None, 3],
    "held_out": [None, "x", -1],
    "held_out_groups": [None, "x", [1, 2], 10**30],
    "encodings": [None, [], "x", [{"column": "a"}]],
    "sizes": [None, [], -1, [10**9, 10**9], [3, 4]],
}
"""Values of the JSON file that no model has."""


@pytest.fixture(scope="module")
def fitted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run of a network, with its model."""
    folder = tmp_path_factory.mktemp("fitted")
    rows = [f"{i},{i % 7},{i * i % 11}" for i in range(20)]
    (folder / "t.csv").write_text("\n".join(["a,b,y", *rows]))
    load_or_fit(finished(tiny_run(folder / "t.csv", folder / "run", "splits=1"))[0])
    return folder / "run"


@pytest.fixture
def run(fitted: Path, tmp_path: Path) -> RunFolder:
    """A copy of that run."""
    shutil.copytree(fitted, tmp_path / "copy")
    return find_run(tmp_path / "copy")


def assert_damaged(run: RunFolder) -> None:
    seal_model(run.root / "model")
    with raises_user_error(code="damaged_model"):
        load_or_fit(run)


@pytest.mark.parametrize("case", CHANGED)
def test_arrays_that_cannot_predict_are_refused(run: RunFolder, case: str) -> None:
    name, change = case.split()
    path = run.root / "model" / TENSOR_FILE
    arrays = load(path.read_bytes())
    new = ARRAYS[change](arrays.pop(name))
    path.write_bytes(save(arrays if new is None else arrays | {name: new}))
    assert_damaged(run)


@pytest.mark.parametrize("key", WRONG)
def test_values_of_another_type_are_refused(run: RunFolder, key: str) -> None:
    path = run.root / "model" / JSON_FILE
    about = json.loads(path.read_text())
    for value in WRONG[key]:
        path.write_text(json.dumps(about | {key: value}))
        assert_damaged(run)


@pytest.mark.parametrize("number", [errno.EROFS, errno.EACCES, errno.EPERM, errno.ENOSPC])
def test_a_model_that_cannot_be_kept_predicts(
    run: RunFolder, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    expected = load_or_fit(run).saved.model.predict(np.zeros((2, 2)))
    shutil.rmtree(run.root / "model")
    write = model_module.write_bytes

    def fail(path: Path, content: bytes) -> None:
        if path.is_relative_to(run.root):
            raise OSError(number, os.strerror(number), str(path))
        write(path, content)

    monkeypatch.setattr(model_module, "write_bytes", fail)
    found = load_or_fit(run).saved.model.predict(np.zeros((2, 2)))
    assert not [*(run.root / "model").glob("*")]
    assert all((found[name] == expected[name]).all() for name in expected)


def test_a_sealed_model_is_read(run: RunFolder) -> None:
    """So that the changes, not the checksums, are what the tests above refuse."""
    seal_model(run.root / "model")
    before = (run.root / "model" / JSON_FILE).read_bytes()
    assert load_or_fit(run).target == "y"
    assert (run.root / "model" / JSON_FILE).read_bytes() == before
