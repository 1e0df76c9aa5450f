"""Settings of a run as frozen dataclasses, which check their values."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

from bnnbench.constraints import (
    Between,
    Checked,
    Count,
    Finite,
    ListOf,
    OneOf,
    Positive,
    Whole,
    Word,
    check_between,
    check_int,
)
from bnnbench.identity import no_identity, optional_identity
from bnnbench.types import UserError


@dataclass(frozen=True)
class Network(Checked):
    """A fully connected ReLU network (book, section 4.7.3).

    Attributes:
        width: units of every hidden layer, or a tuple with one number per layer.
        depth: number of hidden layers; 0 is a linear model.
    """

    identity_name = "bnnbench.settings.Network"
    width: int | tuple[int, ...] = 50
    depth: Annotated[int, Whole(0)] = 1
    key: ClassVar[str] = "network"

    def check(self) -> None:
        for units in self.widths:
            check_int("network.width", units)
        if len(self.widths) != self.depth:
            raise UserError(
                f"network.width must be a number or a list of network.depth={self.depth} numbers, "
                f"not of {len(self.widths)}.",
                "network.width",
            )

    @property
    def widths(self) -> tuple[int, ...]:
        """Number of units of each hidden layer."""
        return self.width if isinstance(self.width, tuple) else (self.width,) * self.depth


@dataclass(frozen=True)
class Training(Checked):
    """Training of a stochastic method (book, section 4.7.4).

    Attributes:
        epochs: passes over the training part in cross-validation fits.
        final_epochs: passes over the training part in the final fit.
        batch_size: rows per minibatch; `all` for the whole training part.
        samples: Monte Carlo weight samples per step.
        learning_rate: step size of Adam and Vadam.
        learning_rate_decay: last learning rate of a fit, as a fraction of the first; the rate of
            each epoch is a constant multiple of that of the epoch before.
        betas: decay rates of the averages of gradients and of squared gradients. The book prints
            (0.99, 0.9); the authors' code uses (0.9, 0.99), which is the default.
        dtype: `float32` or `float64`.
        compile: whether to compile the training step with `torch.compile`: `auto`, `always` or
            `never`; ignored by methods with native training.
    """

    identity_name = "bnnbench.settings.Training"
    epochs: Count = 40
    final_epochs: Count = 40
    batch_size: Annotated[int | str, Word("all", Whole())] = 32
    samples: Count = 10
    learning_rate: Positive = 0.01
    betas: Annotated[tuple[float, float], ListOf(Between(0, 1, low_included=True), length=2)] = (
        0.9,
        0.99,
    )
    dtype: Annotated[str, OneOf("float32", "float64")] = "float32"
    compile: Annotated[str, OneOf("auto", "always", "never")] = "never"
    learning_rate_decay: Annotated[float, Between(0, 1, high_included=True)] = optional_identity(
        1.0
    )
    key: ClassVar[str] = "training"

    def at_epoch(self, epoch: int, epochs: int) -> Training:
        """Return these settings with the learning rate of an epoch, counted from 0."""
        if self.learning_rate_decay == 1:
            return self
        factor = self.learning_rate_decay ** (epoch / max(1, epochs - 1))
        return replace(self, learning_rate=factor * self.learning_rate)

    def with_batch_size(self, rows: int) -> Training:
        """Replace the batch size `all` by a number.

        Args:
            rows: size of the largest training part.
        """
        return replace(self, batch_size=rows) if self.batch_size == "all" else self


@dataclass(frozen=True)
class Evaluation(Checked):
    """How a fitted method is scored, and what is saved.

    Attributes:
        samples: Monte Carlo weight samples at test time.
        out_of_fold: whether to fit the folds again with the chosen values after the final fit, so
            that the report can recalibrate with predictions of held-out rows.
        score_training_rows: whether to predict and score the training rows too, for information
            criteria and figures of the fit.
        save_objective: whether to record the objective of the final fit after every epoch.
        save_predictive_mixture: whether to save the components of every predictive distribution, so
            that distributions can be compared; changes no result, so not part of the identity.
        save_fold_predictions: whether to save what the networks of each fold predict for the test
            rows, with `out_of_fold`, for CV+ intervals; changes no result either.
    """

    identity_name = "bnnbench.settings.Evaluation"
    samples: Count = 100
    out_of_fold: bool = True
    score_training_rows: bool = False
    save_objective: bool = False
    save_predictive_mixture: bool = no_identity(False)
    save_fold_predictions: bool = no_identity(False)
    key: ClassVar[str] = "evaluation"


PRECISIONS = ("noise_precision", "prior_precision")
"""Hyper-parameters whose value depends on the units of the target."""

BATCH_SIZE = "batch_size"
"""The setting of the training that a search can choose like a hyper-parameter."""


@dataclass(frozen=True)
class Dimension:
    """A searched hyper-parameter, log-uniform between two positive bounds.

    Attributes:
        name: of the hyper-parameter.
        low: lower bound.
        high: upper bound.
        original_units: whether bounds and values of a precision are in the units of the target.
        values: the only values of a grid, from `low` to `high`; empty for all between the bounds.
    """

    name: str
    low: float
    high: float
    original_units: bool = False
    values: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        if self.values:
            return
        key = f"bounds{'_original_units' * self.original_units}.{self.name}"
        for bound in (self.low, self.high):
            Finite()(key, bound)
        check_between(key, self.low, 0)
        if not self.high > self.low:
            raise UserError(
                f"{key} must be [low, high] with low < high, not [{self.low:g}, {self.high:g}].",
                key,
            )

    def at_bound(self, value: float, tolerance: float = 0.01) -> bool:
        """Whether `value` is within a fraction `tolerance` of the log-range from a bound.

        A single value is not a bound.
        """
        if self.low == self.high:
            return False
        scaled = (math.log(value) - math.log(self.low)) / (math.log(self.high) - math.log(self.low))
        return scaled < tolerance or scaled > 1 - tolerance
