"""Predictions in gaps and tails of the training data, where uncertainty should grow.

Foong, Li, Hernández-Lobato & Turner, "'In-Between' Uncertainty in Bayesian Neural Networks", 2019;
Antorán, Allingham & Hernández-Lobato, "Depth Uncertainty in Neural Networks", NeurIPS 2020. Imports
only `discovery`.
"""

from bnnbench.discovery import Suite, Sweep

SUITE = Suite(
    name="regions",
    summary="predictions in gaps and tails of the training data (small: minutes, full: hours)",
    sweeps=(
        Sweep("region_posterior", "dataset=yacht,boston method=map,bbb,vadam,laplace,gp"),
        Sweep("region_posterior", sizes=("full",)),
        Sweep("region_posterior", "experiment.region=tail", sizes=("full",)),
        Sweep("region_uci", "method=pbp dataset=kin8nm,power experiment.inside=0", sizes=("full",)),
    ),
    single_report=True,
    further_kinds=("regions",),
)
