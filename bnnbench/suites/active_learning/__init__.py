"""Active learning: does a method's uncertainty choose better rows to label than chance?

Hernández-Lobato & Adams, "Probabilistic Backpropagation for Scalable Learning of Bayesian Neural
Networks", ICML 2015, section 5.2. Imports only `discovery`.
"""

from bnnbench.discovery import Suite, Sweep

KIND = "active_learning"
"""The kind of its runs."""

RANDOM, VARIANCE, DISTANCE = "random", "variance", "distance"
"""The rules; the others are compared with the first."""

LABELS = "labels"
"""Table with a row per repetition, arm and number of labels: `repetition`, `arm`, `labels`, `row`
(the row of the data set that is labelled next; missing at the end), `rmse`, `log_likelihood`,
`crps`, and `epistemic_deviation`, the mean over test rows."""

SUITE = Suite(
    name="active_learning",
    summary="rows labelled by the largest variance compared with random rows",
    minutes=(0.5, 7),
    sweeps=(
        Sweep("active_learning", "dataset=yacht method=linear,gp,bbb", ("small",)),
        Sweep("active_learning", "dataset=yacht,concrete,energy method=linear,gp,bbb,laplace,"
              "deep_ensemble,mc_dropout,map,pbp", ("full",)),
    ),
    single_report=True,
)  # fmt: skip
