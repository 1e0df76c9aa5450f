"""The status of the native code, and processes without it."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from bnnbench.cpp import library as module
from bnnbench.cpp.library import has_native_code, library


@pytest.fixture(autouse=True)
def _fresh() -> Iterator[None]:
    """Clear the caches before and after each test."""
    library.cache_clear()
    yield
    library.cache_clear()


def test_disabled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BNNBENCH_NATIVE", "0")
    assert not library().enabled
    assert library().status == "not in use: BNNBENCH_NATIVE=0"
    assert not has_native_code(torch.zeros(1))


def test_a_missing_compiler(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("BNNBENCH_NATIVE", raising=False)
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert library().enabled and library().status == "not in use: there is no compiler"
    assert not has_native_code(torch.zeros(1))


@pytest.mark.parametrize("content", [b"", b"no library at all"])
def test_a_library_that_cannot_be_loaded_is_not_used(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, content: bytes
) -> None:
    monkeypatch.delenv("BNNBENCH_NATIVE", raising=False)
    place = tmp_path / "kernel.so"
    place.write_bytes(content)
    monkeypatch.setattr(module, "build_library", lambda *sources: place)
    assert library().status.startswith("not in use: it cannot be loaded: ")


def test_the_status_names_the_library_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BNNBENCH_NATIVE", raising=False)
    found = library()
    if found.code is None:
        pytest.skip(found.reason)
    assert found.path is not None and found.status == f"in use ({found.path})"


def test_insufficient_memory_raises_a_python_exception() -> None:
    code = library().code
    if code is None:
        pytest.skip(library().reason)
    sizes = (ctypes.c_int64 * 2)(1, 1)
    with pytest.raises(MemoryError):
        code.gradient_moments(sizes, 1, 0, 0, 0, 1, 2**50, *[None] * 7, False, *[None] * 3)
