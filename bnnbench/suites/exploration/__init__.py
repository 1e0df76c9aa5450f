"""Bandits: do draws from a posterior explore better than its mean, or than chance?

Riquelme, Tucker & Snoek, "Deep Bayesian Bandits Showdown", ICLR 2018. Imports only `discovery`.
"""

from bnnbench.discovery import Suite, Sweep

KIND = "bandit"
"""The kind of its runs."""

ARMS = UNIFORM, GREEDY, THOMPSON, EPSILON = "uniform", "greedy", "thompson", "epsilon"
"""Which action is chosen: by chance, that with the largest mean, that with the largest value of a
function drawn from the posterior, or greedy with a chance of a random one."""

STEPS = "steps"
"""Table with a row per repetition, arm and step: `repetition`, `arm`, `step` (from 1), `action`,
`reward`, `regret` (expected reward of the best action less that of this one) and `uniform_regret`,
the exact expectation if actions are chosen uniformly."""

REGRET = "regret"
"""Table with a row per repetition and arm: `repetition`, `arm`, `reward` and `regret` (sums over
all steps), `share` (regret as a fraction of the exact expectation of uniform choices) and
`second_half` (the same for the second half of the steps)."""

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
