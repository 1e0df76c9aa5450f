"""Planar flows with amortised parameters, and their derivatives (book, 5.5.1.3).

A step is `z' = z + u^ tanh(w'z + b)` (5.21) with `u^ = u + (m(q) - q) w / |w|^2`, `q = w'u` and
`m(q) = softplus(q) - 1` (Rezende & Mohamed 2015, appendix), without which the map need not be
invertible. Then `w'u^ = m > -1`, and the determinant `1 + (1 - t^2) m` with `t = tanh(w'z + b)` is
positive. Everything that does not depend on z is computed for all steps at once.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor


@dataclass(frozen=True)
class Steps:
    """Parameters of K steps for each column, `[R, K, d or 1, 1, B]`; symbols as above."""

    u: Tensor
    w: Tensor
    b: Tensor
    q: Tensor
    m: Tensor
    squared: Tensor
    kappa: Tensor
    u_hat: Tensor


@dataclass(frozen=True)
class Path:
    """What the derivatives of a transformation need.

    Attributes:
        steps: the steps.
        inputs: z before each step, `[R, K, d, T, B]`.
        t: `[R, K, 1, T, B]`.
        determinant: of each step, `[R, K, 1, T, B]`.
    """

    steps: Steps
    inputs: Tensor
    t: Tensor
    determinant: Tensor


def make_steps(raw: Tensor, latents: int) -> Steps:
    """Return the steps with parameters `raw`, `[R, K (2 d + 1), B]`: u, w and b of each step."""
    by_step = raw.unflatten(1, (-1, 2 * latents + 1)).unsqueeze(3)
    u, w, b = by_step.split([latents, latents, 1], 2)
    q, squared = (w * u).sum(2, keepdim=True), w.square().sum(2, keepdim=True)
    m = F.softplus(q) - 1
    kappa = (m - q) / squared
    return Steps(u, w, b, q, m, squared, kappa, torch.addcmul(u, kappa, w))


def transform(z: Tensor, steps: Steps) -> tuple[Tensor, Tensor, Path]:
    """Apply all steps.

    Args:
        z: `[R, d, T, B]`.
        steps: the steps.

    Returns:
        The transformed z; the log-determinant `[R, T, B]`; the path.
    """
    inputs, ts = [], []
    for k in range(steps.u.shape[1]):
        inputs.append(z)
        t = torch.add((steps.w[:, k] * z).sum(1, keepdim=True), steps.b[:, k]).tanh_()
        z = torch.addcmul(z, steps.u_hat[:, k], t)
        ts.append(t)
    t = torch.stack(ts, 1)
    determinant = 1 + (1 - t.square()) * steps.m
    return z, determinant.log().sum((1, 2)), Path(steps, torch.stack(inputs, 1), t, determinant)


def backward(slope: Tensor, factor: Tensor, path: Path) -> tuple[Tensor, Tensor]:
    """Differentiate a loss that has the term `-factor * log-determinant`.

    Args:
        slope: gradient at the transformed z, `[R, d, T, B]`.
        factor: `[R or 1, 1, T or 1, B or 1]`.
        path: of `transform`.

    Returns:
        The gradient at the first z, and that at the parameters `[R, K (2 d + 1), B]`.
    """
    s, t = path.steps, path.t
    curve, c = 1 - t.square(), factor.unsqueeze(1)
    from_determinant = 2 * c * t * s.m / path.determinant
    slopes, at_a = [], []
    for k in reversed(range(t.shape[1])):
        slopes.append(slope)
        pull = (s.u_hat[:, k] * slope).sum(1, keepdim=True).add_(from_determinant[:, k])
        a = pull.mul_(curve[:, k])
        slope = torch.addcmul(slope, a, s.w[:, k])
        at_a.append(a)
    each, at_b = torch.stack(slopes[::-1], 1), torch.stack(at_a[::-1], 1)
    pulled = t * each
    along = (s.w * pulled).sum(2, keepdim=True)
    sigmoid = s.q.sigmoid()
    at_q = along * (sigmoid - 1) / s.squared - c * curve / path.determinant * sigmoid
    at_u = pulled + at_q * s.w
    at_w = at_b * path.inputs + s.kappa * pulled + at_q * s.u
    at_w = at_w - 2 * s.kappa * along / s.squared * s.w
    parameters = torch.cat([part.sum(3) for part in (at_u, at_w, at_b)], 2)
    return slope, parameters.flatten(1, 2)
