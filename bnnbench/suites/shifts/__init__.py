"""Detection of shifted inputs and of wrong targets by the uncertainty of a prediction.

The measures are those of Hendrycks & Gimpel, "A Baseline for Detecting Misclassified and
Out-of-Distribution Examples in Neural Networks", ICLR 2017. Imports only `discovery`.
"""

from bnnbench.discovery import Suite, Sweep

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
