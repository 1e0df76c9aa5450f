"""Kind of a sprinkler run and names of its tables, in a module that does not import torch."""

from __future__ import annotations

KIND = "sprinkler"

CURVES = "curves"
"""Table with a row per repetition and evaluation.

Columns: `repetition, iteration, average_kl, estimator_loss, nelbo`.
"""

REPETITIONS = "repetitions"
"""Table with a row per repetition: its final scores and its status."""

SAMPLES = "samples"
"""Array `samples` `[repetition, x, n, 2]`, float32: final draws of q."""

OK = "ok"
NOT_FINITE = "not finite"
STUCK = "stuck"
"""Values of the column `status`."""
