"""Pruning of weights whose posterior mean is small relative to its standard deviation.

Blundell et al., "Weight Uncertainty in Neural Networks", ICML 2015, section 5.1; Graves, "Practical
Variational Inference for Neural Networks", NeurIPS 2011. Imports only `discovery`.
"""

from bnnbench.discovery import Suite, Sweep

SUITE = Suite(
    name="pruning",
    summary="weights removed by signal-to-noise ratio, by magnitude or at random (minutes)",
    sweeps=(
        Sweep("pruning", "dataset=yacht,boston method=bbb,vadam,map", ("small",)),
        Sweep("pruning", sizes=("full",)),
    ),
    single_report=True,
)
