"""Planar flows with amortised parameters, and their derivatives (book, 5.5.1.3).

A step is `z' = z + u^ tanh(w'z + b)` (5.21) with `u^ = u + (m(q) - q) w / |w|^2`, `q = w'u` and
`m(q) = softplus(q) - 1` (Rezende & Mohamed 2015, appendix), without which the map need not be
invertible. Then `w'u^ = m > -1`, and the determinant `1 + (1 - t^2) m` with `t = tanh(w'z + b)` is
positive. Everything that does not depend on z is computed for all steps at once.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

SMALL = 0.01
"""Determinant below which the difference `1 + (1 - t^2) m` has lost digits."""


class Flow:
    """K steps for each of `B` columns with `T` samples each, in buffers.

    Write the parameters and `first`; then call `forward` and, if needed, `backward`. The axes of
    buffers are `[R, K, d or 1, T or 1, B]`, symbols as above.

    Args:
        raw: parameters, `[R, K (2 d + 1), B]`: u, w and b of each step; read in every call.
        raw_slope: buffer for the gradient at `raw`.
        latents: `d`.
        samples: `T`.

    Attributes:
        first: buffer for z before the first step, `[R, d, T, B]`.
        log_determinant: `[R, T, B]`.
    """

    def __init__(self, raw: Tensor, raw_slope: Tensor, latents: int, samples: int) -> None:
        sizes = [latents, latents, 1]
        self._u, self._w, self._b = torch.split(_by_step(raw, latents), sizes, 2)
        self._at_u, self._at_w, self._at_b = torch.split(_by_step(raw_slope, latents), sizes, 2)
        replicas, length, _, _, columns = self._u.shape
        self._z = raw.new_empty(replicas, length, latents, samples, columns)
        self._slopes = raw.new_empty(replicas, length + 1, latents, samples, columns)
        self._t = raw.new_empty(replicas, length, 1, samples, columns)
        self._at_a = torch.empty_like(self._t)
        self._u_hat = torch.empty_like(self._u)
        self._product = torch.empty_like(self._z[:, 0])
        self.first = self._z[:, 0]

    def forward(self, last: Tensor) -> None:
        """Apply all steps to `first` and write the result to `last`, `[R, d, T, B]`."""
        self._prepare()
        parts = (self._w, self._b, self._u_hat, self._t)
        inputs = [*self._z.unbind(1), last]
        for k, (w, b, u_hat, t) in enumerate(zip(*(p.unbind(1) for p in parts), strict=True)):
            torch.mul(w, inputs[k], out=self._product)
            torch.sum(self._product, 1, keepdim=True, out=t).add_(b).tanh_()
            torch.addcmul(inputs[k], u_hat, t, out=inputs[k + 1])
        self._curve = 1 - self._t.square()
        self._determinant = self._determinants()
        self.log_determinant = self._determinant.log().sum((1, 2))

    def _determinants(self) -> Tensor:
        """Return `1 + (1 - t^2) m`, where it is small as `t^2 + (1 - t^2) softplus(q)`."""
        found = 1 + self._curve * self._m
        small = found < SMALL
        if small.any():
            # exp(-80) is not zero in float32, and neither are the gradients divided by it.
            positive = F.softplus(self._q.clamp(min=-80))
            exact = torch.addcmul(self._t.square(), self._curve, positive)
            found = torch.where(small, exact, found)
        return found

    def _prepare(self) -> None:
        """Compute what depends on the parameters alone."""
        product = torch.mul(self._w, self._u, out=self._u_hat)
        self._q = product.sum(2, keepdim=True)
        self._squared = torch.square(self._w, out=product).sum(2, keepdim=True)
        self._m = F.softplus(self._q) - 1
        self._kappa = (self._m - self._q) / self._squared
        torch.addcmul(self._u, self._kappa, self._w, out=self._u_hat)

    def backward(self, slope: Tensor, factor: Tensor) -> Tensor:
        """Differentiate a loss that has the term `-factor * log-determinant`.

        Writes the gradient at the parameters to `raw_slope`.

        Args:
            slope: gradient at the transformed z, `[R, d, T, B]`.
            factor: `[R or 1, 1, T or 1, B or 1]`.

        Returns:
            The gradient at `first`, `[R, d, T, B]`.
        """
        weight = factor.unsqueeze(1)
        from_determinant = (2 * weight * self._t).mul_(self._m).div_(self._determinant)
        parts = self._u_hat, self._w, self._curve, from_determinant, self._at_a
        slopes = self._slopes.unbind(1)
        slopes[-1].copy_(slope)
        steps = [*zip(*(part.unbind(1) for part in parts), strict=True)]
        for k, (u_hat, w, curve, constant, at_a) in reversed([*enumerate(steps)]):
            torch.mul(u_hat, slopes[k + 1], out=self._product)
            torch.sum(self._product, 1, keepdim=True, out=at_a).add_(constant).mul_(curve)
            torch.addcmul(slopes[k + 1], at_a, w, out=slopes[k])
        from_determinant = torch.mul(weight, self._curve, out=from_determinant)
        self._parameters_backward(from_determinant.div_(self._determinant).sum(3, keepdim=True))
        return slopes[0]

    def _parameters_backward(self, at_m: Tensor) -> None:
        """Write the gradient at the parameters, given minus the sum over samples of that at m."""
        product = self._u_hat
        _sum_of_products(self._t, self._slopes[:, 1:], self._at_u)
        _sum_of_products(self._at_a, self._z, self._at_w)
        torch.sum(self._at_a, 3, keepdim=True, out=self._at_b)
        along = torch.mul(self._w, self._at_u, out=product).sum(2, keepdim=True)
        sigmoid = self._q.sigmoid()
        at_q = along * (sigmoid - 1) / self._squared - at_m * sigmoid
        self._at_w.add_(torch.mul(self._kappa, self._at_u, out=product))
        self._at_w.add_(torch.mul(at_q, self._u, out=product))
        at_squared = 2 * self._kappa * along / self._squared
        self._at_w.sub_(torch.mul(at_squared, self._w, out=product))
        self._at_u.add_(torch.mul(at_q, self._w, out=product))


def _by_step(raw: Tensor, latents: int) -> Tensor:
    """View `[R, K (2 d + 1), B]` as `[R, K, 2 d + 1, 1, B]`."""
    return torch.unflatten(raw, 1, (-1, 2 * latents + 1)).unsqueeze(3)


def _sum_of_products(left: Tensor, right: Tensor, out: Tensor) -> None:
    """Write the sum over samples of a product, `[R, K, d, 1, B]`."""
    if right.shape[3] == 1:
        torch.mul(left, right, out=out)
    else:
        torch.sum(left * right, 3, keepdim=True, out=out)
