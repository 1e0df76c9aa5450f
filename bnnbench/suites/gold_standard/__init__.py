"""How far every method is from the posterior that it approximates, by long HMC chains.

One model for all: the same network, prior and noise. Whatever a method then does otherwise than the
chains is inference, and no score on test targets is needed to see it. Imports nothing but
`discovery`.
"""

from bnnbench.discovery import Suite, Sweep

CHAINS = "method=hmc method.start=map"
"""What the others are held against. From draws of the prior chains take far longer to get there."""

SUITE = Suite(
    name="gold_standard",
    summary="every method's distance to the posterior by HMC (small: minutes, whole: hours)",
    sweeps=(
        Sweep("gold_toy", f"{CHAINS} dataset=sine_20", sizes=("small",)),
        Sweep("gold_toy", "dataset=sine_20", sizes=("small",)),
        Sweep("gold_toy", CHAINS, sizes=("full",)),
        Sweep("gold_toy", sizes=("full",)),
        Sweep("gold_standard", CHAINS, sizes=("full",)),
        Sweep("gold_standard", sizes=("full",)),
    ),
    together=True,
)
