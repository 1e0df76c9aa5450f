"""Status messages: after a delay, or at once on a terminal."""

from __future__ import annotations

import time

import pytest

from bnnbench import notes
from bnnbench.notes import status_message


def test_the_message_is_printed_after_a_delay(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(notes, "DELAY", 0.01)
    with status_message("reading boston"):
        time.sleep(0.3)
    assert capsys.readouterr().err == "reading boston ...\n"
    monkeypatch.setattr(notes, "DELAY", 10.0)
    with status_message("reading boston"):
        pass
    assert capsys.readouterr().err == ""


def test_a_terminal_shows_the_message_at_once(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    with status_message("reading boston"):
        pass
    assert "reading boston" in capsys.readouterr().err
