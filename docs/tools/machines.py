"""Sentences about the machines on which `make bench` measured stored figures."""

from __future__ import annotations

import pandas as pd


def measured_on(rows: pd.DataFrame) -> str:
    """Return processor, clock and load of each machine, and how many measurements have no record.

    Args:
        rows: of `speed.csv` or `peers.csv`; its columns `processor`, `clock` in MHz and `load` may
            be missing, in all rows or in some.
    """
    rows = rows.reindex(columns=["processor", "clock", "load"])
    known = rows.dropna(subset=["processor", "load"])
    sentences = [
        f"{len(own)} of {len(rows)} measurements were made on {processor}, clock "
        f"{_clock(own['clock'])}; just before, other programs used "
        f"{_span(own['load'], 1)} CPUs."
        for processor, own in known.groupby("processor", sort=False)
    ]
    if missing := len(rows) - len(known):
        sentences.append(
            f"Processor, clock and load were not recorded for {missing} of {len(rows)} "
            "measurements."
        )
    return " ".join(sentences)


def _clock(values: pd.Series) -> str:
    """Return `2.60 GHz`, or `unknown` if a system did not say it."""
    return "unknown" if values.isna().any() else f"{_span(values / 1000, 2)} GHz"


def _span(values: pd.Series, decimals: int) -> str:
    """Return `2.60` or `2.60 to 3.10`."""
    low, high = (f"{value:.{decimals}f}" for value in (values.min(), values.max()))
    return low if low == high else f"{low} to {high}"
