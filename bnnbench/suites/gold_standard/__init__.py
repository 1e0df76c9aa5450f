"""Distance of every method to the posterior, measured against long HMC chains.

All methods use the same network, prior and noise, so differences to the chains are due to inference
and to training, and can be measured without test targets. Imports only `discovery`.
"""

from bnnbench.discovery import Suite, Sweep

CHAINS = "method=hmc method.init_from=map"
"""The reference chains. Chains that start from prior samples converge much more slowly."""

LONG_CHAINS = "method=hmc method.init_from=inflated method.warm_up=1000 training.epochs=8000"
"""Chains that meet the limits on yacht; half of them start at inflated networks."""

THREE_SPLITS = "dataset=yacht splits=3"

WITH_OBJECTIVE = (
    "map,deep_ensemble,laplace,bbb,dvi,practical_vi,renyi_vi,mc_dropout,bb_alpha_dropout,vadam,"
    "vprop,ivon"
)
"""The methods of `experiment=gold_converged`."""

SUITE = Suite(
    name="gold_standard",
    summary="distance of every method to the posterior from HMC",
    minutes=(1.3, 60),
    sweeps=(
        Sweep("gold_toy", f"{CHAINS} dataset=sine_20", sizes=("small",)),
        Sweep("gold_toy", "dataset=sine_20", sizes=("small",)),
        Sweep("gold_toy", CHAINS, sizes=("full",)),
        Sweep("gold_toy", sizes=("full",)),
        Sweep("gold_standard", CHAINS, sizes=("full",)),
        Sweep("gold_standard", sizes=("full",)),
        Sweep("gold_standard", f"{LONG_CHAINS} {THREE_SPLITS}", sizes=("full",)),
        Sweep(
            "gold_standard",
            f"method={WITH_OBJECTIVE} {THREE_SPLITS} evaluation.save_objective=true",
            sizes=("full",),
        ),
        Sweep("gold_converged", sizes=("full",)),
    ),
    single_report=True,
    further_kinds=("splits",),  # any run may save its predictive distributions
)
