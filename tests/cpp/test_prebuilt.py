"""The choice among the libraries of a wheel."""

from __future__ import annotations

from pathlib import Path

import pytest

from bnnbench.cpp import library


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        ("avx2 bmi1 bmi2 f16c fma movbe", "x86-64-v3.so"),
        ("avx2 bmi1 bmi2 f16c fma movbe avx512f avx512bw avx512cd avx512dq avx512vl",
         "x86-64-v4.so"),
        ("avx2 fma", None),
        ("", None),
    ],
)  # fmt: skip
def test_the_best_supported_variant_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, flags: str, expected: str | None
) -> None:
    for name in library.VARIANTS:
        (tmp_path / f"{name}.so").touch()
    monkeypatch.setattr(library, "PREBUILT", tmp_path)
    monkeypatch.setattr(library, "_cpuinfo", lambda: {"flags": flags})
    assert library.prebuilt_library() == (expected and tmp_path / expected)
