"""Variational inference by Rényi's bound on nine UCI sets, five orders each, as it was published.

Li and Turner, "Rényi Divergence Variational Inference", NIPS 2016, appendix, tables of test
log-likelihood and error; as their repository, github.com/YingzhenLi/VRbound, has them. Imports
nothing but `discovery`.
"""

from bnnbench.discovery import Suite, Sweep

SUITE = Suite(
    name="li_renyi",
    summary="Rényi's bound of five orders beside its tables (small: minutes, whole: hours)",
    sweeps=(
        Sweep("vr_uci", "dataset=yacht,boston", sizes=("small",)),
        Sweep("vr_uci", sizes=("full",)),
    ),
)
