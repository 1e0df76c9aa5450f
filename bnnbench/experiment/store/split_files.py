"""Names of the tables and arrays that a run of the split experiment writes.

Units everywhere: inputs and targets in original units, hyper-parameters in standardised units,
log-likelihoods in nats per point.
"""

from __future__ import annotations

KIND = "splits"
"""Kind of the experiment, in the record of a run."""

SPLITS = "splits"
"""Table with a row per split: sizes, fingerprint, scores, times, machine, hyper-parameters."""

MACHINE_COLUMNS = [
    "search_seconds",
    "fit_seconds",
    "predict_seconds",
    "total_seconds",
    "cpu_seconds",
    "reference_seconds",
    "host",
    "device",
    "bits",
    "native_code",
    "code",
]
"""Columns of `SPLITS` that depend on the machine: times, hardware, whether bits do, whether native
code was used (`used`, `missing` or `none`), and the version of the code (`code_label`)."""

SEARCH = "search"
"""Table with a row per evaluation of the search."""

PREDICTIONS = "predictions"
"""Arrays with an entry per test point: `split`, `row`, `target`, `mean` and variances."""

OUT_OF_FOLD = "out_of_fold"
"""The same arrays for training points, each predicted by networks not trained on it."""

FOLDS = "folds"
"""Arrays with an entry per test point: `split`, `row` and `fold_0`, `fold_1`, ..., the means that
the networks of each fold predict; only with `evaluation.save_fold_predictions`."""

TRAINING = "training"
"""The same arrays for the training rows; only with `evaluation.score_training_rows`."""

MIXTURE = "mixture"
"""Arrays with an entry per test point: `split`, `row` and its predictive mixture in standardised
units (see `fitting.mixture_arrays`); only with `evaluation.save_predictive_mixture`."""

DIAGNOSIS = "diagnosis"
"""Arrays with an entry per test point: `split`, `row` and diagnostics of its prediction."""

OBJECTIVE = "objective"
"""Arrays: `split`, `epoch`, `loss`, `complexity`; only with `evaluation.save_objective`."""

LOG_MEAN, LOG_VARIANCE = "log_mean", "log_variance"
"""Arrays of the predictions of fits of the logarithm: the moments of the logarithm."""
