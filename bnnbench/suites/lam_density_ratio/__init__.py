"""Density-ratio estimators for variational inference with implicit distributions.

Lam, "Density Ratio Estimators for Variational Methods in Bayesian Neural Networks", honours thesis,
UNSW Sydney 2018. Imports nothing but `discovery`; `page` adds to a report what the thesis prints
beside our numbers, and its claims, checked.
"""

from bnnbench.discovery import Suite, Sweep

FULL = ("full",)

SIX = "divergence=reverse_kl,gan estimator=T,D,r"
"""Both bounds and the three estimators of chapters 8 and 9."""

ONE = "divergence=reverse_kl,gan estimator=T"
"""The one estimator that all three are."""

RELU = "divergence=reverse_kl estimator=relu"
"""The ratio of chapters 5 and 6, which fails in many repetitions."""

REMEDY = "observations=model numerics=stable"
"""Observations from p(x), whose tail overflows the published form of the losses."""

SUITE = Suite(
    name="lam_density_ratio",
    summary="the density-ratio thesis's sprinkler, estimators, theory and claims (a night)",
    sweeps=(
        Sweep("divergence_bounds"),
        Sweep("estimator_parametrisations"),
        Sweep("sprinkler", f"{ONE} protocol=quick"),
        # The first repetitions of what follows, so that every table has a few of them early.
        Sweep("sprinkler", f"contrast=prior,joint {SIX} protocol=quick", FULL),
        Sweep("sprinkler", f"contrast=prior,joint {RELU} protocol=quick", FULL),
        Sweep("sprinkler", f"contrast=joint {ONE} {REMEDY} protocol=quick", FULL),
        Sweep("sprinkler", f"contrast=prior {SIX} protocol=undertrained", FULL),
        Sweep("sprinkler", f"contrast=prior {SIX} protocol=optimal", FULL),
        Sweep("sprinkler", f"contrast=prior {RELU} protocol=optimal", FULL),
        Sweep("sprinkler", f"contrast=joint {SIX} protocol=undertrained", FULL),
    ),
    together=True,
)
