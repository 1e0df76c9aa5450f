"""Rényi variational inference on nine UCI sets with five orders each, as published.

Li and Turner, "Rényi Divergence Variational Inference", NIPS 2016, appendix, tables of test
log-likelihood and error, with the settings of their repository, github.com/YingzhenLi/VRbound.
Imports only `discovery`.
"""

from bnnbench.discovery import Suite, Sweep

SUITE = Suite(
    name="li_renyi",
    summary="the Rényi bound of five orders compared with its tables",
    minutes=(1.3, 56),
    sweeps=(
        Sweep("vr_uci", "dataset=yacht,boston", sizes=("small",)),
        Sweep("vr_uci", sizes=("full",)),
    ),
)
