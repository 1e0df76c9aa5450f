"""Functions with the same bits everywhere: native code equals numpy, and both are accurate."""

from __future__ import annotations

from collections.abc import Callable
from unittest.mock import patch

import numpy as np
import pytest
import scoringrules
import torch
from scipy.special import ndtr

from bnnbench import portable_math
from bnnbench.cpp.library import Library, library

RANDOM = np.random.default_rng(0)
EDGES = [0.0, -0.0, np.nan, np.inf, -np.inf, 709.5, -708.5, 1e-300, 1.0, -1.0]
NUMBERS = np.concatenate([EDGES, 100 * RANDOM.normal(size=500), RANDOM.normal(size=500)])
MIXTURE = RANDOM.normal(size=(9, 7)), RANDOM.uniform(0.1, 2, (9, 7)), RANDOM.normal(size=7)
MATRIX = RANDOM.normal(size=(13, 40))
POSITIVE = MATRIX @ MATRIX.T

needs_library = pytest.mark.skipif(library().code is None, reason="no compiler")


@needs_library
@pytest.mark.parametrize(
    "compute",
    [
        lambda: portable_math.exp(NUMBERS),
        lambda: portable_math.log(np.abs(NUMBERS)),
        lambda: portable_math.mixture_crps(*MIXTURE),
        lambda: portable_math.matmul(MATRIX, MATRIX.T),
        lambda: portable_math.invert(POSITIVE),
        lambda: portable_math.softplus(torch.linspace(-90, 90, 101)).numpy(),
    ],
)
def test_native_code_and_numpy_give_the_same_bits(compute: Callable[[], np.ndarray]) -> None:
    native = compute()
    with patch.object(portable_math, "library", Library):
        reference = compute()
    for one, other in zip(native, reference, strict=True):
        np.testing.assert_array_equal(one, other)


def test_functions_are_accurate() -> None:
    finite = NUMBERS[np.abs(NUMBERS) < 700]
    np.testing.assert_allclose(portable_math.exp(finite), np.exp(finite), rtol=1e-15)
    positive = np.abs(NUMBERS[np.abs(NUMBERS) > 0])
    np.testing.assert_allclose(portable_math.log(positive), np.log(positive), rtol=1e-15)
    x = torch.linspace(-90, 90, 101)
    expected = torch.nn.functional.softplus(x.double(), threshold=200).float()
    torch.testing.assert_close(portable_math.softplus(x), expected, rtol=1e-6, atol=0)
    loc, variance, targets = MIXTURE
    expected = scoringrules.crps_mixnorm(targets, loc.T, variance.T**0.5)
    np.testing.assert_allclose(portable_math.mixture_crps(*MIXTURE), expected, rtol=1e-13)


def test_the_normal_distribution_function_is_accurate() -> None:
    x = np.concatenate([NUMBERS[np.isfinite(NUMBERS)], [38.0, -37.0]])
    np.testing.assert_allclose(portable_math.normal_cdf(x), ndtr(x), rtol=1e-12, atol=1e-308)


def test_a_matrix_is_inverted_or_refused() -> None:
    solution = portable_math.invert(POSITIVE)
    assert solution is not None
    inverse, diagonal = solution
    np.testing.assert_allclose(inverse @ POSITIVE, np.eye(13), atol=1e-10)
    np.testing.assert_allclose(2 * np.log(diagonal).sum(), np.linalg.slogdet(POSITIVE)[1])
    assert portable_math.invert(-POSITIVE) is None
