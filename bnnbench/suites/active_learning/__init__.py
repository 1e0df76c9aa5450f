"""Active learning: does a method's uncertainty choose better rows to label than chance?

Hernández-Lobato & Adams, "Probabilistic Backpropagation for Scalable Learning of Bayesian Neural
Networks", ICML 2015, section 5.2. Imports only `discovery`.
"""

from bnnbench.discovery import Suite, Sweep

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
