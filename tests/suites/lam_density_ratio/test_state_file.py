"""Saved states: written, read, and damaged."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from bnnbench.suites.lam_density_ratio import state_file

STATE = {"iteration": 7, "rows": [torch.arange(3.0)], "log": {"nelbo": float("nan")}}


def test_a_state_is_read_as_written(tmp_path: Path) -> None:
    path = tmp_path / "a.state"
    state_file.write(path, STATE)
    assert state_file.iteration(path) == 7
    found = state_file.read(path)
    assert found is not None and torch.equal(found["rows"][0], torch.arange(3.0))
    assert np.isnan(found["log"]["nelbo"])


def test_without_a_file_there_is_no_state(tmp_path: Path) -> None:
    path = tmp_path / "none.state"
    assert state_file.read(path) is None and state_file.iteration(path) == -1


@pytest.mark.parametrize("where", [40, 100, -10])
def test_a_flipped_byte_is_detected(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], where: int
) -> None:
    path = tmp_path / "a.state"
    state_file.write(path, STATE)
    content = bytearray(path.read_bytes())
    content[where] ^= 1
    path.write_bytes(content)
    assert state_file.read(path) is None
    assert f"{path} is damaged" in capsys.readouterr().err


def test_a_file_that_is_not_a_state_is_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "a.state"
    for content in (b"", b"\n", b"[]\nx", b'{"iteration": "x"}\n', b"\xff\xfe"):
        path.write_bytes(content)
        assert state_file.read(path) is None and state_file.iteration(path) == -1
        assert "is damaged" in capsys.readouterr().err
