"""Patches that make tests fast: no figures, no waiting for the disk."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import pytest


@contextmanager
def no_figures() -> Iterator[None]:
    """Do not draw the figures of runs, which take most of the time of a tiny run."""
    with patch("bnnbench.report.run_output.save_figures", lambda *_: {}):
        yield


@contextmanager
def no_report_figures() -> Iterator[None]:
    """Do not draw the figures of reports."""

    def nothing(drawings: Iterable[str], *_: Any) -> dict[str, str]:
        return dict.fromkeys(drawings, "<svg/>")

    with patch("bnnbench.report.report_writer.save_and_inline", nothing):
        yield


@contextmanager
def no_reference_fit() -> Iterator[None]:
    """Do not measure the speed of the machine in every unit."""
    with patch("bnnbench.experiment.splits.split_experiment.reference_seconds", lambda: 0.02):
        yield


@contextmanager
def without_fsync() -> Iterator[None]:
    """Do not force files to disk, which takes longer than a tiny run."""
    with patch("os.fsync", lambda file: None):
        yield


def slow_except(values: Iterable[Any], *quick: object) -> list[Any]:
    """Mark values of a parameter as slow tests, except `quick`, the first elements of tuples."""
    given = [value if isinstance(value, tuple) else (value,) for value in values]
    return [
        pytest.param(*value, marks=() if value[0] in quick else pytest.mark.slow) for value in given
    ]
