"""The contract of a likelihood: what the network's outputs say about a target.

To add one: a file beside this one with a frozen dataclass that derives from `Likelihood`, and a
YAML in `configs/likelihood` whose `_target_` names it. Methods hold one and never ask which.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import ClassVar

from torch import Tensor

from bnnbench.identity import no_identity
from bnnbench.losses.base import Loss
from bnnbench.losses.nll import NLL
from bnnbench.types import Hyper, Prediction


@dataclass(frozen=True, kw_only=True)
class Likelihood(ABC):
    """A Gaussian around the first output; where its variance comes from is the subclass's.

    Attributes:
        label: names it in paths and tables.
        summary: one line for `bnnbench list`.
        loss: what a target costs under its Gaussian.
        outputs: class attribute, the outputs `O` that the network needs.
        hyper_names: class attribute, the hyper-parameters it adds to the method's.
    """

    label: str
    summary: str = no_identity("")
    loss: Loss = field(default_factory=NLL)
    outputs: ClassVar[int]
    hyper_names: ClassVar[tuple[str, ...]]

    @abstractmethod
    def value(self, outputs: Tensor, targets: Tensor, hyper: Hyper) -> Tensor:
        """The loss of each point, constants included, `[S, R, B]`.

        Args:
            outputs: `[S, R, B, O]`, standardised units.
            targets: `[R, B]`.
            hyper: `[R, 1]` each.
        """

    @abstractmethod
    def gradient(self, outputs: Tensor, targets: Tensor, weights: Tensor, hyper: Hyper) -> Tensor:
        """Gradient of `sum_b weights[b] value[b]` at the outputs, `[S, R, B, O]`.

        Args:
            outputs: `[S, R, B, O]`, standardised units.
            targets: `[R, B]`.
            weights: `[R, B]`, zero on padding; mask / (real rows) gives the minibatch mean.
            hyper: `[R, 1]` each.
        """

    @abstractmethod
    def curvature_roots(self, outputs: Tensor, weights: Tensor, hyper: Hyper) -> tuple[Tensor, ...]:
        """Roots of the expected second derivatives at the outputs, `[S, R, B, O]` each.

        Each holds one output's `sqrt(weights[b] E[second derivative])` and zeros for the others,
        so that the generalised Gauss-Newton matrix's diagonal is the sum of their
        `squared_backward`s (book, eq. A.13; the expectation is that of `Loss.curvatures`).
        """

    @abstractmethod
    def prediction(self, outputs: Tensor, hyper: Hyper) -> Prediction:
        """One Gaussian per sample and point, from outputs `[S, R, M, O]`."""
