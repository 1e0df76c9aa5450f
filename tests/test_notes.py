"""The wording of intervals, and status messages: after a delay, or at once on a terminal."""

from __future__ import annotations

import re
import time

import pytest

from bnnbench import notes
from bnnbench.notes import status_message, with_interval


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
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    with status_message("reading boston"):
        pass
    assert "reading boston" in capsys.readouterr().err
