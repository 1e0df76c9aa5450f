"""Bandits: do draws from a posterior explore better than its mean, or than chance?

Riquelme, Tucker & Snoek, "Deep Bayesian Bandits Showdown", ICLR 2018. Imports only `discovery`.
"""

from bnnbench.discovery import Suite, Sweep

METHODS = "method=linear,map,laplace,deep_ensemble,bbb"

SUITE = Suite(
    name="exploration",
    summary="actions chosen by draws from a posterior or by its mean",
    minutes=(1, 90),
    sweeps=(
        Sweep("bandit", f"{METHODS} experiment.delta=0.5 experiment.steps=500 "
              "experiment.batch=25", ("small",)),
        Sweep("bandit", f"{METHODS} experiment.delta=0.5,0.9,0.95 experiment.repetitions=100",
              ("full",)),
    ),
    single_report=True,
)  # fmt: skip
