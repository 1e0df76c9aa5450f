"""Approximate inference on problems small enough for an exact answer.

The running examples of chapters 2 and 3 of Cinelli, Marins, da Silva and Netto, "Variational
Methods for Machine Learning" (2021), the mixture of section 3.6 of Lam's thesis (2018) and that of
Alvarez's lecture. Imports nothing but `discovery`.
"""

from bnnbench.discovery import Suite, Sweep

SWEEPS: tuple[str, ...] = (
    "conjugate_pairs",
    "em_factory",
    "clutter",
    "expectation_maximisation",
    "gaussian_mixture",
    "gradient_variance",
    "kl_shapes",
    "noise_precision",
)
"""Its experiments, in the order in which a reader meets them."""

SUITE = Suite(
    name="inference_toys",
    summary="approximate inference beside exact answers, eight toys (two minutes)",
    sweeps=tuple(Sweep(experiment) for experiment in SWEEPS),
)
