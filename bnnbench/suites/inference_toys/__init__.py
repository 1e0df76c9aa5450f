"""Approximate inference on problems small enough for exact answers.

The examples of chapters 2 and 3 of Cinelli, Marins, da Silva and Netto, "Variational Methods for
Machine Learning" (2021), the mixture of section 3.6 of Lam's thesis (2018) and that of Alvarez's
lecture. Imports only `discovery`.
"""

from bnnbench.discovery import Suite, Sweep

SUITE = Suite(
    name="inference_toys",
    summary="approximate inference compared with exact answers on eight toy problems",
    minutes=(1, 1),
    sweeps=(
        Sweep("conjugate_pairs"),
        Sweep("em_factory"),
        Sweep("clutter"),
        Sweep("expectation_maximisation"),
        Sweep("gaussian_mixture"),
        Sweep("gradient_variance"),
        Sweep("kl_shapes"),
        Sweep("noise_precision"),
    ),
    single_report=True,
)
