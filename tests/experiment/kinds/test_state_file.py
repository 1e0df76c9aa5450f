"""Saved states: written, read, and damaged."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from bnnbench.experiment.kinds.resumable_stack import read_state, saved_steps, write_state

REPLICAS = [{"rows": [torch.arange(3.0)], "log": {"nelbo": float("nan")}}]


def test_a_state_is_read_as_written(tmp_path: Path) -> None:
    path = tmp_path / "a.state"
    assert read_state(path) == (0, []) and saved_steps(path) == 0
    write_state(path, 7, REPLICAS)
    assert saved_steps(path) == 7
    steps, (found,) = read_state(path)
    assert steps == 7 and torch.equal(found["rows"][0], torch.arange(3.0))
    assert np.isnan(found["log"]["nelbo"])


@pytest.mark.parametrize(
    "damage",
    [
        *(lambda content, k=k: content[:k] + bytes([content[k] ^ 1]) + content[k:][1:]
          for k in (40, 100, -10)),  # a flipped bit
        *(lambda _, text=text: text
          for text in (b"", b"\n", b"[]\nx", b'{"steps": "x"}\n', b"\xff\xfe")),
    ],
)  # fmt: skip
def test_damage_is_detected(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], damage: Callable[..., bytes]
) -> None:
    path = tmp_path / "a.state"
    write_state(path, 7, REPLICAS)
    path.write_bytes(damage(path.read_bytes()))
    assert read_state(path) == (0, [])
    assert f"{path} is damaged" in capsys.readouterr().err


def test_a_file_without_a_readable_header_has_no_steps(tmp_path: Path) -> None:
    path = tmp_path / "a.state"
    for content in (b"", b"[]\nx", b'{"steps": "x"}\n', b"\xff\xfe"):
        path.write_bytes(content)
        assert saved_steps(path) == 0
