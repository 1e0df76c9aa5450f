"""Effective sample size of a single Markov chain."""

from __future__ import annotations

import torch
from torch import Tensor


def effective_sample_size(series: Tensor) -> Tensor:
    """Return the effective sample size of K samples of a chain.

    K divided by the integrated autocorrelation time `1 + 2 (rho_1 + rho_2 + ...)`. The sum ends
    before the first pair of neighbouring lags whose autocorrelations add up to zero or less: the
    initial positive sequence of Geyer, "Practical Markov Chain Monte Carlo", Statistical Science
    1992, section 3.3. The result is capped at K, also for chains that alternate around their mean.

    Args:
        series: `[K, ...]`, one number per sample, in the order of the chain.

    Returns:
        `[...]`, at most K; NaN for a series that never moves, which has no autocorrelation.
    """
    length = len(series)
    centred = (series - series.mean(0)).double()
    # Zero padding avoids circular correlation.
    spectrum = torch.fft.rfft(centred, 2 * length, dim=0)
    covariance = torch.fft.irfft(spectrum.abs().square(), 2 * length, dim=0)[:length]
    variance = covariance[0]
    even, odd = covariance[0::2], covariance[1::2]
    pairs = even.clone()
    pairs[: len(odd)] += odd
    leading = (pairs > 0).cumprod(0)
    time = 2 * (pairs * leading).sum(0) / variance - 1
    moved = (series != series[:1]).any(0)
    return torch.where(moved, length / time.clamp(min=1), torch.nan)
