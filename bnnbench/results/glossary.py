"""What every printed number is, once: `glossary.toml`, for pages, reports and lists."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from fnmatch import fnmatchcase
from importlib.resources import files
from typing import Any

NOTATION = (
    "A split has N test points; a network predicts each by S weight samples. `μ_sn` and `v_sn` are "
    "the mean and the variance of the Gaussian that sample s predicts for point n, `ŷ_n` is the "
    "mean of the S means, and `y_n` the target."
)
"""Of the formulas."""


@dataclass(frozen=True)
class Term:
    """One entry of the glossary, in plain text; names of columns and commands stand in backticks.

    Attributes:
        key: of the metric or the quantity.
        name: its heading.
        text: what it is; the first sentence stands alone where there is room for one.
        formula: its definition, empty where words say it all.
        computed: how it is computed here: what a sum or a mean runs over, and by which divisor.
        where: it appears.
        source: who defined it.
        columns: of tables that hold it, `*` standing for any letters: `coverage_*`.
        see: keys of terms that it rests on, or is mistaken for.
    """

    key: str
    name: str
    text: str
    formula: str
    computed: str
    where: str
    source: str
    columns: tuple[str, ...] = ()
    see: tuple[str, ...] = ()

    @property
    def anchor(self) -> str:
        """Of its heading on a page, as GitHub and MkDocs make it."""
        return re.sub(r"[^\w\s-]", "", self.name.lower()).strip().replace(" ", "-")

    @property
    def summary(self) -> str:
        """The first sentence, without its full stop."""
        return self.text.partition(". ")[0].removesuffix(".")

    def holds(self, column: str) -> bool:
        """Whether a table's column is this."""
        return any(fnmatchcase(column, own) for own in self.columns)


def _read() -> tuple[Term, ...]:
    text = files("bnnbench.results").joinpath("glossary.toml").read_text(encoding="utf-8")
    return tuple(
        Term(**{name: _flat(v) for name, v in row.items()}) for row in tomllib.loads(text)["term"]
    )


def _flat(value: str | list[str]) -> Any:
    """A text on one line, or several."""
    return " ".join(value.split()) if isinstance(value, str) else tuple(value)


TERMS: tuple[Term, ...] = _read()
"""In the order in which they are read best: scores, predictions, intervals, comparisons."""

BY_KEY = {term.key: term for term in TERMS}


def term_of(column: str) -> Term | None:
    """The entry of a table's column; a mean over splits is what it is the mean of."""
    name = column.removesuffix("_mean").removeprefix("train_")
    return next((term for term in TERMS if term.holds(name)), None)
