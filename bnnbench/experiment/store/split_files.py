"""Names of the tables and arrays that a run of the split experiment writes, and of their columns.

Units everywhere: inputs and targets in original units, hyper-parameters in standardised units,
log-likelihoods in nats per point.
"""

from __future__ import annotations

KIND = "splits"
"""Kind of the experiment, in the record of a run."""

SPLITS = "splits"
"""Table with a row per split: sizes, fingerprint, scores, times, machine, hyper-parameters."""

SPLIT_KEY = ["fingerprint", "training_fingerprint"]
"""Columns with the hashes of the test part and of the training part, which identify a split."""

SIZES = ["training_rows", "test_rows"]
"""Columns with the sizes of its parts."""

PHASES = ["search_seconds", "fit_seconds", "predict_seconds"]
"""Columns whose sum is `total_seconds`."""

MACHINE_COLUMNS = [
    *(*PHASES, "total_seconds", "cpu_seconds", "reference_seconds"),
    *("host", "device", "bits", "native_code", "code"),
]
"""Columns of `SPLITS` that depend on the machine: times, hardware, whether bits do, whether native
code was used (`used`, `missing` or `none`), and the version of the code (`code_label`)."""

AT_BOUND = "at_bound"
"""Column with the hyper-parameters chosen at a search bound; empty if there are none."""

HYPER, DIAGNOSTIC = "hp.", "diag."
"""Prefixes of the columns of hyper-parameters, and of a method's own diagnostics."""

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

MOMENTS = ("mean", "epistemic_variance", "noise_variance")
"""Arrays of the predictions: the predictive mean, and both parts of the predictive variance."""

LOG_MEAN, LOG_VARIANCE = "log_mean", "log_variance"
"""Arrays of the predictions of fits of the logarithm: the moments of the logarithm."""

FOLD = "fold"
"""Array of the out-of-fold predictions of runs that saved `FOLDS`."""

POINT_COLUMNS = ("split", "target", *MOMENTS)

ARRAY_COLUMNS = {
    PREDICTIONS: POINT_COLUMNS,
    OUT_OF_FOLD: POINT_COLUMNS,
    FOLDS: ("split", "row"),
    TRAINING: ("split", "target"),
    DIAGNOSIS: ("split",),
    OBJECTIVE: ("split", "epoch", "loss", "complexity"),
}
"""The arrays that every file has."""
