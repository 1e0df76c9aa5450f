"""Frozen settings of a run, each checked where it is built."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from bnnbench.checks import check_between, check_bool, check_choice, check_finite, check_int
from bnnbench.identity import no_identity
from bnnbench.types import UserError


@dataclass(frozen=True)
class Network:
    """A fully connected ReLU network (book, section 4.7.3).

    Attributes:
        width: units of every hidden layer, or one number for each of them.
        depth: hidden layers; 0 is a linear model.
    """

    width: int | tuple[int, ...] = 50
    depth: int = 1

    def __post_init__(self) -> None:
        check_int("network.depth", self.depth, least=0)
        for units in self.width if isinstance(self.width, tuple) else (self.width,):
            check_int("network.width", units)
        if len(self.widths) != self.depth:
            raise UserError(
                f"network.width must be a number or a list of network.depth={self.depth} of them, "
                f"not of {len(self.widths)}."
            )

    @property
    def widths(self) -> tuple[int, ...]:
        """Units of each hidden layer."""
        return self.width if isinstance(self.width, tuple) else (self.width,) * self.depth


@dataclass(frozen=True)
class Training:
    """How a stochastic method is trained (book, section 4.7.4).

    Attributes:
        epochs: passes over the training part, in cross-validation fits.
        final_epochs: the same for the final fit.
        batch_size: rows per minibatch; `all`, the whole training part, once `for_rows` is asked.
        samples: Monte Carlo weight samples per step.
        learning_rate: Adam's and Vadam's step size.
        betas: decay of the gradient average and of the squared-gradient average. The book
            prints (0.99, 0.9); the authors' code runs (0.9, 0.99), which is the default.
        dtype: `float32` or `float64`.
        compile: fuse the training step with `torch.compile`: `auto`, `always` or `never`; of no
            consequence where native code takes whole epochs.
    """

    epochs: int = 40
    final_epochs: int = 40
    batch_size: int | str = 32
    samples: int = 10
    learning_rate: float = 0.01
    betas: tuple[float, float] = (0.9, 0.99)
    dtype: str = "float32"
    compile: str = "never"

    def __post_init__(self) -> None:
        for name in ("epochs", "final_epochs", "samples"):
            check_int(f"training.{name}", getattr(self, name))
        if self.batch_size != "all":
            check_int("training.batch_size", self.batch_size)
        check_between("training.learning_rate", self.learning_rate, 0)
        if not isinstance(self.betas, tuple) or len(self.betas) != 2:
            raise UserError(f"training.betas must be two numbers, not {self.betas!r}.")
        for beta in self.betas:
            check_between("training.betas", beta, 0, 1, low_included=True)
        check_choice("training.dtype", self.dtype, ("float32", "float64"))
        check_choice("training.compile", self.compile, ("auto", "always", "never"))

    def for_rows(self, rows: int) -> Training:
        """The same with a number for the batch size `all`.

        Args:
            rows: of the largest training part.
        """
        return replace(self, batch_size=rows) if self.batch_size == "all" else self


@dataclass(frozen=True)
class Evaluation:
    """How a fitted method is scored.

    Attributes:
        samples: Monte Carlo weight samples at test time.
        out_of_fold: after the final fit, fit the folds once more with the chosen values, so that
            the report can recalibrate with predictions of rows the networks have not seen.
        training_part: predict and score the rows trained on too, for information criteria and
            figures of the fit.
        trace: record the objective of the final fit after every epoch.
        mixture: keep the predictive mixture of every test point, component by component, so that
            predictive distributions can be compared. It changes no number, so runs that differ in
            it are one run.
    """

    samples: int = 100
    out_of_fold: bool = True
    training_part: bool = False
    trace: bool = False
    mixture: bool = no_identity(False)

    def __post_init__(self) -> None:
        check_int("evaluation.samples", self.samples)
        for name in ("out_of_fold", "training_part", "trace", "mixture"):
            check_bool(f"evaluation.{name}", getattr(self, name))


@dataclass(frozen=True)
class Dimension:
    """One searched hyper-parameter, log-uniform between two positive bounds."""

    name: str
    low: float
    high: float

    def __post_init__(self) -> None:
        for bound in (self.low, self.high):
            check_finite(f"bounds.{self.name}", bound)
        check_between(f"bounds.{self.name}", self.low, 0)
        if not self.high > self.low:
            raise UserError(
                f"bounds.{self.name} must rise from low to high, not {self.low:g} to {self.high:g}."
            )

    def at_bound(self, value: float, tolerance: float = 0.01) -> bool:
        """Whether `value` lies within `tolerance` of the log-range's ends."""
        place = (math.log(value) - math.log(self.low)) / (math.log(self.high) - math.log(self.low))
        return place < tolerance or place > 1 - tolerance
