"""Gauss-Newton matrices of a stack of networks: full, Kronecker-factored or diagonal.

`H = sum_n J_n' C_n J_n`, with `J_n` `[O, P]` the Jacobian of a network's outputs at row n and
`C_n` the expected second derivatives of the loss, given by their roots
(`Likelihood.curvature_roots`). H is the expected Hessian of the summed loss of a network that is
linear in its weights. It is positive semi-definite, so `H + prior I` is invertible.

Everything is float64: the eigenvalues of `H` can reach the noise precision times the number of
rows times squared activations, while the prior precision can be far below one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from bnnbench.nn import Layer

State = Mapping[str, Tensor]

MAX_MATRIX_ELEMENTS = 4_000_000  # factorised at once: 32 MB


@dataclass(frozen=True)
class CurvatureRows:
    """A chunk of rows of every replica, with their contributions to H.

    Attributes:
        real: `[R, B]`, 1, or 0 on padding.
        roots: for each root of C, its gradient at every row (`nn.outer_factors`), zero on padding.
    """

    real: Tensor
    roots: Sequence[Sequence[Layer]]


class Curvature(ABC):
    """A structure of H: how to accumulate, invert and use it.

    P is the number of uncertain weights: those of the whole network, or of its last layer.
    """

    @abstractmethod
    def collect(self, rows: Iterable[CurvatureRows]) -> dict[str, Tensor]:
        """Sum H over all rows, as tensors with the replica axis first."""

    @abstractmethod
    def eigenvalues(self, collected: State) -> Tensor:
        """Return the eigenvalues of H, `[R, P]`, in any order."""

    @abstractmethod
    def invert(self, collected: State, prior: Tensor) -> dict[str, Tensor]:
        """Return the state that the methods below need; may overwrite `collected`.

        Args:
            collected: from `collect`.
            prior: `[R, 1]`.
        """

    @abstractmethod
    def variance(self, state: State, gradients: Sequence[Layer]) -> Tensor:
        """Return `g' (H + prior I)^-1 g` for each row's gradient g, `[R, B]`."""

    @abstractmethod
    def correlate(self, state: State, noise: Tensor) -> Tensor:
        """Return `root noise` with `root root' = (H + prior I)^-1`, for noise `[S, R, P]`."""


class Diagonal(Curvature):
    """The diagonal of H: all weights are independent."""

    def collect(self, rows: Iterable[CurvatureRows]) -> dict[str, Tensor]:
        return {"diagonal": _sum(self._squares(piece) for piece in rows)}

    @staticmethod
    def _squares(rows: CurvatureRows) -> Tensor:
        return _sum(
            torch.cat([(h.square().mT @ d.square()).flatten(1) for h, d in gradients], 1)
            for gradients in rows.roots
        )

    def eigenvalues(self, collected: State) -> Tensor:
        return collected["diagonal"]

    def invert(self, collected: State, prior: Tensor) -> dict[str, Tensor]:
        return {"variance": 1 / (collected["diagonal"] + prior)}

    def variance(self, state: State, gradients: Sequence[Layer]) -> Tensor:
        shapes = [(h.shape[2], d.shape[2]) for h, d in gradients]
        pieces = torch.split(state["variance"], [i * o for i, o in shapes], 1)
        return _sum(
            _weighted_squares(h, torch.unflatten(piece, 1, shape), d)
            for (h, d), piece, shape in zip(gradients, pieces, shapes, strict=True)
        )

    def correlate(self, state: State, noise: Tensor) -> Tensor:
        return state["variance"].sqrt() * noise


class Kronecker(Curvature):
    """Independent layers, each with the matrix `A x G` (Ritter et al. 2018, section 3).

    `A = mean_n h_n h_n'` of the layer's input with a one appended, and `G = sum_n d_n' d_n` of the
    gradients at its pre-activations: the mean of Kronecker products is approximated by the product
    of the means. Exact if either factor is the same for every row, as in a linear model with one
    output.

    Ritter et al. add the root of the prior to both factors; here, as in Daxberger et al. 2021,
    `A x G + prior I` is inverted exactly with the eigenvectors of the factors.
    """

    def collect(self, rows: Iterable[CurvatureRows]) -> dict[str, Tensor]:
        sums: dict[str, Tensor] = {}
        count = torch.zeros((), dtype=torch.float32, device="cpu")
        for piece in rows:
            count = count + piece.real.sum(1)[:, None, None]
            for layer, (h, _) in enumerate(piece.roots[0]):
                products = {f"inputs_{layer}": (h * piece.real[:, :, None]).mT @ h}
                deltas = [gradients[layer][1] for gradients in piece.roots]
                products[f"outputs_{layer}"] = _sum(d.mT @ d for d in deltas)
                sums |= {n: sums[n] + p if n in sums else p for n, p in products.items()}
        return {n: p / count if n.startswith("inputs") else p for n, p in sums.items()}

    def eigenvalues(self, collected: State) -> Tensor:
        return torch.cat([values.flatten(1) for values, _, _ in _eigen(collected)], 1)

    def invert(self, collected: State, prior: Tensor) -> dict[str, Tensor]:
        """Store the factors, not their eigenvectors, which are not unique.

        Stacking changes the last bits of a network. Stored factors change by as much, whereas
        eigenvectors of repeated eigenvalues could change completely.
        """
        return {**collected, "prior": prior}

    def variance(self, state: State, gradients: Sequence[Layer]) -> Tensor:
        prior = state["prior"][:, :, None]
        return _sum(
            _weighted_squares(h @ left, 1 / (values + prior), d @ right)
            for (h, d), (values, left, right) in zip(gradients, _eigen(state), strict=True)
        )

    def correlate(self, state: State, noise: Tensor) -> Tensor:
        eigen = list(_eigen(state))
        scales = [(values + state["prior"][:, :, None]).rsqrt() for values, _, _ in eigen]
        pieces = torch.split(noise, [scale[0].numel() for scale in scales], 2)
        correlated = []
        for (_, left, right), scale, piece in zip(eigen, scales, pieces, strict=True):
            # The symmetric root does not depend on the choice of eigenvectors.
            matrix = torch.unflatten(piece, 2, scale.shape[1:])
            turned = torch.einsum("rki,srkl,rlj->srij", left, matrix, right)
            back = torch.einsum("rki,srij,rlj->srkl", left, scale * turned, right)
            correlated.append(back.flatten(2))
        return torch.cat(correlated, 2)


