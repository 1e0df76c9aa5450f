"""Density-ratio estimators for variational inference with implicit distributions.

Lam, "Density Ratio Estimators for Variational Methods in Bayesian Neural Networks", honours thesis,
UNSW Sydney 2018. `page` adds the thesis's published values and claims to reports.
"""

from bnnbench.discovery import Suite, Sweep

FULL = ("full",)

BOUNDS = "experiment.divergence=kl_posterior_prior,gan"

ALL_ESTIMATORS = f"{BOUNDS} experiment.estimator=log_ratio,class_probability,ratio"
"""Both bounds and the three estimators of chapters 8 and 9."""

ONE_ESTIMATOR = f"{BOUNDS} experiment.estimator=log_ratio"
"""Both bounds and one estimator; the three are the same algorithm."""

RELU = "experiment.divergence=kl_posterior_prior experiment.estimator=relu_ratio"
"""The ratio of chapters 5 and 6, which fails in many repetitions."""

REMEDY = "experiment.observations=model experiment.numerics=stable"
"""Observations drawn from p(x), whose tail overflows the published form of the losses."""

PRIOR, JOINT = "experiment.contrast=prior", "experiment.contrast=joint"

BOTH_CONTRASTS = f"{PRIOR},joint"

QUICK, UNDERTRAINED, OPTIMAL = (
    f"experiment.schedule={name}" for name in ("quick", "undertrained", "optimal")
)

SUITE = Suite(
    name="lam_density_ratio",
    summary="the density-ratio thesis's sprinkler, images, theory and claims",
    minutes=(4, 400),
    sweeps=(
        Sweep("estimator_parametrisations"),
        Sweep("adversarial_vb"),
        Sweep("sprinkler", f"{ONE_ESTIMATOR} {QUICK}"),
        # The first repetitions of the sweeps below, so that every table has a few of them early.
        Sweep("sprinkler", f"{BOTH_CONTRASTS} {ALL_ESTIMATORS} {QUICK}", FULL),
        Sweep("sprinkler", f"{BOTH_CONTRASTS} {RELU} {QUICK}", FULL),
        Sweep("sprinkler", f"{JOINT} {ONE_ESTIMATOR} {REMEDY} {QUICK}", FULL),
        Sweep("sprinkler", f"{PRIOR} {ALL_ESTIMATORS} {UNDERTRAINED}", FULL),
        Sweep("sprinkler", f"{PRIOR} {ALL_ESTIMATORS} {OPTIMAL}", FULL),
        Sweep("sprinkler", f"{PRIOR} {RELU} {OPTIMAL}", FULL),
        Sweep("sprinkler", f"{JOINT} {ALL_ESTIMATORS} {UNDERTRAINED}", FULL),
    ),
    single_report=True,
)
