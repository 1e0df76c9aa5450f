"""Nobody waits in silence, and nobody is told of what is over in a moment."""

from __future__ import annotations

import time

import pytest

from bnnbench.cli import waiting
from bnnbench.cli.waiting import announced


def test_a_word_after_a_moment(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(waiting, "PATIENCE", 0.01)
    with announced("reading boston"):
        time.sleep(0.3)
    assert capsys.readouterr().err == "reading boston ...\n"
    monkeypatch.setattr(waiting, "PATIENCE", 10.0)
    with announced("reading boston"):
        pass
    assert capsys.readouterr().err == ""


def test_a_terminal_shows_it_at_once(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    with announced("reading boston"):
        pass
    assert "reading boston" in capsys.readouterr().err
