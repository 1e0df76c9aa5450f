"""Gaussian approximations compared with the exact posterior of a straight line.

Marttinen, "Advanced probabilistic methods", lecture 9, Aalto University 2021. Imports only
`discovery`.
"""

from bnnbench.discovery import Suite, Sweep

KIND = "linear_regression"
"""The kind of its runs."""

POSTERIOR = "posterior"
"""Table of the three posteriors, one row per weight."""

POINTS = "points"
"""Table of the fitted data."""

SUITE = Suite(
    name="linear_regression",
    summary="learned Gaussians compared with the exact posterior of a straight line",
    minutes=(0.3, 0.3),
    sweeps=(
        Sweep(
            "linear_regression", "method=bbb,practical_vi,vadam,vprop,laplace,cavi", report=False
        ),
    ),
)
