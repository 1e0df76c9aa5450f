"""Check which setting a user error is about, not how it is worded."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from bnnbench.types import UserError


def assert_user_error(
    error: BaseException | pytest.ExceptionInfo[UserError] | None,
    setting: str | None = None,
    code: str | None = None,
) -> None:
    """Assert that an error is a `UserError` about `setting`, with `code`, and prints as one line.

    Args:
        error: the error.
        setting: its setting, or None if it is not about one.
        code: its code, which distinguishes errors about the same setting.
    """
    if isinstance(error, pytest.ExceptionInfo):
        error = error.value
    assert isinstance(error, UserError), error
    assert (error.setting, error.code) == (setting, code), error
    text = str(error)
    assert text.endswith((".", "?")) and "\n" not in text, text


@contextmanager
def refused(
    setting: str | None, code: str | None = None
) -> Iterator[pytest.ExceptionInfo[UserError]]:
    """Assert that the code inside raises a `UserError`, see `assert_user_error`."""
    with pytest.raises(UserError) as error:
        yield error
    assert_user_error(error, setting, code)
