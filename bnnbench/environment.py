"""Environment variables: a value that cannot be used is ignored, with a note."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import TypeVar

from bnnbench.notes import note, shorten

T = TypeVar("T")


def read_variable(name: str, parse: Callable[[str], T], default: T) -> T:
    """Return the value of a variable; the default if it is not set, is empty or cannot be used.

    Args:
        name: of the variable.
        parse: raises ValueError, with the expected values, for an unusable string.
        default: its value otherwise.
    """
    text = os.environ.get(name, "")
    try:
        return parse(text) if text.strip() else default
    except ValueError as error:
        _note_once(f"the environment variable {name}={shorten(text)} is ignored: {error}.")
        return default


def whole_number(text: str) -> int:
    """Return a whole number of at least 1."""
    if not text.strip().isdecimal() or int(text) < 1:
        raise ValueError("it must be a whole number of at least 1")
    return int(text)


def positive_number(text: str) -> float:
    """Return a number greater than 0, which may be infinite."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not value > 0:
        raise ValueError("it must be a number greater than 0")
    return value


@cache
def _note_once(text: str) -> None:
    note(text)


@contextmanager
def set_variables(**values: str) -> Iterator[None]:
    """Set environment variables in the block."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
