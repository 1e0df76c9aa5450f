"""Errors and advice about settings of data sets."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from bnnbench.data.quoted_texts import quoted
from bnnbench.types import UserError

SPECIAL = frozenset(",[]{}'\"")
"""Characters for which the text of a setting needs quotes."""


def invalid(setting: str, code: str | None, problem: str) -> UserError:
    """Return the error that `dataset.SETTING` has a problem."""
    return UserError(f"dataset.{setting}: {problem}", f"dataset.{setting}", code)


def override(setting: str, value: str | Sequence[str]) -> str:
    """Return `dataset.SETTING=VALUE` as it can be typed in a shell."""
    texts = [value] if isinstance(value, str) else [*value]
    if any(SPECIAL & {*text} for text in texts) or value == "null":
        texts = [*map(quoted, texts)]
    given = texts[0] if isinstance(value, str) else f"[{','.join(texts)}]"
    word = f"dataset.{setting}={given}"
    return f'"{word}"' if "'" in word and not {*word} & {*'"$`\\!'} else shlex.quote(word)
