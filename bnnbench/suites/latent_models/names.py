"""Names of tables, quantities and models in the files of runs."""

from __future__ import annotations

IMAGES, CODES = "images", "codes"
"""Arrays of figures, with a row per setting."""

QUANTITIES = {
    "log_p": "log p(x), test",
    "log_p_given_label": "log p(x|y), test",
    "elbo": "ELBO, test",
    "elbo_train": "ELBO, training",
    "iwae_5": "IWAE_5 bound, test",
    "iwae_50": "IWAE_50 bound, test",
    "rate": "rate, test",
    "distortion": "distortion, test",
    "active_units": "active units",
    "probe_accuracy": "accuracy of a linear probe, test [%]",
    "accuracy": "accuracy, test [%]",
    "accuracy_equal": "accuracy after as many epochs as the semi-supervised model, test [%]",
    "unlabelled_bound": "bound of unlabelled images, test",
}
"""Quantities of `answers.csv` by column of the scores."""

VAE, CVAE, BETA_VAE, IWAE, PLANAR = "VAE", "CVAE", "beta-VAE", "IWAE", "planar flow"
"""Models."""

MNIST, FASHION_MNIST = "mnist", "fashion_mnist"

SHOWN_LATENTS = 32
"""Number of latent variables of the book's Figs. 5.10, 5.11a, 5.12 and 5.13."""

IMAGES_OF_BOOK = (MNIST, FASHION_MNIST)
"""Data sets of the book's figures and tables."""

BINARISATION = "threshold"
"""Of the book's images (5.6.2)."""

BOOK = "Cinelli et al. (2021)"
"""Sources of claims."""
