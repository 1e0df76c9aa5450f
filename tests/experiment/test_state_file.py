"""Saved states: written, read, and damaged."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from bnnbench.experiment import state_file

STATE = {"iteration": 7, "rows": [torch.arange(3.0)], "log": {"nelbo": float("nan")}}


def test_a_state_is_read_as_written(tmp_path: Path) -> None:
    path = tmp_path / "a.state"
    assert state_file.read(path) is None and state_file.iteration(path) == -1
    state_file.write(path, STATE)
    assert state_file.iteration(path) == 7
    found = state_file.read(path)
    assert found is not None and torch.equal(found["rows"][0], torch.arange(3.0))
    assert np.isnan(found["log"]["nelbo"])


@pytest.mark.parametrize(
    "damage",
    [
        *(lambda content, k=k: content[:k] + bytes([content[k] ^ 1]) + content[k:][1:]
          for k in (40, 100, -10)),  # a flipped bit
        *(lambda _, text=text: text
          for text in (b"", b"\n", b"[]\nx", b'{"iteration": "x"}\n', b"\xff\xfe")),
    ],
)  # fmt: skip
def test_damage_is_detected(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], damage: Callable[..., bytes]
) -> None:
    path = tmp_path / "a.state"
    state_file.write(path, STATE)
    path.write_bytes(damage(path.read_bytes()))
    assert state_file.read(path) is None
    assert f"{path} is damaged" in capsys.readouterr().err


def test_a_file_without_a_readable_header_has_no_iteration(tmp_path: Path) -> None:
    path = tmp_path / "a.state"
    for content in (b"", b"[]\nx", b'{"iteration": "x"}\n', b"\xff\xfe"):
        path.write_bytes(content)
        assert state_file.iteration(path) == -1
