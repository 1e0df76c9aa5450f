"""Latent-variable models of images: VAE, planar flows, beta-VAE and semi-supervised learning.

Chapter 5 of Cinelli, Marins, da Silva and Netto, "Variational Methods for Machine Learning" (2021).
Imports only `discovery`.
"""

from bnnbench.discovery import Suite, Sweep

SUITE = Suite(
    name="latent_models",
    summary="variational autoencoders, flows and semi-supervised models of images",
    minutes=(3.5, 3.5),
    sweeps=(
        Sweep("distortion_rate"),
        Sweep("latent_sizes"),
        Sweep("planar_flows"),
        Sweep("semi_supervised"),
    ),
    single_report=True,
)
