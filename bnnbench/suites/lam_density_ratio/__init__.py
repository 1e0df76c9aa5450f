"""Density-ratio estimators for variational inference with implicit distributions.

Lam, "Density Ratio Estimators for Variational Methods in Bayesian Neural Networks", honours thesis,
UNSW Sydney 2018. Imports nothing but `discovery`; `page` adds to a report what the thesis prints
beside our numbers, and its claims, checked.
"""

from bnnbench.discovery import Suite, Sweep

SUITE = Suite(
    name="lam_density_ratio",
    summary="the density-ratio thesis: its sprinkler, its estimators and its theory (minutes)",
    sweeps=(
        Sweep("divergence_bounds", report=False),
        Sweep("estimator_parametrisations", report=False),
    ),
)
