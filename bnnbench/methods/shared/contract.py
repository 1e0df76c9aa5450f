"""The interface of a method.

To add a method, put a frozen dataclass that derives from `Method` (or from `StochasticMethod` in
`stochastic.py`, which uses the stacked trainer) into a file in `bnnbench/methods`, and add a YAML
file in `configs/method` whose `_target_` names it. There is no registry.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar

from torch import Tensor

from bnnbench.constraints import Between, Checked, ListOf, Word
from bnnbench.identity import no_identity
from bnnbench.nn import MLP
from bnnbench.random_streams import Streams
from bnnbench.settings import Network, Training
from bnnbench.types import Hyper, Prediction, TrainingSet

LEARNED = "learned"
"""Value of a precision that the method learns during the fit."""

LearnablePrecision = Annotated[float | str | None, Word(LEARNED, Between(0))]
"""A precision: `learned`, a number, or None to search it."""

ShapeAndRate = Annotated[tuple[float, float], ListOf(Between(0), length=2)]
"""Parameters of a Gamma distribution over a precision."""


@dataclass(frozen=True)
class FitTask:
    """The input of a fit: R training sets and their hyper-parameters.

    Attributes:
        data: standardised training sets.
        hyper: per-replica hyper-parameters, `[R, 1]` each.
        network: the architecture.
        training: batch size, learning rate, samples and so on.
        epochs: passes over the data in this fit.
        streams: random numbers, one stream per group of replicas.
        compile: whether to compile the training step, which pays off for many fits of one shape.
        outputs: outputs of a network per input; set by the method from its likelihood.
        trace_streams: random numbers for recording the objective after every epoch, separate from
            `streams` so that recording does not change the fit; None records nothing.
    """

    data: TrainingSet
    hyper: Hyper
    network: Network
    training: Training
    epochs: int
    streams: Streams
    compile: bool = False
    outputs: int = 1
    trace_streams: Streams | None = None

    @property
    def batch_size(self) -> int:
        """Rows per minibatch."""
        return int(self.training.batch_size)

    @property
    def mlp(self) -> MLP:
        return MLP.of(self.data.inputs.shape[-1], self.network, self.outputs)


@dataclass(frozen=True)
class Posterior:
    """R fitted posteriors.

    Attributes:
        state: the method's own tensors, replica axis first.
        hyper: the hyper-parameters in effect, given or learned.
        mlp: shape of the networks.
        counts: training rows of each replica, `[R, 1]`.
        diverged: `[R]` bool; a diverged replica is frozen at its last finite epoch.
        trace: the objective after every epoch, if requested and recorded by the method: `loss` and
            `complexity`, `[epochs, R]` each (see `objective_trace`).
        diagnostics: quality measures of the fit, `[R]` each: columns `diag.*` of a run.
    """

    state: Mapping[str, Tensor]
    hyper: Hyper
    mlp: MLP
    counts: Tensor
    diverged: Tensor
    trace: Mapping[str, Tensor] = field(default_factory=dict)
    diagnostics: Mapping[str, Tensor] = field(default_factory=dict)


@dataclass(frozen=True)
class Diagnosis:
    """Quality measures of the predictions of some rows.

    Attributes:
        points: per row, `[R, M]` each: extra columns of a run's predictions.
        summary: per replica, `[R]` each: columns `diag.*` of a run.
    """

    points: Mapping[str, Tensor] = field(default_factory=dict)
    summary: Mapping[str, Tensor] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Method(Checked, ABC):
    """Base class of all methods.

    Attributes:
        label: name of the method in paths and tables.
        summary: one line for `bnnbench list`.
        own_hyper_names: class attribute, the method's hyper-parameters besides the likelihood's.
        records_objective: class attribute, whether a fit can record its objective
            (`FitTask.trace_streams`).
        linear_only: class attribute, whether it only supports networks without hidden layers;
            `check_network` rejects others.
        trains_network: class attribute, whether network and training settings affect it. If not,
            runs that differ only in those settings are the same run.
        max_rows: class attribute, the largest training part it accepts; None for no limit.
        variants: class attribute, non-default settings that run different code. The tests check
            each of them against this interface, in addition to the settings of the YAML file.

    A method that accepts any likelihood has a field `likelihood`; one without it only supports
    `likelihood=gaussian` with `loss=nll`.
    """

    label: str
    summary: str = no_identity("")
    own_hyper_names: ClassVar[tuple[str, ...]] = ()
    records_objective: ClassVar[bool] = False
    linear_only: ClassVar[bool] = False
    trains_network: ClassVar[bool] = True
    max_rows: ClassVar[int | None] = None
    variants: ClassVar[tuple[Mapping[str, Any], ...]] = ()
    key: ClassVar[str] = "method"

    @property
    def family(self) -> str:
        """The name of its file, shared by all presets of a method: `bbb` for `bbb_x2`.

        A class from outside `bnnbench` gives its full name, to avoid clashes with built-in names.
        """
        module = type(self).__module__
        built_in = module.startswith("bnnbench.")
        return module.rpartition(".")[2] if built_in else f"{module}.{type(self).__qualname__}"

    @property
    def hyper_names(self) -> tuple[str, ...]:
        """The hyper-parameters that are searched unless fixed.

        Each is also a field `float | None`: None means searched, a number means fixed.
        """
        return self.own_hyper_names

    def n_parameters(self, mlp: MLP) -> int:
        """Number of learned parameters, as counted by information criteria."""
        return mlp.n_weights

    @property
    def stack_splits(self) -> bool:
        """Whether to train all splits in one stack on the CPU too.

        This pays off if launching a step costs more than computing it.
        """
        return False

    @property
    def native(self) -> bool:
        """Whether a fit on the CPU of this machine runs whole epochs in native code."""
        return False

    @property
    def portable(self) -> bool:
        """Whether results on the CPU of this machine are the same on every x86-64 processor."""
        return False

    @property
    def benefits_from_compile(self) -> bool:
        """Whether `torch.compile` speeds up its steps; False if most of a step is native code."""
        return True

    def fit_seconds(self, rows: int) -> float:
        """Rough duration of one fit; used only for methods that do not train a network."""
        return 0.01

    @property
    def gradients_per_epoch(self) -> int:
        """Gradients of every data row per epoch and replica; 1 unless it trains several networks.

        If more than 1 and native, stacking does not speed splits up: they are fitted and saved one
        by one.
        """
        return 1

    @property
    def is_stochastic(self) -> bool:
        """Whether `predict` draws random numbers, so that its result depends on the seed."""
        return True

    @property
    def point_estimate(self) -> bool:
        """Whether it predicts with a single network, without epistemic variance."""
        return False

    def fixed_hyper(self) -> dict[str, float]:
        """Return the hyper-parameters that are fixed to a value."""
        values = {name: getattr(self, name) for name in self.hyper_names}
        return {name: value for name, value in values.items() if value is not None}

    def check_network(self, inputs: int, network: Network) -> None:
        """Raise `UserError` if the method does not support such a network."""
        return

    def merge_for_stacking(self, others: Sequence[Method], replicas_each: int) -> Method | None:
        """Return one method that trains replicas of all these configurations in one stack.

        The stack has `replicas_each` replicas of this configuration, then as many of each other.
        Returns None if the configurations differ in settings that one stack cannot combine. Most
        methods can only combine different hyper-parameters.
        """
        return None

    @abstractmethod
    def fit(self, task: FitTask) -> Posterior:
        """Fit every replica; replicas never influence each other."""

    @abstractmethod
    def predict(
        self, posterior: Posterior, inputs: Tensor, samples: int, streams: Streams
    ) -> Prediction:
        """Predict in standardised units.

        Args:
            posterior: from `fit`.
            inputs: `[R, M, D]`.
            samples: Monte Carlo samples, if the method draws any.
            streams: random numbers.
        """

    def diagnose(self, posterior: Posterior, inputs: Tensor, rows: Sequence[int]) -> Diagnosis:
        """Return quality measures of the predictions; empty unless overridden.

        Args:
            posterior: from `fit`.
            inputs: `[R, M, D]`, of the test rows.
            rows: number of rows of each replica, without padding.
        """
        return Diagnosis()
