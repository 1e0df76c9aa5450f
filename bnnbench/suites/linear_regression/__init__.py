"""A straight line whose posterior is known exactly, and what each Gaussian method makes of it.

Marttinen, "Advanced probabilistic methods", lecture 9, Aalto University 2021. Imports nothing but
`discovery`.
"""

from bnnbench.discovery import Suite, Sweep

SUITE = Suite(
    name="linear_regression",
    summary="learned Gaussians beside the exact posterior of a straight line (minutes)",
    sweeps=(
        Sweep(
            "linear_regression", "method=bbb,practical_vi,vadam,vprop,laplace,cavi", report=False
        ),
    ),
)
