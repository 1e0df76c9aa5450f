"""Experiments of the GVI thesis (chapter 5): divergences other than KL, on UCI sets and a toy.

Felekis, thesis on generalised variational inference. Imports only `discovery`; `page` adds the
thesis's figures, tables and claims to a report.
"""

from bnnbench.discovery import Suite, Sweep

FULL = ("full",)

SUITE = Suite(
    name="felekis_gvi",
    summary="the GVI thesis's toy example, grid of alpha, comparisons and claims",
    minutes=(0, 63),
    sweeps=(
        Sweep("gp_toy", sizes=FULL),
        Sweep("gvi_alpha", sizes=FULL),
        Sweep("gvi_uci", sizes=FULL),
        # Its runs are in the folder of gvi_uci, whose report includes them.
        Sweep("gvi_competitors", sizes=FULL, report=False),
    ),
    further_kinds=("splits",),  # the toy's tables list any run on gp_sample
)
