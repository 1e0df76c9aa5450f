"""Find the columns from which a target was computed: sums, products, ratios and powers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

MAX_ROWS, MAX_TERMS = 5000, 60
"""Rows that are used, and features of a relation."""

MIN_ROWS = 30
"""A third of the rows is predicted but not fitted."""

MIN_COMPLETE = 0.2
"""Fraction of the rows without missing values; the features with most of them are left out."""

MAX_ZEROS = 0.5
"""Fraction of targets that are zero and have no logarithm."""

FIT_ERROR = 0.75
"""Error in the fitted rows at which no more features are added, in units of the largest error."""

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
    """Return the columns whose sum, or product of powers, is the target; empty if there are none.

    Args:
        inputs: `[N, D]`, NaN where there is no value.
        targets: `[N]`.
        columns: the file's column of each feature.
    """
    gaps = np.isnan(inputs)
    fullest = np.argsort(gaps.sum(0), kind="stable")
    complete = ~np.logical_or.accumulate(gaps[:, fullest], axis=1)
    features = np.sort(fullest[complete.sum(0) >= max(MIN_ROWS, MIN_COMPLETE * len(targets))])
    rows = np.flatnonzero(~gaps[:, features].any(1))
    rows = np.random.RandomState(0).permutation(rows)[:MAX_ROWS]
    nonzero = rows[targets[rows] != 0]
    factors = features[(inputs[np.ix_(nonzero, features)] != 0).all(0)]
    for used, chosen, in_logs in ((rows, features, False), (nonzero, factors, True)):
        if len(chosen) and len(used) >= max(MIN_ROWS, MAX_ZEROS * len(rows)):
            found = chosen[_taking_part(inputs[np.ix_(used, chosen)], targets[used], in_logs)]
            if in_logs and len(found):
                zero = inputs[rows[targets[rows] == 0]] == 0
                other = zero[~zero[:, found].any(1)]  # rows where another factor may be zero
                found = np.union1d(found, factors[other[:, factors].all(0)] if len(other) else [])
            if len(found):
                return tuple(dict.fromkeys(columns[k] for k in found.astype(int).tolist()))
    return ()


def _taking_part(values: np.ndarray, target: np.ndarray, in_logs: bool) -> np.ndarray:
    """Return the indices of the features that take part in an exact relation, if there is one.

    Features are added to a least-squares fit of two thirds of the rows until it is exact. The
    weights of a fit of logarithms minimise the error of the target.
    """
    weight, terms, response = np.ones(len(target)), values, target
    if in_logs:
        weight, terms, response = np.abs(target), np.log(np.abs(values)), np.log(np.abs(target))
    held_out = len(target) // 3
    truth, weights = (weight if in_logs else target)[:held_out], weight[held_out:]
    # Values far outside the others must not make errors look small.
    middle = np.subtract(*np.quantile(target, (0.75, 0.25))) / 1.349
    spread = min(truth.std(), middle or np.inf)
    by_rounding = min(MAX_ROUNDING * _last_digit(target), MAX_COARSENESS * spread)
    limit = max(MAX_ERROR * spread, by_rounding)
    varies = np.ptp(terms[held_out:], axis=0) > 1e-12 * np.abs(terms).max(0)
    terms = terms - np.average(terms[held_out:], 0, weights**2)
    constant = np.average(response[held_out:], None, weights**2)
    weighted = terms[held_out:] * weights[:, None]
    size = np.where(varies, np.sqrt((weighted**2).sum(0)), np.inf)
    rest = fitted = weights * (response[held_out:] - constant)
    chosen, found = list[int](), np.empty(0)
    while np.sqrt(np.mean(rest**2)) > FIT_ERROR * limit and len(chosen) < MAX_TERMS:
        chosen.append(int(np.argmax(np.abs(rest @ weighted) / size)))
        some = weighted[:, chosen] / size[chosen]
        inverse = np.linalg.pinv(some.T @ some, rcond=1e-12, hermitian=True)
        found = inverse @ (some.T @ fitted)
        rest = fitted - some @ found
    predicted = terms[:held_out, chosen] @ (found / size[chosen]) + constant
    if in_logs:
        predicted = np.exp(np.minimum(predicted, 700.0))
    error = np.sqrt(np.mean((truth - predicted) ** 2))
    if not chosen or not spread > 0 or error > limit:
        return np.array([], int)
    least = MIN_ERRORS * error * np.sqrt(np.diag(inverse))
    least += MIN_EFFECT * spread * np.sqrt(len(fitted))
    return np.unique(np.array(chosen)[np.abs(found) > least])


def _last_digit(values: np.ndarray) -> float:
    """Return the largest power of ten that divides all values; 0 if there is none."""
    for digits in range(-6, 7):
        if np.allclose(values.round(digits), values, rtol=1e-12, atol=0):
            return float(10.0**-digits)
    return 0.0
