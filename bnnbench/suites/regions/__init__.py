"""Predictions in gaps and tails of the training data, where uncertainty should grow.

Foong, Li, Hernández-Lobato & Turner, "'In-Between' Uncertainty in Bayesian Neural Networks", 2019;
Antorán, Allingham & Hernández-Lobato, "Depth Uncertainty in Neural Networks", NeurIPS 2020. Imports
only `discovery`.
"""

from bnnbench.discovery import Suite, Sweep

KIND = "regions"
"""The kind of its runs."""

REGIONS = "regions"
"""Table with a row per split: the feature and its region (`feature`, `distinct`, `tied_at_edges`,
`is_true`, `low`, `high`, `region_rows`, `inside_rows`); scores in the region (`region.*`) and of
the rows inside the training range (`inside.*`); and how well a number recognises the rows of the
region (`auroc.*`)."""

NO_SEARCH = "search=none method=gp,linear"
"""Methods that find their own hyper-parameters."""

PUBLISHED_SPLITS = "method=pbp search=none evaluation.out_of_fold=false experiment.inside=0"
"""The method whose scores of single splits were published."""

TAIL = "experiment.region=tail"

SUITE = Suite(
    name="regions",
    summary="predictions in gaps and tails of the training data",
    minutes=(1, 2),
    sweeps=(
        Sweep("region_posterior", "dataset=yacht,boston method=map,bbb,vadam,laplace", ("small",)),
        Sweep("region_uci", f"{NO_SEARCH} dataset=yacht,boston", ("small",)),
        Sweep("region_posterior", sizes=("full",)),
        Sweep("region_uci", NO_SEARCH, sizes=("full",)),
        Sweep("region_uci", f"{PUBLISHED_SPLITS} dataset=kin8nm,power", sizes=("full",)),
        Sweep("region_uci", f"{PUBLISHED_SPLITS} dataset=kin8nm {TAIL}", sizes=("full",)),
    ),
    single_report=True,
    further_kinds=("regions",),
)
