"""The interface of a likelihood: the distribution of a target given the network's outputs.

To add a likelihood, write a frozen dataclass in this folder that derives from `Likelihood`, and a
YAML file in `configs/likelihood` whose `_target_` names it. Methods work with any of them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import ClassVar

from torch import Tensor

from bnnbench.constraints import Checked
from bnnbench.losses.base import Loss
from bnnbench.losses.nll import NLL
from bnnbench.types import Hyper, Prediction


@dataclass(frozen=True, kw_only=True)
class Likelihood(Checked, ABC):
    """A Gaussian around the first output, whose variance the subclass defines.

    Attributes:
        label: its name in paths and tables.
        loss: the training loss of a target under the Gaussian.
        outputs: class attribute, the number of network outputs `O`.
        hyper_names: class attribute, the hyper-parameters it adds to those of the method.
    """

    label: str
    loss: Loss = field(default_factory=NLL)
    outputs: ClassVar[int]
    hyper_names: ClassVar[tuple[str, ...]]
    key: ClassVar[str] = "likelihood"

    @abstractmethod
    def value(self, outputs: Tensor, targets: Tensor, hyper: Hyper) -> Tensor:
        """Return the loss of each point with all constants, `[S, R, B]`.

        Args:
            outputs: `[S, R, B, O]`, standardised units.
            targets: `[R, B]`.
            hyper: `[R, 1]` each.
        """

    @abstractmethod
    def gradient(self, outputs: Tensor, targets: Tensor, weights: Tensor, hyper: Hyper) -> Tensor:
        """Return the gradient of `sum_b weights[b] value[b]` at the outputs, `[S, R, B, O]`.

        Args:
            outputs: `[S, R, B, O]`, standardised units.
            targets: `[R, B]`.
            weights: `[R, B]`, zero on padding; mask / (number of real rows) gives the mean over
                the minibatch.
            hyper: `[R, 1]` each.
        """

    @abstractmethod
    def curvature_roots(self, outputs: Tensor, weights: Tensor, hyper: Hyper) -> tuple[Tensor, ...]:
        """Return square roots of the expected second derivatives, `[S, R, B, O]` per output.

        Each holds `sqrt(weights[b] E[second derivative])` for one output and zeros for the others,
        so that the diagonal of the generalised Gauss-Newton matrix is the sum of their
        `squared_backward`s (book, eq. A.13; the expectation is that of `Loss.curvatures`).
        """

    @abstractmethod
    def prediction(self, outputs: Tensor, hyper: Hyper) -> Prediction:
        """Return one Gaussian per sample and point, from outputs `[S, R, M, O]`."""
