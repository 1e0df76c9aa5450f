"""What the samples of a Markov chain are worth."""

from __future__ import annotations

import torch
from torch import Tensor


def effective_sample_size(series: Tensor) -> Tensor:
    """Independent samples whose mean would be as uncertain as the mean of a chain's K samples.

    K over the integrated autocorrelation time `1 + 2 (rho_1 + rho_2 + ...)`. The sum ends where
    the autocorrelations of two neighbouring lags first add up to nothing or less: Geyer's
    "Practical Markov Chain Monte Carlo", Statistical Science 1992, section 3.3, the initial
    positive sequence. A chain that alternates about its mean counts no more than independent
    samples do.

    Args:
        series: `[K, ...]`, a number per sample, along the chain.

    Returns:
        `[...]`, at most K; NaN for a series that never moves, which has no autocorrelation.
    """
    length = len(series)
    centred = (series - series.mean(0)).double()
    # Padded with zeros, so that the far end of the series does not wrap around to its start.
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
