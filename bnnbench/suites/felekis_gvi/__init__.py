"""The experiments of the GVI thesis (chapter 5): divergences other than KL, on UCI sets and a toy.

Felekis, thesis on generalised variational inference. Imports nothing but `discovery`; `page` adds
to a report what the thesis prints beside our numbers, and its claims, checked.
"""

from bnnbench.discovery import Suite, Sweep

FULL = ("full",)

SUITE = Suite(
    name="felekis_gvi",
    summary="the GVI thesis's toy, grid of alpha and comparisons, its claims (forty minutes)",
    sweeps=(
        Sweep("gp_toy", sizes=FULL),
        Sweep("gvi_alpha", sizes=FULL),
        Sweep("gvi_uci", sizes=FULL),
        # Its runs lie in the folder of gvi_uci, so the report of those would be made twice.
        Sweep("gvi_competitors", sizes=FULL, report=False),
    ),
)
