"""Find the columns from which a target was computed: sums, products, ratios and powers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

MAX_ROWS, MAX_FEATURES = 5000, 150
"""Rows, and features most correlated with the target, that are used."""

MAX_GAPS = 0.5
"""Fraction of missing values, and of targets that are zero and have no logarithm."""

MIN_HELD_OUT = 10
"""Rows that are predicted but not fitted: a fit of as many features as rows is always exact."""

MAX_ERROR, FLOAT_ERROR = 10**-2.5, 1e-9
"""Error of an exact relation, in units of the target's spread, for 0.99999 of the variance, and of
one that has no other error than that of float64."""

ROUNDING_MARGIN, MAX_ROUNDING = 1.25, 0.1
"""Error of an exact relation in units of the error due to rounding, which varies by chance; and
this error, in units of the spread, above which it hides whether the relation is exact."""

UNITS = 10.0 ** np.arange(6, -7, -1)
"""Units to which numbers may have been rounded."""

SIZES = (1, 2, 3, 4, 6, 8, 12, 16, 24)
"""Numbers of columns that are tried; superfluous ones are removed later."""


def determining_columns(
    inputs: np.ndarray, targets: np.ndarray, columns: Sequence[str]
) -> tuple[str, ...]:
    """Return the columns of which the target is a sum or a product of powers, or no columns.

    Factors, powers and a constant are fitted by least squares to two thirds of the rows. The other
    rows show whether the relation is exact up to rounding.

    Args:
        inputs: `[N, D]`, NaN where there is no value.
        targets: `[N]`.
        columns: the file's column of each feature.
    """
    gaps = np.isnan(inputs)
    features = np.flatnonzero(gaps.mean(0) < MAX_GAPS)
    rows = np.flatnonzero(~gaps[:, features].any(1))
    rows = np.random.RandomState(0).permutation(rows)[:MAX_ROWS]
    nonzero = rows[targets[rows] != 0]
    factors = features[(inputs[np.ix_(nonzero, features)] != 0).all(0)]
    for used, chosen, in_logs in ((rows, features, False), (nonzero, factors, True)):
        enough = len(used) >= max(3 * MIN_HELD_OUT, MAX_GAPS * len(rows))
        if not enough or not len(chosen) or np.ptp(targets[used]) == 0:
            continue
        names = [columns[k] for k in chosen.tolist()]
        found = _Relation(inputs[np.ix_(used, chosen)], targets[used], names, in_logs).smallest()
        if found:
            return tuple(name for name in dict.fromkeys(columns) if name in found)
    return ()


@dataclass(frozen=True)
class _Relation:
    """A sum or a product of powers, fitted to the last two thirds of the rows.

    Attributes:
        values: `[N, D]` of the features.
        target: `[N]`.
        columns: the file's column of each feature.
        in_logs: whether logarithms of sizes are fitted; then no number is zero.
    """

    values: np.ndarray
    target: np.ndarray
    columns: Sequence[str]
    in_logs: bool

    @cached_property
    def spread(self) -> float:
        """The standard deviation, or that of the middle half of a normal distribution if smaller.

        So a few values far outside the others do not make errors look small.
        """
        middle = float(np.subtract(*np.quantile(self.target, (0.75, 0.25)))) / 1.349
        return min(float(self.target.std()), middle or np.inf)

    @cached_property
    def unit(self) -> float:
        return _rounding_unit(self.target)

    @cached_property
    def standardised(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, float]:
        """Terms `[N, D]`, their scale, weights and targets of the fitted rows, and their level."""
        terms, response, fitted = self.values, self.target, slice(len(self.target) // 3, None)
        weight = np.ones(len(response))
        if self.in_logs:  # the squared error of the target, not that of its logarithm
            weight = (self.target / np.abs(self.target).max()) ** 2
            terms, response = np.log(np.abs(terms)), np.log(np.abs(response))
        weight, response = weight[fitted] / weight[fitted].sum(), response[fitted]
        terms = terms - weight @ terms[fitted]
        scale = terms[fitted].std(0)
        scale = np.where(scale > 0, scale, 1.0)
        return terms / scale, scale, weight, response - weight @ response, float(weight @ response)

    def coefficients(self, chosen: Sequence[int]) -> np.ndarray:
        """Return the coefficients of standardised features; those of equal ones are equal."""
        terms, _, weight, response, _ = self.standardised
        left = terms[-len(weight) :, chosen]
        matrix = (left.T * weight) @ left
        ridge = 1e-12 * max(np.trace(matrix) / len(matrix), 1e-30) * np.eye(len(matrix))
        return np.linalg.solve(matrix + ridge, left.T @ (weight * response))

    def errors(self, chosen: Sequence[int]) -> tuple[float, float]:
        """Return the standard deviation of held-out errors, and that which rounding explains.

        Rounding explains nothing if an error is larger than half a unit.
        """
        terms, scale, *_, level = self.standardised
        found, held_out = self.coefficients(chosen), len(self.target) // 3
        values, truth = self.values[:held_out, chosen], self.target[:held_out]
        predicted = terms[:held_out, chosen] @ found + level
        slopes = np.broadcast_to(found / scale[chosen], values.shape)
        if self.in_logs:
            truth, predicted = np.abs(truth), np.exp(np.minimum(predicted, 700.0))
            slopes = slopes * predicted[:, None] / values
        # Integers are counts, and inputs are not rounded more than the target.
        units = [_rounding_unit(self.values[:, k]) % 1 if self.unit else 0.0 for k in chosen]
        passed_on = np.minimum(np.abs(slopes) * np.array(units), self.unit)
        fitted = len(self.target) - held_out
        inflation = fitted / (fitted - len(chosen) - 1)  # by the errors of the coefficients
        rounding = np.sqrt((self.unit**2 + (passed_on**2).sum(1).mean()) * inflation / 12)
        bound = (self.unit + passed_on.sum(1)) / 2 * (1 + 3 * np.sqrt(inflation - 1))
        error = truth - predicted
        is_rounding = np.all(np.abs(error) <= bound)
        return float(np.sqrt(np.mean(error**2))), float(rounding) * bool(is_rounding)

    def is_exact(self, chosen: Sequence[int], max_error: float) -> bool:
        """Whether held-out errors are at most this large, or explained by rounding."""
        error, rounding = self.errors(chosen)
        by_rounding = ROUNDING_MARGIN * (1 + (len(self.target) // 3) ** -0.5) * rounding
        return error <= max(max_error, min(by_rounding, MAX_ROUNDING * self.spread))

    def suffice(self, columns: Iterable[str], max_error: float) -> bool:
        chosen = [k for k, name in enumerate(self.columns) if name in [*columns]]
        return bool(chosen) and self.is_exact(chosen, max_error)

    def smallest(self) -> list[str]:
        """Return few columns that determine the target as well as all of them do, if these do."""
        terms, _, weight, response, _ = self.standardised
        related = np.abs((weight * response) @ terms[-len(weight) :])
        most = min(MAX_FEATURES, len(weight) // 2)
        every = np.sort(np.argsort(-related, kind="stable")[:most]).tolist()
        if not self.is_exact(every, MAX_ERROR * self.spread):
            return []
        largest = 2 * self.errors(every)[0] + FLOAT_ERROR * self.spread
        largest = min(largest, MAX_ERROR * self.spread)
        sizes: dict[str, float] = {}
        for k, coefficient in zip(every, self.coefficients(every), strict=True):
            sizes[self.columns[k]] = sizes.get(self.columns[k], 0.0) + coefficient**2
        ordered = sorted(sizes, key=lambda name: -sizes[name])
        subsets = (ordered[:size] for size in SIZES)
        found = next((names for names in subsets if self.suffice(names, largest)), [])
        for name in reversed(found):
            rest = [other for other in found if other != name]
            found = rest if self.suffice(rest, largest) else found
        return found


def _rounding_unit(values: np.ndarray) -> float:
    """Return the largest power of ten of which all values are multiples; 0 if there is none."""

    def are_multiples(numbers: np.ndarray, unit: float) -> bool:
        count = numbers / unit
        return bool(np.all(np.abs(count - np.round(count)) <= 1e-7 + 1e-15 * np.abs(count)))

    if np.abs(values).max() > 1e14 * UNITS[-1]:
        return 0.0
    units = (u for u in UNITS if are_multiples(values[:50], u) and are_multiples(values, u))
    return float(next(units, 0.0))
