"""The kind of a sprinkler run and the names of its tables; light: a report needs no torch."""

from __future__ import annotations

KIND = "sprinkler"

CURVES = "curves"
"""Per repetition and evaluation: `repetition, iteration, average_kl, estimator_loss, nelbo`."""

REPETITIONS = "repetitions"
"""A row per repetition: what it ended with, and whether it failed."""

SAMPLES = "samples"
"""The array `samples` `[repetition, x, n, 2]`, float32: draws of q at the end, in their order."""

OK = "ok"
NOT_FINITE = "not finite"
STUCK = "stuck"
"""What can become of a repetition, the column `status`."""
