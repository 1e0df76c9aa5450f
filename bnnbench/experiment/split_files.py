"""Names of the tables and arrays that a run of the split experiment writes.

Units everywhere: inputs and targets in original units, hyper-parameters in standardised units,
log-likelihoods in nats per point.
"""

from __future__ import annotations

KIND = "splits"
"""Of such runs, in their records."""

SPLITS = "splits"
"""Table: a row per split: sizes, fingerprint, scores, circumstances, hyper-parameters chosen."""

CIRCUMSTANCES = [
    "search_seconds",
    "fit_seconds",
    "predict_seconds",
    "total_seconds",
    "host",
    "device",
]
"""Columns of `SPLITS` on how long a row took and where: what equal runs may differ in."""

SEARCH = "search"
"""Table: a row per evaluation of the search."""

PREDICTIONS = "predictions"
"""Arrays: every test point: `split`, `row`, `target`, `mean` and variances."""

OUT_OF_FOLD = "out_of_fold"
"""Arrays: the same of the training points, each by networks that have not seen it."""

TRAINING = "training"
"""Arrays: the same of the rows trained on; only with `evaluation.training_part`."""

MIXTURE = "mixture"
"""Arrays: every test point: `split`, `row` and its predictive mixture in standardised units (of
`scoring.components`); only with `evaluation.mixture`."""

DIAGNOSIS = "diagnosis"
"""Arrays: every test point: `split`, `row` and what the method says of its prediction there."""

OBJECTIVE = "objective"
"""Arrays: `split`, `epoch`, `loss`, `complexity`; only with `evaluation.trace`."""
