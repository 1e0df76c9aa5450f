"""Distance of every method to the posterior, measured against long HMC chains.

All methods use the same network, prior and noise, so differences to the chains are due to inference
alone and can be measured without test targets. Imports only `discovery`.
"""

from bnnbench.discovery import Suite, Sweep

CHAINS = "method=hmc method.init_from=map"
"""The reference chains. Chains that start from prior samples converge much more slowly."""

SUITE = Suite(
    name="gold_standard",
    summary="distance of every method to the posterior from HMC (small: minutes, full: hours)",
    sweeps=(
        Sweep("gold_toy", f"{CHAINS} dataset=sine_20", sizes=("small",)),
        Sweep("gold_toy", "dataset=sine_20", sizes=("small",)),
        Sweep("gold_toy", CHAINS, sizes=("full",)),
        Sweep("gold_toy", sizes=("full",)),
        Sweep("gold_standard", CHAINS, sizes=("full",)),
        Sweep("gold_standard", sizes=("full",)),
    ),
    single_report=True,
    further_kinds=("splits",),  # any run may save its predictive distributions
)
