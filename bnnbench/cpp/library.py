"""The library built from the C++ files here, if it can be had here, and the word on why not.

`BNNBENCH_NATIVE=0` in the environment leaves it out, for numbers as torch alone computes them.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from bnnbench.cpp.compiler import Unavailable, built

SOURCES = tuple(
    Path(__file__).with_name(name)
    for name in (
        "kernel.cpp",
        "jensen_shannon.cpp",
        "propagation.cpp",
        "random.cpp",
        "trajectories.cpp",
        "lanes.h",
        "network.h",
    )
)
SWITCH = "BNNBENCH_NATIVE"

NUMBER, WORD, ARRAY = ctypes.c_int64, ctypes.c_uint64, ctypes.c_void_p


@dataclass(frozen=True)
class Library:
    """What of the native code there is in this process.

    Attributes:
        code: the functions of the C++ files; None where torch does all of it.
        place: the file they are in.
        wanted: whether it was asked for, which it is unless switched off.
        reason: why there is none.
    """

    code: ctypes.CDLL | None = None
    place: Path | None = None
    wanted: bool = True
    reason: str = ""

    @property
    def standing(self) -> str:
        """One clause for `bnnbench --version` and a run's record."""
        return f"in use ({self.place})" if self.code else f"not in use, since {self.reason}"


@cache
def library() -> Library:
    """The library, built if need be: some five seconds, once for a machine."""
    if os.environ.get(SWITCH) == "0":
        return Library(wanted=False, reason=f"{SWITCH}=0")
    try:
        place = built(*SOURCES)
        return Library(_loaded(place), place)
    except Unavailable as missing:
        return Library(reason=str(missing))
    except (OSError, AttributeError) as error:  # what is there cannot be loaded
        return Library(reason=f"it cannot be loaded: {error}")


def _loaded(place: Path) -> ctypes.CDLL:
    code = ctypes.CDLL(str(place))
    code.moments.argtypes = [ARRAY, *[NUMBER] * 6, *[ARRAY] * 10]
    code.evaluate.argtypes = [ARRAY, *[NUMBER] * 4, *[ARRAY] * 3]
    taking_one = code.take_steps, code.propagate, code.take_trajectories
    for function in taking_one:
        function.argtypes = [ARRAY]
    for function in (code.js_far, code.js_near, code.js_slopes):
        function.argtypes, function.restype = [ARRAY], None
    code.draw_numbers.argtypes = [WORD, WORD, ctypes.c_int, NUMBER, ARRAY]
    code.draw_many.argtypes = [NUMBER, *[ARRAY] * 5]
    code.draw_numbers.restype = code.draw_many.restype = None
    for function in (code.moments, code.evaluate, *taking_one):
        function.errcheck = _checked  # type: ignore[assignment]
    return code


def _checked(failed: int, function: Any, arguments: tuple[Any, ...]) -> None:
    if failed:
        raise MemoryError("native code was given too little memory")


@cache
def prepare(say: Callable[[str], object]) -> None:
    """Builds the library before processes that need it start, and says once if there is none."""
    found = library()
    if found.wanted and not found.code:
        say(f"training by torch alone, at less than half the speed, since {found.reason}")
