"""Detection of shifted inputs and of wrong targets by the uncertainty of a prediction.

The measures are those of Hendrycks & Gimpel, "A Baseline for Detecting Misclassified and
Out-of-Distribution Examples in Neural Networks", ICLR 2017. Imports only `discovery`.
"""

from bnnbench.discovery import Suite, Sweep

KIND = "shifts"
"""The kind of its runs."""

PERMUTED, SHIFTED, TARGETS = "permuted", "shifted", "targets"

KINDS = (PERMUTED, SHIFTED, TARGETS)
"""Kinds of made rows; see `Shifts`."""

EPISTEMIC, DISTANCE, MAHALANOBIS, DENSITY = "epistemic", "distance", "mahalanobis", "density"

MEASURES = ("auroc", "precision", "fpr95")

OUTLIERS = "outliers"
"""Table with a row per split, variant and score: `split`, `kind`, `strength` (0 unless `shifted`),
`score`, and how well larger scores recognise the made rows among as many test rows: `auroc`, the
average `precision`, and the false-positive rate at a true-positive rate of 95 %, `fpr95`.

Scores of inputs are the variances `epistemic` and `total`, and without a model the `distance` to
the nearest training row and the `mahalanobis` distance to the mean of the training rows, both in
standardised inputs. Of `targets`, it is `density`, the negative log predictive density."""

NO_SEARCH = "search=none method=gp,linear"
"""Methods that find their own hyper-parameters."""

SUITE = Suite(
    name="shifts",
    summary="shifted inputs and wrong targets recognised by the uncertainty",
    minutes=(0.8, 4),
    sweeps=(
        Sweep("shifted_posterior", "dataset=yacht,boston method=map,bbb,laplace", ("small",)),
        Sweep("shifted_uci", f"{NO_SEARCH} dataset=yacht,boston", ("small",)),
        Sweep("shifted_posterior", sizes=("full",)),
        Sweep("shifted_uci", f"{NO_SEARCH} dataset=yacht,boston,energy,concrete,wine", ("full",)),
    ),
    single_report=True,
    further_kinds=("shifts",),
)
