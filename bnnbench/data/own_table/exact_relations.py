"""Find the columns from which a target was computed: sums, products, ratios and powers."""

from __future__ import annotations

from collections.abc import Callable, Sequence

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
        enough = len(used) >= max(MIN_ROWS, MAX_GAPS * len(rows))
        if enough and len(chosen) and np.ptp(targets[used]) > 0:
            values, target = inputs[np.ix_(used, chosen)], targets[used]
            found = _fewest(values, target, [columns[k] for k in chosen.tolist()], in_logs)
            if found:
                return found
    return ()


def _fewest(
    values: np.ndarray, target: np.ndarray, columns: Sequence[str], in_logs: bool
) -> tuple[str, ...]:
    """Return columns that determine the target and of which none is superfluous, if there are any.

    The others are removed one by one.
    """
    terms, response = values, target
    if in_logs:
        terms, response = np.log(np.abs(values)), np.log(np.abs(target))
    terms = terms - terms.mean(0)
    terms = terms / np.maximum(terms.std(0), 1e-12 * np.abs(values).max(0) + 1e-300)
    related = np.abs((response - response.mean()) @ terms)
    most = sorted(np.argsort(-related)[: min(MAX_FEATURES, len(target) // 3)].tolist())
    error = _held_out_error(terms, response, target, in_logs)
    middle = float(np.subtract(*np.quantile(target, (0.75, 0.25)))) / 1.349
    # Values far outside the others must not make errors look small.
    spread = min(float(target.std()), middle or np.inf)
    by_rounding = min(MAX_ROUNDING * _last_digit(target), MAX_COARSENESS * spread)
    of_all, largest = error(most), max(MAX_ERROR * spread, by_rounding)
    if of_all > largest:
        return ()
    largest = min(largest, 2 * of_all + 1e-7 * spread)
    found = list(dict.fromkeys(columns[k] for k in most))
    for name in reversed(found):
        rest = [k for k in most if columns[k] in found and columns[k] != name]
        if rest and error(rest) <= largest:
            found.remove(name)
    return tuple(found)


def _held_out_error(
    terms: np.ndarray, response: np.ndarray, target: np.ndarray, in_logs: bool
) -> Callable[[Sequence[int]], float]:
    """Return the RMSE of the first third of the rows, of least squares with chosen terms.

    A fit of logarithms is weighted so that it minimises the error of the target.
    """
    held_out = len(target) // 3
    terms = np.column_stack([terms, np.ones(len(target))])
    weight = (target / np.abs(target).max() if in_logs else np.ones(len(target)))[held_out:]
    fitted = terms[held_out:] * weight[:, None]
    matrix, moments = fitted.T @ fitted, fitted.T @ (response[held_out:] * weight)
    matrix += 1e-12 * np.trace(matrix) / len(matrix) * np.eye(len(matrix))

    def error(chosen: Sequence[int]) -> float:
        kept = [*chosen, len(matrix) - 1]
        predicted = terms[:held_out, kept] @ np.linalg.solve(
            matrix[np.ix_(kept, kept)], moments[kept]
        )
        truth = target[:held_out]
        if in_logs:
            truth, predicted = np.abs(truth), np.exp(np.minimum(predicted, 700.0))
        return float(np.sqrt(np.mean((truth - predicted) ** 2)))

    return error


def _last_digit(values: np.ndarray) -> float:
    """Return the largest power of ten of which all values are multiples; 0 if there is none."""
    for digits in range(-6, 7):
        if np.allclose(values.round(digits), values, rtol=1e-12, atol=0):
            return float(10.0**-digits)
    return 0.0
