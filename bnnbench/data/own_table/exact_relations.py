"""Find the columns from which a target was computed: sums, products, ratios and powers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

MAX_ROWS, MAX_FEATURES = 5000, 100
"""Rows, and features most correlated with the target, that are used."""

MIN_ROWS = 30
"""A third of the rows is predicted but not fitted."""

MAX_GAPS = 0.5
"""Fraction of missing values, and of targets that are zero and have no logarithm."""

MAX_ERROR = 10**-2.5
"""Error of an exact relation, in units of the target's spread, for 0.99999 of the variance."""

MAX_ROUNDING, MAX_COARSENESS = 0.4, 0.1
"""Error of a relation whose result was rounded: in units of the last digit, where rounding alone
causes 0.29, and in units of the spread, above which it hides whether the relation is exact."""

MIN_ERRORS, MIN_EFFECT = 4.0, 1e-3
"""Coefficient of a column that takes part: in standard errors, and in units of the spread."""


def determining_columns(
    inputs: np.ndarray, targets: np.ndarray, columns: Sequence[str]
) -> tuple[str, ...]:
    """Return the columns of which the target is a sum or a product of powers, or no columns.

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
        if len(chosen) and len(used) >= max(MIN_ROWS, MAX_GAPS * len(rows)):
            found = chosen[_taking_part(inputs[np.ix_(used, chosen)], targets[used], in_logs)]
            if len(found):
                return tuple(dict.fromkeys(columns[k] for k in found.tolist()))
    return ()


def _taking_part(values: np.ndarray, target: np.ndarray, in_logs: bool) -> np.ndarray:
    """Return the indices of the features that take part in an exact relation, if there is one.

    Coefficients are fitted to two thirds of the rows by least squares, with weights by which a fit
    of logarithms minimises the error of the target.
    """
    weight, terms, response = np.ones(len(target)), values, target
    if in_logs:
        weight, terms, response = np.abs(target), np.log(np.abs(values)), np.log(np.abs(target))
    terms = terms - terms.mean(0)
    scale = terms.std(0)
    terms = terms / np.where(scale > 1e-12 * np.abs(values).max(0), scale, np.inf)
    related = np.abs((response - response.mean()) @ terms)
    most = np.argsort(-related, kind="stable")[: min(MAX_FEATURES, len(target) // 3)]
    terms, held_out = np.column_stack([terms[:, most], np.ones(len(target))]), len(target) // 3
    weighted = terms[held_out:] * weight[held_out:, None]
    inverse = np.linalg.pinv(weighted.T @ weighted, rcond=1e-12, hermitian=True)
    found = inverse @ (weighted.T @ (weight * response)[held_out:])
    truth, predicted = target[:held_out], terms[:held_out] @ found
    if in_logs:
        truth, predicted = np.abs(truth), np.exp(np.minimum(predicted, 700.0))
    error = np.sqrt(np.mean((truth - predicted) ** 2))
    # Values far outside the others must not make errors look small.
    middle = np.subtract(*np.quantile(target, (0.75, 0.25))) / 1.349
    spread = min(target.std(), middle or np.inf)
    by_rounding = min(MAX_ROUNDING * _last_digit(target), MAX_COARSENESS * spread)
    if not spread > 0 or error > max(MAX_ERROR * spread, by_rounding):
        return np.array([], int)
    least = MIN_ERRORS * error * np.sqrt(np.diag(inverse))
    least += MIN_EFFECT * spread / np.sqrt(np.mean(weight**2))
    return np.sort(most[np.abs(found[:-1]) > least[:-1]])


def _last_digit(values: np.ndarray) -> float:
    """Return the largest power of ten of which all values are multiples; 0 if there is none."""
    for digits in range(-6, 7):
        if np.allclose(values.round(digits), values, rtol=1e-12, atol=0):
            return float(10.0**-digits)
    return 0.0
