"""MC dropout on nine UCI sets with the original settings, compared split by split.

Gal and Ghahramani, "Dropout as a Bayesian Approximation: Representing Model Uncertainty in Deep
Learning", ICML 2016, Table 1. Settings and scores of single splits are from the first version of
the authors' repository, github.com/yaringal/DropoutUncertaintyExps. Imports only `discovery`.
"""

from bnnbench.discovery import Suite, Sweep

SUITE = Suite(
    name="gal_dropout",
    summary="MC dropout compared with its original table split by split",
    minutes=(0.3, 5),
    sweeps=(
        Sweep("gal_uci", "dataset=yacht,boston,energy,concrete", sizes=("small",)),
        Sweep("gal_uci", sizes=("full",)),
    ),
)
