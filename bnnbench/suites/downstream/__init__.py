"""What the uncertainty is good for: nine methods on tasks that a test score does not measure.

Gathers the experiments of the suites `regions`, `shifts`, `active_learning` and `exploration`,
whose pages present the runs. Imports only `discovery`.
"""

from bnnbench.discovery import Suite, Sweep

NETWORKS = "method=map,bbb,vadam,laplace,mc_dropout,deep_ensemble"
"""Networks with a given prior and noise."""

OWN_NOISE = "search=none method=gp,linear,pbp"
"""Methods that find their own noise."""

CHAINS = "method=hmc method.init_from=map"

TAIL = "experiment.region=tail"

PBP = "method=pbp network.width=10"
"""PBP with the network of Hernández-Lobato & Adams (2015), section 5.2."""

SETS = "dataset=yacht,boston,power,kin8nm"

BANDIT = "method=linear,map,laplace,deep_ensemble,bbb"

SUITE = Suite(
    name="downstream",
    summary="what the uncertainty is good for: gaps, shifts, active learning, bandits",
    minutes=(3, 157),
    sweeps=(
        Sweep("region_posterior", f"{NETWORKS} dataset=yacht,boston", ("small",)),
        Sweep("region_posterior", f"{NETWORKS} dataset=boston {TAIL}", ("small",)),
        Sweep("region_uci", f"{OWN_NOISE} dataset=yacht,boston", ("small",)),
        Sweep("active_learning", f"{NETWORKS},gp,linear dataset=yacht experiment.repetitions=10",
              ("small",)),
        Sweep("active_learning", f"{PBP} dataset=yacht experiment.repetitions=10", ("small",)),
        Sweep("shifted_posterior", f"{NETWORKS} dataset=boston", ("small",)),
        Sweep("shifted_uci", "search=none method=gp,linear dataset=boston", ("small",)),
        Sweep("bandit", f"{BANDIT} experiment.delta=0.5 experiment.steps=500 "
              "experiment.batch=25 experiment.repetitions=10", ("small",)),
        Sweep("region_posterior", f"{NETWORKS} {SETS}", ("full",)),
        Sweep("region_posterior", f"{NETWORKS} {SETS} {TAIL}", ("full",)),
        Sweep("region_posterior", f"{CHAINS} {SETS}", ("full",)),
        Sweep("region_uci", f"{OWN_NOISE} dataset=yacht,boston", ("full",)),
        Sweep("region_uci", "search=none method=linear,pbp dataset=power,kin8nm", ("full",)),
        Sweep("active_learning", f"{NETWORKS},gp,linear {SETS}", ("full",)),
        Sweep("active_learning", f"{PBP} {SETS}", ("full",)),
        Sweep("active_learning", "method=hmc dataset=yacht,boston", ("full",)),
        Sweep("shifted_posterior", f"{NETWORKS} {SETS}", ("full",)),
        Sweep("shifted_uci", "search=none method=gp,linear dataset=yacht,boston", ("full",)),
        Sweep("bandit", f"{BANDIT} experiment.delta=0.5,0.9,0.95 experiment.repetitions=100",
              ("full",)),
    ),
    single_report=True,
)  # fmt: skip
"""The Gaussian process accepts at most 2,000 training rows, so it is left out on larger sets."""
