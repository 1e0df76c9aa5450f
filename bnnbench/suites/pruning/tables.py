"""The kind of run, its table and its rules, without importing torch."""

from __future__ import annotations

KIND = "pruning"

SNR, MAGNITUDE, RANDOM = "snr", "magnitude", "random"

ARMS = (SNR, MAGNITUDE, RANDOM)
"""Which weights are removed first: those with the smallest `|mean| / deviation`, those with the
smallest `|mean|`, or random ones."""

SCORES = ("rmse", "log_likelihood", "crps")

PRUNED = "pruned"
"""Table with a row per split, rule and share of removed weights: `split`, `arm`, `share`, `removed`
(a number of weights) and `SCORES`."""
