"""What the user is told: one sentence, whatever was wrong."""

from __future__ import annotations

import pytest

from bnnbench.types import UserError


def assert_one_sentence(error: pytest.ExceptionInfo[UserError], *parts: str) -> None:
    """It ends with a full stop, holds no line break, and says each of `parts`."""
    text = str(error.value)
    assert text.endswith(".") and "\n" not in text
    for part in parts:
        assert part in text
