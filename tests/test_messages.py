"""Error messages of the command line are those of `messages.json`.

To regenerate the file after an intended change, run in `tests`:

    python -m support.messages
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.command import Command
from support.messages import COMMANDS, MESSAGES, without_progress, write_tables

EXPECTED = json.loads(MESSAGES.read_text("utf-8"))


@pytest.mark.parametrize("name", COMMANDS)
def test_messages_are_as_expected(command: Command, name: str) -> None:
    write_tables(Path())
    code, out, errors = command(*COMMANDS[name])
    assert (code, out) == (2, "")
    assert without_progress(errors) == EXPECTED[name]["stderr"]


def test_no_message_is_obsolete() -> None:
    assert EXPECTED.keys() == COMMANDS.keys()