class Full(Curvature):
    """The full matrix H: memory P^2 and time P^3 per network."""

    def collect(self, rows: Iterable[CurvatureRows]) -> dict[str, Tensor]:
        total: Tensor | None = None
        for piece in rows:
            for gradients in piece.roots:
                jacobian = jacobian_rows(gradients)
                if total is None:
                    total = jacobian.new_zeros(len(jacobian), *[jacobian.shape[2]] * 2)
                total.baddbmm_(jacobian.mT, jacobian)
        assert total is not None
        return {"matrix": total}

    def eigenvalues(self, collected: State) -> Tensor:
        pieces = _chunks(collected["matrix"])
        return torch.cat([torch.linalg.eigvalsh(piece) for piece in pieces]).clamp(min=0)

    def invert(self, collected: State, prior: Tensor) -> dict[str, Tensor]:
        """Store the inverse transpose of the Cholesky factor, in place; NaN if there is none."""
        matrix = collected["matrix"]
        matrix.diagonal(dim1=1, dim2=2).add_(prior)
        identity = torch.eye(matrix.shape[1], dtype=matrix.dtype, device=matrix.device)
        for piece in _chunks(matrix):
            factor, failed = torch.linalg.cholesky_ex(piece)
            piece.copy_(torch.linalg.solve_triangular(factor, identity, upper=False).mT)
            piece.masked_fill_((failed > 0)[:, None, None], torch.nan)
        return {"root": matrix}

    def variance(self, state: State, gradients: Sequence[Layer]) -> Tensor:
        return torch.bmm(jacobian_rows(gradients), state["root"]).square().sum(2)

    def correlate(self, state: State, noise: Tensor) -> Tensor:
        return torch.bmm(state["root"], noise.permute(1, 2, 0)).permute(2, 0, 1)


CURVATURES: Mapping[str, Curvature] = {
    "diagonal": Diagonal(),
    "kronecker": Kronecker(),
    "full": Full(),
}


def scaled(collected: State, factor: Tensor) -> dict[str, Tensor]:
    """Return `factor H` from the tensors of `Curvature.collect`, for a factor `[R, 1]`."""
    factors = {name: factor.view(-1, *[1] * (t.ndim - 1)) for name, t in collected.items()}
    return {
        name: tensor if name.startswith("inputs") else factors[name] * tensor
        for name, tensor in collected.items()
    }


def _sum(tensors: Iterable[Tensor]) -> Tensor:
    first, *others = tensors
    for other in others:
        first = first + other
    return first


def jacobian_rows(gradients: Sequence[Layer]) -> Tensor:
    """Return each row's gradient (`nn.outer_factors`) as a flat vector, `[R, B, P]`."""
    return torch.cat([(h.unsqueeze(3) * d.unsqueeze(2)).flatten(2) for h, d in gradients], 2)


def _weighted_squares(h: Tensor, variances: Tensor, d: Tensor) -> Tensor:
    """Return `sum_ij h_i^2 variances_ij d_j^2`, `[R, B]`."""
    return (torch.bmm(h.square(), variances) * d.square()).sum(2)


def _eigen(state: State) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
    """Yield eigenvalues `[R, i, j]` of each layer's `A x G`, and eigenvectors of A and G."""
    for layer in range(sum(name.startswith("inputs") for name in state)):
        factors = (state[f"inputs_{layer}"], state[f"outputs_{layer}"])
        (a, left), (g, right) = (torch.linalg.eigh(factor) for factor in factors)
        yield a.clamp(min=0)[:, :, None] * g.clamp(min=0)[:, None, :], left, right


def _chunks(matrices: Tensor) -> Sequence[Tensor]:
    """Split the matrices `[R, P, P]` into chunks, as views."""
    return torch.split(matrices, max(1, MAX_MATRIX_ELEMENTS // matrices[0].numel()))
