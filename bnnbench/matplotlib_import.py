"""Imports matplotlib with its default settings while bnnbench runs.

matplotlib reads a file `matplotlibrc` of the current folder, which a stranger may have written: it
may be a pipe, or contain code. Figures also look the same everywhere without such files. A program
that imports matplotlib itself keeps its own settings.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack, chdir
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

from bnnbench.system import read_variable, set_variables

PACKAGE = __name__.partition(".")[0]

DEFAULTS = os.devnull
"""A file of settings that changes none."""

SAFE_FOLDER = os.path.dirname(DEFAULTS)
"""A folder in which no user can create a `matplotlibrc`, and without modules to import."""


class DefaultsFinder(MetaPathFinder):
    """Finds matplotlib, if bnnbench imports it, directly or through a plug-in."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return how to import matplotlib; None for all else."""
        if fullname != "matplotlib" or not _called_by_bnnbench():
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is not None and spec.loader is not None:
            spec.loader.exec_module = _with_defaults(spec.loader.exec_module)  # type: ignore
        return spec


def _called_by_bnnbench() -> bool:
    frame = sys._getframe(2)  # that of the caller of `find_spec`
    while frame is not None:
        if str(frame.f_globals.get("__name__")).partition(".")[0] == PACKAGE:
            return True
        frame = frame.f_back  # type: ignore[assignment]
    return False


def _with_defaults(execute: Callable[[ModuleType], Any]) -> Callable[[ModuleType], None]:
    """Return a function that executes the module without files of settings."""

    def execute_with_defaults(module: ModuleType) -> None:
        with ExitStack() as stack:
            # A variable that cannot be used would raise an error.
            stack.enter_context(set_variables(MATPLOTLIBRC=DEFAULTS, MPLBACKEND=""))
            if os.path.lexists("matplotlibrc"):  # has priority over the variable
                stack.enter_context(chdir(SAFE_FOLDER))
            execute(module)
        read_variable("MPLBACKEND", lambda text: module.rcParams.update(backend=text), None)

    return execute_with_defaults
