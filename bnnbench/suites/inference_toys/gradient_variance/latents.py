"""What Rao-Blackwellisation spares: the terms of a log joint that do not hold the parameter.

Ranganath, Gerrish & Blei (2014), section 3.1. Of K independent unknowns `z_k`, each with a term
`f(z_k)` of the log joint, the score function estimate for the first one's mean may leave out all
terms but its own, since the score of `q(z_1)` has mean zero whatever the others are. With one
unknown there is nothing to leave out.
"""

from __future__ import annotations

import numpy as np

from bnnbench.suites.inference_toys.gradient_variance.objectives import Normal, Quadratic, Values


def latent_estimates(objective: Quadratic, q: Normal, noise: Values, own: bool) -> Values:
    """Estimates of the gradient by the first mean, `[...]`.

    Args:
        objective: the term of each unknown.
        q: of each unknown.
        noise: `[..., K]`.
        own: whether the others' terms are left out.
    """
    terms = objective.value(q.loc + q.scale * noise)
    weights = terms[..., 0] if own else terms.sum(-1)
    return np.asarray(weights * noise[..., 0] / q.scale)


def latent_variance(objective: Quadratic, q: Normal, latents: int, own: bool) -> float:
    """The variance of one such estimate, in closed form.

    `E[(f_1 + R)^2 h^2] - E[f_1 h]^2` with the score `h` and the rest R of mean `(K - 1) (c0 + c2)`
    and variance `(K - 1) (c1^2 + 2 c2^2)`.
    """
    c0, c1, c2 = objective.around(q)
    others = 0 if own else latents - 1
    mean, spread = others * (c0 + c2), others * (c1**2 + 2 * c2**2)
    alone = c0**2 + 2 * c1**2 + 15 * c2**2 + 6 * c0 * c2
    return float((alone + 2 * mean * (c0 + 3 * c2) + mean**2 + spread) / q.scale**2)
