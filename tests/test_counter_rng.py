"""Counter-based random numbers: known values, distributions and independence."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy import stats

from bnnbench import random_streams
from bnnbench.cpp.library import Library, library
from bnnbench.random_streams import PARALLEL, counters_used, draw, philox_words

KEYS = (0, 1, 2**62 + 12345, 2**64 - 1)
PLACES = (0, PARALLEL * 7, 2**32 - PARALLEL, 2**40)


def test_known_words() -> None:
    """Compare with the known answers of Random123 1.14 (`kat_vectors`) for philox4x32-10."""
    assert [hex(w) for w in philox_words(0, np.zeros(1, np.uint64))[:, 0]] == [
        "0x6627e8d5", "0xe169c58d", "0xbc57ac4c", "0x9b00dbd8",
    ]  # fmt: skip


@pytest.mark.parametrize("normal", [False, True])
@pytest.mark.parametrize("count", [1, 63, 64, 1000])
def test_native_code_and_numpy_agree(
    monkeypatch: pytest.MonkeyPatch, normal: bool, count: int
) -> None:
    if library().code is None:
        pytest.skip(library().reason)
    cases = [(key, place) for key in KEYS for place in PLACES]
    native = [draw(*case, count, normal) for case in cases]
    monkeypatch.setattr(random_streams, "library", lambda: replace(Library(), reason="a test"))
    for case, made in zip(cases, native, strict=True):
        expected = draw(*case, count, normal)
        assert made.dtype == expected.dtype == torch.float32
        torch.testing.assert_close(made, expected, rtol=1e-5 if normal else 0, atol=1e-6 * normal)


@pytest.mark.slow
@pytest.mark.parametrize(("normal", "law"), [(False, stats.uniform), (True, stats.norm)])
def test_the_distribution(normal: bool, law: stats.rv_continuous) -> None:
    """Apply a Kolmogorov-Smirnov test to a million numbers, and test moments at 5 std errors."""
    made = draw(20, 0, 10**6, normal).double().numpy()
    assert stats.kstest(made, law.cdf).pvalue > 0.001
    centred = made - law.mean()
    for power in (1, 2, 3, 4):
        expected, spread = (
            law.expect(lambda x, p=p: (x - law.mean()) ** p) for p in (power, 2 * power)
        )
        error = np.sqrt((spread - expected**2) / len(made))
        assert abs((centred**power).mean() - expected) < 5 * error, power


def test_the_tails_are_correct() -> None:
    made = draw(5, 0, 4_000_000, True).double().numpy()
    for at in (3.0, 4.0):
        for beyond in ((made > at).sum(), (made < -at).sum()):
            expected = len(made) * stats.norm.sf(at)
            assert abs(beyond - expected) < 5 * np.sqrt(expected)
    assert made.min() < -4.7 and made.max() > 4.7


def test_uniform_numbers_are_never_one() -> None:
    made = draw(9, 0, 4_000_000, False)
    assert 0 <= made.min() < 1e-5 and 1 - 1e-5 < made.max() < 1


def test_neighbouring_numbers_and_streams_are_uncorrelated() -> None:
    """Streams of neighbouring keys, consecutive draws, and numbers within a draw.

    None of 400 correlations of 20,000 numbers exceeds 5 standard errors.
    """
    count = 20_000
    streams = [
        draw(key, counters_used(count) * turn, count, True) for key in range(10) for turn in (0, 1)
    ]
    made = torch.stack(streams).double()
    lags = [
        made[:, lag : count - 128 + lag] for lag in (0, 1, 2, 4, PARALLEL, 2 * PARALLEL, 64, 128)
    ]
    for one in lags:
        table = torch.corrcoef(torch.cat([lags[0], one]))[: len(made), len(made) :]
        if one is lags[0]:
            table = table - torch.eye(len(made))
        assert table.abs().max() < 5 / np.sqrt(count - 128)
