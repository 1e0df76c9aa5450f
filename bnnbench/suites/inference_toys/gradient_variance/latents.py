"""Rao-Blackwellisation: omit the terms of the log joint that do not contain the latent variable.

Ranganath, Gerrish & Blei (2014), section 3.1. With K independent latent variables `z_k`, each with
a term `f(z_k)` in the log joint, the score-function estimate for the mean of `z_1` may omit all
terms except `f(z_1)`, because the score of `q(z_1)` has mean zero given the others.
"""

from __future__ import annotations

import numpy as np

from bnnbench.suites.inference_toys.gradient_variance.objectives import Normal, Quadratic, Values


def latent_estimates(objective: Quadratic, q: Normal, noise: Values, rao_blackwell: bool) -> Values:
    """Return estimates of the gradient with respect to the first mean, `[...]`.

    Args:
        objective: the term of each latent variable.
        q: distribution of each latent variable.
        noise: standard normal, `[..., K]`.
        rao_blackwell: whether to omit the terms of the other latent variables.
    """
    terms = objective.value(q.loc + q.scale * noise)
    weights = terms[..., 0] if rao_blackwell else terms.sum(-1)
    return np.asarray(weights * noise[..., 0] / q.scale)


def latent_variance(objective: Quadratic, q: Normal, latents: int, rao_blackwell: bool) -> float:
    """Return the variance of one such estimate in closed form.

    `E[(f_1 + R)^2 h^2] - E[f_1 h]^2` with the score `h` and the sum R of the other terms, of mean
    `(K - 1) (c0 + c2)` and variance `(K - 1) (c1^2 + 2 c2^2)`.
    """
    c0, c1, c2 = objective.coefficients(q)
    others = 0 if rao_blackwell else latents - 1
    mean, variance = others * (c0 + c2), others * (c1**2 + 2 * c2**2)
    single = c0**2 + 2 * c1**2 + 15 * c2**2 + 6 * c0 * c2
    return float((single + 2 * mean * (c0 + 3 * c2) + mean**2 + variance) / q.scale**2)
