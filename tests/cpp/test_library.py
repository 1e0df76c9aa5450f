"""What is said of the native code, and what a process does that cannot have it."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from bnnbench.cpp import library as module
from bnnbench.cpp.library import library, prepare
from bnnbench.cpp.tensors import available


@pytest.fixture(autouse=True)
def _fresh() -> Iterator[None]:
    """As a process begins; and the next test begins so, too."""
    library.cache_clear()
    prepare.cache_clear()
    yield
    library.cache_clear()
    prepare.cache_clear()


def test_switched_off_it_is_not_there_and_nothing_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BNNBENCH_NATIVE", "0")
    said: list[str] = []
    prepare(said.append)
    assert said == []
    assert library().standing == "not in use, since BNNBENCH_NATIVE=0"
    assert not available(torch.zeros(1))


def test_without_a_compiler_it_is_said_once(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("BNNBENCH_NATIVE", raising=False)
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    said: list[str] = []
    say = said.append
    prepare(say)
    prepare(say)
    because = "since there is no compiler"
    assert said == [f"training by torch alone, at less than half the speed, {because}"]
    assert library().standing == "not in use, since there is no compiler"
    assert not available(torch.zeros(1))


@pytest.mark.parametrize("content", [b"", b"no library at all"])
def test_a_library_that_cannot_be_loaded_is_gone_without(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, content: bytes
) -> None:
    monkeypatch.delenv("BNNBENCH_NATIVE", raising=False)
    place = tmp_path / "kernel.so"
    place.write_bytes(content)
    monkeypatch.setattr(module, "built", lambda *sources: place)
    assert library().standing.startswith("not in use, since it cannot be loaded: ")


def test_where_it_is_in_use_its_place_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BNNBENCH_NATIVE", raising=False)
    found = library()
    if found.code is None:
        pytest.skip(found.reason)
    assert found.place is not None and found.standing == f"in use ({found.place})"


def test_too_little_memory_is_an_error_of_python() -> None:
    code = library().code
    if code is None:
        pytest.skip(library().reason)
    sizes = (ctypes.c_int64 * 2)(1, 1)
    with pytest.raises(MemoryError):
        code.moments(sizes, 1, 0, 0, 0, 1, 2**50, *[None] * 10)
