"""What the uncertainty is good for: nine methods on tasks that a test score does not measure.

Gathers the experiments of the suites `regions`, `shifts`, `active_learning` and `exploration`,
whose pages present the runs. Imports only `discovery`.
"""

from bnnbench.discovery import Suite, Sweep

NETWORKS = "method=map,bbb,vadam,laplace,mc_dropout,deep_ensemble"
"""Networks with a given prior and noise."""

OWN_NOISE = "search=none method=gp,linear,pbp"
"""Methods that find their own noise."""

TAIL = "experiment.region=tail"

PBP = "method=pbp network.width=10"
"""PBP with the network of Hernández-Lobato & Adams (2015), section 5.2."""

SETS = "dataset=yacht,boston,concrete"

BANDIT = f"{NETWORKS},linear experiment.steps=500 experiment.batch=25"
"""Without `gp` and `pbp`, whose 100 repetitions take 2.5 hours and 45 minutes."""

SUITE = Suite(
    name="downstream",
    summary="what the uncertainty is good for: gaps, shifts, active learning, bandits",
    minutes=(3, 20),
    sweeps=(
        Sweep("region_posterior", f"{NETWORKS} dataset=yacht,boston", ("small",)),
        Sweep("region_posterior", f"{NETWORKS} dataset=boston {TAIL}", ("small",)),
        Sweep("region_uci", f"{OWN_NOISE} dataset=yacht,boston", ("small",)),
        Sweep("active_learning", f"{NETWORKS},gp,linear dataset=yacht experiment.repetitions=10",
              ("small",)),
        Sweep("active_learning", f"{PBP} dataset=yacht experiment.repetitions=10", ("small",)),
        Sweep("shifted_posterior", f"{NETWORKS} dataset=boston", ("small",)),
        Sweep("shifted_uci", f"{OWN_NOISE} dataset=boston", ("small",)),
        Sweep("bandit", f"{BANDIT} experiment.delta=0.5 experiment.repetitions=10", ("small",)),
        Sweep("region_posterior", f"{NETWORKS} {SETS}", ("full",)),
        Sweep("region_posterior", f"{NETWORKS} {SETS} {TAIL}", ("full",)),
        Sweep("region_uci", f"{OWN_NOISE} {SETS}", ("full",)),
        Sweep("active_learning", f"{NETWORKS},gp,linear {SETS}", ("full",)),
        Sweep("active_learning", f"{PBP} {SETS}", ("full",)),
        Sweep("shifted_posterior", f"{NETWORKS} {SETS}", ("full",)),
        Sweep("shifted_uci", f"{OWN_NOISE} {SETS}", ("full",)),
        Sweep("bandit", f"{BANDIT} experiment.delta=0.95 experiment.repetitions=100", ("full",)),
    ),
    single_report=True,
)  # fmt: skip
