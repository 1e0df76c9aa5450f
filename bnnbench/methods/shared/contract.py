"""The contract of a method, and nothing else.

To add one: a file in `bnnbench/methods` with a frozen dataclass that derives from `Method` (or from
`StochasticMethod` in `stochastic.py`, which brings the stacked trainer), and a YAML in
`configs/method` whose `_target_` names it. There is no registry.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from torch import Tensor

from bnnbench.checks import check_between
from bnnbench.identity import no_identity
from bnnbench.nn import MLP
from bnnbench.random_streams import Streams
from bnnbench.settings import Network, Training
from bnnbench.types import Hyper, Prediction, TrainingSet

LEARNT = "learnt"
"""In the place of a precision that a method finds by itself as it fits."""


@dataclass(frozen=True)
class FitTask:
    """What a method is given to fit: R training sets and their hyper-parameters.

    Attributes:
        data: standardised training sets.
        hyper: per-replica hyper-parameters, `[R, 1]` each.
        network: the architecture.
        training: epochs, batch size, samples and so on.
        epochs: passes over the data in this fit.
        streams: random numbers, one stream per group of replicas.
        compile: whether this fit is one of many of its shape, worth a compiled step.
        outputs: of a network, per input; set by the method, whose likelihood knows.
        trace: random numbers for recording the objective after every epoch, apart from `streams`
            so that recording changes no number; None records nothing.
    """

    data: TrainingSet
    hyper: Hyper
    network: Network
    training: Training
    epochs: int
    streams: Streams
    compile: bool = False
    outputs: int = 1
    trace: Streams | None = None

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
        hyper: as given to the fit.
        mlp: shape of the networks.
        counts: training rows of each replica, `[R, 1]`.
        diverged: `[R]` bool; a diverged replica is frozen at its last finite epoch.
        trace: the objective after every epoch, where it was asked for and the method records it:
            `loss` and `complexity`, `[epochs, R]` each (see `objective_trace`).
        diagnostics: what the fit says of its own quality, `[R]` each: columns `diag.*` of a run.
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
    """What a method says of the quality of its predictions of some rows.

    Attributes:
        points: `[R, M]` each: columns beside a run's predictions.
        summary: `[R]` each: columns `diag.*` of a run.
    """

    points: Mapping[str, Tensor] = field(default_factory=dict)
    summary: Mapping[str, Tensor] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Method(ABC):
    """A way to fit and to predict.

    Attributes:
        label: names the run in paths and tables.
        summary: one line for `bnnbench list`.
        own_hyper_names: class attribute, the hyper-parameters of the method itself.
        records_objective: class attribute, whether a fit records its objective where it is asked
            to (`FitTask.trace`).
        linear_only: class attribute, whether it takes networks without hidden layers alone, and
            `check` refuses others.
        trains_network: class attribute, whether settings of networks and of training mean anything
            to it; where not, runs that differ in them are one run.
        most_rows: class attribute, the largest training part that it takes; None is any.
        variants: class attribute, settings besides the defaults with which other code runs. The
            tests hold each of them to the contract, like the method as its YAML has it.

    A method that takes any likelihood has a field `likelihood`; one without is made for
    `likelihood=gaussian` with `loss=nll`.
    """

    label: str
    summary: str = no_identity("")
    own_hyper_names: ClassVar[tuple[str, ...]] = ()
    records_objective: ClassVar[bool] = False
    linear_only: ClassVar[bool] = False
    trains_network: ClassVar[bool] = True
    most_rows: ClassVar[int | None] = None
    variants: ClassVar[tuple[Mapping[str, Any], ...]] = ()

    def __post_init__(self) -> None:
        for name, value in self.fixed().items():
            check_between(f"method.{name}", value, 0, 1 if name == "dropout" else float("inf"))

    @property
    def family(self) -> str:
        """The name of its file, which all presets of a method share: `bbb` for `bbb_x2`.

        Of a class from outside its full name, so that none is taken for one of ours.
        """
        module = type(self).__module__
        ours = module.startswith("bnnbench.")
        return module.rpartition(".")[2] if ours else f"{module}.{type(self).__qualname__}"

    @property
    def hyper_names(self) -> tuple[str, ...]:
        """The hyper-parameters that are searched unless fixed.

        Each is also a field `float | None`: None is searched, a number is fixed.
        """
        return self.own_hyper_names

    def parameters(self, mlp: MLP) -> int:
        """How many numbers a fit learns, which information criteria count."""
        return mlp.n_weights

    @property
    def stack_splits(self) -> bool:
        """Whether all splits advance together on the CPU too.

        For steps so small that launching them costs more than computing them.
        """
        return False

    @property
    def native(self) -> bool:
        """Whether whole epochs of a fit on this machine's CPU are one call of native code."""
        return False

    @property
    def fusible(self) -> bool:
        """Whether `torch.compile` speeds its steps up: not where most of them is native code."""
        return True

    def seconds(self, rows: int) -> float:
        """Roughly those of one fit, for a method that trains no network; the others' are known."""
        return 0.01

    @property
    def gradients(self) -> int:
        """How many of all rows an epoch takes of each replica: one, but for a method of many.

        Where these are native code, splits gain nothing by a stack, and are fitted and
        saved one by one.
        """
        return 1

    @property
    def draws(self) -> bool:
        """Whether `predict` draws random numbers, so that it differs from seed to seed."""
        return True

    @property
    def point_estimate(self) -> bool:
        """Whether it predicts by one network, sure of itself: no epistemic variance at all."""
        return False

    def fixed(self) -> dict[str, float]:
        """Hyper-parameters that carry a value."""
        values = {name: getattr(self, name) for name in self.hyper_names}
        return {name: value for name, value in values.items() if value is not None}

    def check(self, inputs: int, network: Network) -> None:
        """Raises `UserError` if such a network is more than the method can do; most do any."""
        return

    def together(self, others: Sequence[Method], each: int) -> Method | None:
        """A method for one stack: `each` replicas are fitted as by this one, then by each other.

        None unless the methods are alike but for what replicas of one stack may differ in, which
        for most methods is nothing beyond the hyper-parameters.
        """
        return None

    @abstractmethod
    def fit(self, task: FitTask) -> Posterior:
        """Fits every replica; replicas never influence each other."""

    @abstractmethod
    def predict(
        self, posterior: Posterior, inputs: Tensor, samples: int, streams: Streams
    ) -> Prediction:
        """Predicts in standardised units.

        Args:
            posterior: from `fit`.
            inputs: `[R, M, D]`.
            samples: Monte Carlo samples, where the method draws any.
            streams: random numbers.
        """

    def diagnose(self, posterior: Posterior, inputs: Tensor, rows: Sequence[int]) -> Diagnosis:
        """What it can say of its predictions from their inputs alone; of most methods nothing.

        Args:
            posterior: from `fit`.
            inputs: `[R, M, D]`, of the rows that are tested.
            rows: how many of each replica are no padding.
        """
        return Diagnosis()
