"""One table in the formats of different programs and countries, as a hypothesis strategy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta

import numpy as np
from hypothesis import strategies as st

EPOCH = date(1970, 1, 1)

CODES = ("1", "10", "B", "C", "Jörg")

GAPS = ("", "NA", "nan", "NULL")


@dataclass(frozen=True)
class Rows:
    """The content of a table.

    Attributes:
        decimals: of numbers and targets.
        numbers: `[N]`, NaN for gaps.
        counts: `[N]`, integers of up to seven digits.
        days: `[N]`, days since 1970.
        codes: `[N]`, one of `CODES` each.
        groups: `[N]`, names of groups.
        targets: `[N]`.
    """

    decimals: int
    numbers: np.ndarray
    counts: np.ndarray
    days: np.ndarray
    codes: Sequence[str]
    groups: Sequence[str]
    targets: np.ndarray

    @property
    def inputs(self) -> np.ndarray:
        """`[N, 8]`: numbers, counts, days, and the codes as zeros and ones, in sorted order."""
        codes = [[code == one for one in sorted(CODES)] for code in self.codes]
        return np.column_stack([self.numbers, self.counts, self.days, codes]).astype(float)


@dataclass(frozen=True)
class Style:
    """How a program writes a table."""

    separator: str = ","
    decimal: str = "."
    thousands: str = ""
    dates: str = "%Y-%m-%d"
    gap: str = ""
    padding: str = ""
    quoted: bool = False
    encoding: str = "utf-8"
    end: str = "\n"

    def write(self, rows: Rows) -> bytes:
        """Return the bytes of the file."""
        head = ["x", "n", "day", "code", "group", "y"]
        lines = [head, *self._cells(rows)]
        text = self.end.join(self.separator.join(map(self._quote, line)) for line in lines)
        return f"{text}{self.end}".encode(self.encoding)

    def _cells(self, rows: Rows) -> list[list[str]]:
        columns = zip(
            rows.numbers, rows.counts, rows.days, rows.codes, rows.groups, rows.targets, strict=True
        )
        return [
            [
                self.number(x, rows.decimals),
                self.number(n, 0),
                self.day(day),
                f"{code}{self.padding}",
                f"{self.padding}{group}",
                self.number(y, rows.decimals),
            ]
            for x, n, day, code, group, y in columns
        ]

    def number(self, value: float, decimals: int) -> str:
        """Write a number, or a gap."""
        if np.isnan(value):
            return self.gap
        plain = f"{value:,.{decimals}f}"
        return plain.translate({ord(","): self.thousands, ord("."): self.decimal})

    def day(self, days: int) -> str:
        """Write a date; `strftime` does not pad years."""
        day = EPOCH + timedelta(days=int(days))
        text = self.dates.replace("%Y", f"{day.year:04}")
        return text.replace("%m", f"{day.month:02}").replace("%d", f"{day.day:02}")

    def _quote(self, cell: str) -> str:
        return f'"{cell}"' if self.quoted or self.separator in cell else cell


@st.composite
def contents(draw: st.DrawFn, count: int = 40) -> Rows:
    """A table with all codes and six groups."""
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    decimals = draw(st.sampled_from([0, 1, 3]))
    numbers = rounded(rng.normal(0, 10 ** draw(st.integers(-1, 4)), count), decimals)
    numbers[rng.random(count) < draw(st.sampled_from([0, 0, 0.2]))] = np.nan
    centre = draw(st.sampled_from([0, 19000, 0, -200_000, 700_000]))
    days = centre + rng.permutation(4 * count)[:count]
    if draw(st.booleans()):
        days[:2] = (date.max - EPOCH).days, (date.min - EPOCH).days
    codes = [CODES[i % len(CODES)] for i in range(count)]
    groups = [f"p{i % 6}" for i in range(count)]
    counts = rng.integers(0, 10 ** draw(st.integers(2, 7)), count)
    targets = rounded(rng.normal(0, 99, count), decimals)
    return Rows(decimals, numbers, counts, days, codes, groups, targets)


def rounded(values: np.ndarray, decimals: int) -> np.ndarray:
    """Round as formatting does."""
    return np.array([float(f"{value:.{decimals}f}") for value in values])


@st.composite
def styles(draw: st.DrawFn) -> Style:
    """An English or a continental style."""
    english = draw(st.booleans())
    return Style(
        separator=draw(st.sampled_from([*("\t|"), *("," if english else ";")])),
        decimal="." if english else ",",
        thousands=draw(st.sampled_from(["", "," if english else "."])),
        dates=draw(st.sampled_from(["%Y-%m-%d", "%Y-%m-%d 00:00:00", "%d.%m.%Y"])),
        gap=draw(st.sampled_from(GAPS)),
        padding=draw(st.sampled_from(["", "", " ", "  "])),
        quoted=draw(st.booleans()),
        encoding=draw(st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "cp1252"])),
        end=draw(st.sampled_from(["\n", "\r\n"])),
    )
