"""Names of tables, quantities and models in the files of runs."""

from __future__ import annotations

IMAGES, CODES = "images", "codes"
"""Arrays of figures, with a row per setting."""

QUANTITIES = {
    "log_p": "bound of log p(x) with {draws} draws, test",
    "log_p_given_label": "bound of log p(x|y) with {draws} draws, test",
    "elbo": "ELBO, test",
    "elbo_train": "ELBO, training",
    "iwae_5": "bound with 5 draws, test",
    "iwae_50": "bound with 50 draws, test",
    "rate": "rate, test",
    "distortion": "distortion, test",
    "active_units": "active units",
    "probe_accuracy": "accuracy of a linear probe, test [%]",
    "accuracy": "accuracy, test [%]",
    "accuracy_equal": "accuracy after as many epochs as the semi-supervised model, test [%]",
    "unlabelled_bound": "bound of unlabelled images, test",
}
"""Quantities of `answers.csv` by column of the scores; `quantities` fills in the draws."""

DRAWS = "{draws}"
"""Placeholder for the number of draws of a run."""

BOUND = f"the bound of log p(x) with {DRAWS} draws"
"""The score that rules compare."""


def quantities(draws: int | None) -> dict[str, str]:
    """Return the quantities of `answers.csv` by column of the scores.

    Args:
        draws: number of draws for each image in the bounds of log p(x); None if there are none.
    """
    if draws is None:
        return {column: text for column, text in QUANTITIES.items() if DRAWS not in text}
    return {column: with_draws(text, draws) for column, text in QUANTITIES.items()}


def with_draws(text: str, draws: int) -> str:
    """Replace `DRAWS` in a string by a number of draws."""
    return text.replace(DRAWS, f"{draws:,}")


VAE, CVAE, BETA_VAE, IWAE, PLANAR = "VAE", "CVAE", "beta-VAE", "IWAE", "planar flow"
"""Models."""

MNIST, FASHION_MNIST = "mnist", "fashion_mnist"

SHOWN_LATENTS = 32
"""Number of latent variables of the book's Figs. 5.10, 5.11a, 5.12 and 5.13."""

IMAGES_OF_BOOK = (MNIST, FASHION_MNIST)
"""Data sets of the book's figures and tables."""

BINARISATION = "threshold"
"""Binarisation of the book's images (5.6.2)."""

BOOK = "Cinelli et al. (2021)"
"""Sources of claims."""
