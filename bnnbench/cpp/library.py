"""The library of the C++ files in this folder, or the reason why it is not available.

Set the environment variable `BNNBENCH_NATIVE=0` to disable it and use torch only.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from bnnbench.cpp.compiler import LibraryUnavailable, build_library

SOURCES = tuple(
    Path(__file__).with_name(name)
    for name in (
        "kernel.cpp",
        "elementwise.cpp",
        "jensen_shannon.cpp",
        "propagation.cpp",
        "random.cpp",
        "trajectories.cpp",
        "lanes.h",
        "network.h",
        "portable.h",
    )
)
NATIVE_VARIABLE = "BNNBENCH_NATIVE"

NUMBER, WORD, ARRAY = ctypes.c_int64, ctypes.c_uint64, ctypes.c_void_p


@dataclass(frozen=True)
class Library:
    """The native code that is available in this process.

    Attributes:
        code: the functions of the C++ files; None if they are not available.
        path: the library file.
        enabled: whether native code is not disabled by the environment variable.
        reason: why the code is not available.
    """

    code: ctypes.CDLL | None = None
    path: Path | None = None
    enabled: bool = True
    reason: str = ""

    @property
    def status(self) -> str:
        """A clause for `bnnbench --version` and a run's record."""
        return f"in use ({self.path})" if self.code else f"not in use: {self.reason}"


@cache
def library() -> Library:
    """Return the library, compiled on the first use on a machine, which takes five seconds."""
    if os.environ.get(NATIVE_VARIABLE) == "0":
        return Library(enabled=False, reason=f"{NATIVE_VARIABLE}=0")
    try:
        path = build_library(*SOURCES)
        return Library(_load(path), path)
    except LibraryUnavailable as missing:
        return Library(reason=str(missing))
    except (OSError, AttributeError) as error:
        return Library(reason=f"it cannot be loaded: {error}")


def _load(path: Path) -> ctypes.CDLL:
    code = ctypes.CDLL(str(path))
    code.gradient_moments.argtypes = [ARRAY, *[NUMBER] * 6, *[ARRAY] * 10]
    code.evaluate.argtypes = [ARRAY, *[NUMBER] * 4, *[ARRAY] * 3]
    taking_one = code.take_steps, code.propagate, code.take_trajectories
    for function in taking_one:
        function.argtypes = [ARRAY]
    for function in (code.js_far, code.js_near, code.js_slopes):
        function.argtypes, function.restype = [ARRAY], None
    for function in (code.exponentials, code.logarithms):
        function.argtypes, function.restype = [NUMBER, *[ARRAY] * 2], None
    code.mixture_crps.argtypes, code.mixture_crps.restype = [*[NUMBER] * 2, *[ARRAY] * 4], None
    code.ordered_product.argtypes, code.ordered_product.restype = (
        [*[NUMBER] * 3, *[ARRAY] * 3],
        None,
    )
    code.invert_positive.argtypes = [NUMBER, *[ARRAY] * 3]
    code.draw_numbers.argtypes = [WORD, WORD, ctypes.c_int, NUMBER, ARRAY]
    code.draw_many.argtypes = [NUMBER, *[ARRAY] * 5]
    code.draw_numbers.restype = code.draw_many.restype = None
    code.output_moments.argtypes = [ARRAY, *[NUMBER] * 3, *[ARRAY] * 5]
    for function in (code.gradient_moments, code.evaluate, code.output_moments, *taking_one):
        function.errcheck = _check_memory  # type: ignore[assignment]
    return code


def _check_memory(failed: int, function: Any, arguments: tuple[Any, ...]) -> None:
    if failed:
        raise MemoryError("native code ran out of memory")


@cache
def ensure_library(report: Callable[[str], object]) -> None:
    """Compile the library before worker processes start; report once if that is not possible."""
    loaded = library()
    if loaded.enabled and not loaded.code:
        report(f"training with torch only, at less than half the speed: {loaded.reason}")
