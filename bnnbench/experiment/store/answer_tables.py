"""The tables of experiments with known answers, as a unit saves them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from math import nan
from typing import Any

import numpy as np
import pandas as pd

from bnnbench.experiment.store.unit_store import Rows

ANSWERS = "answers"
"""Table of a run: one row per number."""

SCORES, CURVES = "scores", "curves"
"""Tables with a row per setting and repetition, and with a row for each evaluation too."""


@dataclass(frozen=True)
class Answer:
    """One number computed by a run, in the unit of its quantity.

    Attributes:
        quantity: what was computed.
        approximation: the algorithm.
        value: the number.
        setting: the algorithm's setting, if it was run with several.
        standard_error: standard error of `value`, if it is a mean over random repetitions.
        exact: the true value, if known.
        published: the source's own value, if it prints one.
    """

    quantity: str
    approximation: str
    value: float
    setting: str = ""
    standard_error: float = nan
    exact: float = nan
    published: float = nan

    def row(self) -> dict[str, Any]:
        """Return the cells by column, for `UnitStore.save`."""
        return asdict(self)


def mean_answer(
    quantity: str, approximation: str, values: pd.Series, setting: str, published: float
) -> Answer:
    """Return the mean of a quantity over repetitions, with its standard error."""
    error = float(values.std(ddof=1) / math.sqrt(len(values)))
    mean = float(values.mean())
    return Answer(quantity, approximation, mean, setting, error, published=published)


def repetition_tables(
    unit: str, answers: Iterable[Answer], scores: Rows, curves: Sequence[Rows]
) -> dict[str, Rows]:
    """Return the tables of a unit.

    Args:
        unit: its name.
        answers: means over its repetitions.
        scores: of each repetition.
        curves: the evaluations of each repetition.
    """
    keys = [{"unit": unit, "repetition": k} for k in range(len(scores))]
    return {
        ANSWERS: [answer.row() for answer in answers],
        SCORES: [{**key, **row} for key, row in zip(keys, scores, strict=True)],
        CURVES: [{**k, **row} for k, curve in zip(keys, curves, strict=True) for row in curve],
    }


TEXT_COLUMNS = ("quantity", "approximation", "setting")

COLUMNS = (
    *TEXT_COLUMNS,
    *(field.name for field in fields(Answer) if field.name not in TEXT_COLUMNS),
)
"""The columns of `answers.csv`, in order."""


@dataclass(frozen=True)
class Sample:
    """Mean and spread of a score over repetitions.

    Attributes:
        mean: mean over repetitions.
        std: standard deviation over repetitions with divisor `size`; NaN for a single repetition.
        size: number of repetitions.
    """

    mean: float = nan
    std: float = nan
    size: int = 0

    @classmethod
    def of(cls, values: np.ndarray) -> Sample:
        """Return mean and spread of `[R]` values."""
        std = float(values.std()) if len(values) > 1 else nan
        return cls(float(values.mean()), std, len(values))

    @property
    def stderr(self) -> float:
        """Standard error of the mean, from the unbiased variance; NaN for a single repetition."""
        return self.std / math.sqrt(self.size - 1) if self.size > 1 else nan

    @property
    def with_std(self) -> str:
        """Mean, standard deviation if there is one, and size in words."""
        std = "" if math.isnan(self.std) else f"sd {self.std:.4f}, "
        return f"{self.mean:.4f} ({std}n {self.size})"

    def __str__(self) -> str:
        error = f" ± {self.stderr:.1g}" if self.size > 1 else ""
        return f"{self.mean:+.3g}{error}"
