"""The wording of intervals, folding, and status messages on terminals and elsewhere."""

from __future__ import annotations

import re
import sys
import time

import pytest
from support.terminal import use_terminal

from bnnbench import notes
from bnnbench.cli.console import PIPE_WIDTH, stdout
from bnnbench.notes import fold, shows_progress, status_message, with_interval


@pytest.mark.parametrize(
    ("value", "low", "high", "expected"),
    [
        (0.12, 0.02, 0.22, "+0.12 [0.02, 0.22]"),
        (-3.0, -5.0, -1.0, "-3.0 [-5.0, -1.0]"),
        (30.0, 0.4, 59.6, "+30.0 [0.4, 59.6]"),
        (20.5, 0.5, 40.5, "+20.5 [0.5, 40.5]"),
        (0.1, 0.0004, 0.1996, "+0.1000 [0.0004, 0.1996]"),
        (0.1, 0.0, 0.2, "+0.10 [0.00, 0.20]"),
        (1.5, 1.5, 1.5, "+1.5"),
        (0.0, 0.0, 0.0, "+0"),
    ],
)
def test_an_interval_has_two_digits_of_half_its_width(
    value: float, low: float, high: float, expected: str
) -> None:
    assert with_interval(value, low, high) == expected


@pytest.mark.parametrize("end", [0.5, 0.05, 5e-3, 5e-7, 4.9e-5, 1e-3, 3e-12, 0.0, -0.0, 7.0])
@pytest.mark.parametrize("width", [1e-3, 0.3, 40.0])
@pytest.mark.parametrize("sign", [1, -1])
def test_a_printed_interval_contains_zero_only_if_the_interval_does(
    end: float, width: float, sign: int
) -> None:
    for low, high in ((end, end + width), (-end, width - end)):
        low, high = sorted((sign * low, sign * high))
        text = with_interval((low + high) / 2, low, high)
        printed = [float(number) for number in re.findall(r"[\[ ](-?[\d.]+)[,\]]", text)]
        assert len(printed) == 2
        assert (printed[0] <= 0 <= printed[1]) == (low <= 0 <= high), text


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
    use_terminal(monkeypatch, 80)
    monkeypatch.setenv("TERM", "xterm")
    with status_message("reading boston"):
        pass
    assert "reading boston" in capsys.readouterr().err


def test_folding_counts_the_columns_that_characters_take() -> None:
    assert fold("数据 数据 数据", 9) == "数据 数据\n数据"


def test_folding_keeps_names_and_short_commands_whole() -> None:
    assert fold("see `a b c`, d", 10, 2) == "see\n  `a b c`,\n  d"
    assert fold("see `a b c d`", 6, 2) == "see `a\n  b c\n  d`"
    assert fold("  name  text and_a_name_without_room", 20, 8) == (
        "  name  text\n    and_a_name_without_room"
    )
    assert fold("a b", None) == "a b"


@pytest.mark.parametrize("term", ["dumb", "xterm"])
def test_a_terminal_has_the_width_of_its_environment(
    term: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_terminal(monkeypatch, 33)
    monkeypatch.setenv("TERM", term)
    assert stdout().width == 33 and shows_progress(sys.stderr) == (term == "xterm")
    monkeypatch.setenv("FORCE_COLOR", "1")
    for stream in ("stdout", "stderr"):
        monkeypatch.setattr(f"sys.{stream}.isatty", lambda: False)
    assert stdout().width == PIPE_WIDTH and not shows_progress(sys.stderr)
