"""The interface of a method.

To add a method, put a frozen dataclass that derives from `Method` (or from `StochasticMethod` in
`trainer.py`, which uses the stacked trainer) into a file in `bnnbench/methods`, and add a YAML
file in `configs/method` whose `_target_` names it. There is no registry.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar

from torch import Tensor

from bnnbench.constraints import Between, Checked, ListOf, Word
from bnnbench.cpp.library import library
from bnnbench.identity import is_of_package, no_identity
from bnnbench.inheritance import Replacement, ends_stand_in, first_replaced
from bnnbench.likelihoods import Likelihood
from bnnbench.native.networks import replaced_part
from bnnbench.nn import MLP
from bnnbench.random_streams import Streams
from bnnbench.settings import Network, Training
from bnnbench.types import Hyper, Prediction, TrainingSet, UserError

LEARNED = "learned"
"""Value of a precision that the method learns during the fit."""

LearnablePrecision = Annotated[float | str | None, Word(LEARNED, Between(0))]
"""A precision: `learned`, a number, or None to search it."""

FIT_AND_PREDICTION = (
    "fit", "init", "kl_weight", "predict", "diagnose", "training_outputs", "complexity",
)  # fmt: skip
"""Names of the functions that compute a run's results, in addition to the training step."""
ALL = "all"
"""Value of `compared_settings` in a record if all settings are compared."""

State = dict[str, Tensor]
"""Tensors of a fit by name, the replica axis first."""

DRAWS, COVARIANCE, MARGINALS = "draws", "covariance", "marginals"
"""Values of `Method.joint`."""

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
        tuned_on_test: whether its settings were chosen with the help of test rows, so that its runs
            are shown but never ranked.
        family: class attribute, shared by all presets of a method: `bbb` for `bbb_x2`. A class that
            does not set its own, such as one from outside the package, has its full name.
        own_hyper_names: class attribute, the method's hyper-parameters besides the likelihood's.
        records_objective: class attribute, whether a fit can record its objective
            (`FitTask.trace_streams`).
        linear_only: class attribute, whether it only supports networks without hidden layers;
            `check_network` rejects others.
        trains_network: class attribute, whether network and training settings affect it. If not,
            runs that differ only in those settings are the same run.
        uses_evidence: class attribute, whether it always determines its precisions by the evidence
            (a marginal likelihood or a posterior).
        compared_settings: class attribute, the settings, besides those of the noise model, that a
            comparison with published values considers; None for all.
        max_rows: class attribute, the largest training part it accepts; None for no limit.
        portable_prediction: class attribute, whether what precedes and follows native training
            uses neither sums nor functions of torch, which depend on the processor.
        native_code: class attribute, the name of the function that native code is called by or
            described in, and those of the functions in whose place it is used.
        native_cost: class attribute, the CPU time of the gradients of a native step relative to
            that of `vadam` for as many networks and weight samples; for estimates of durations.
        variants: class attribute, non-default settings that run different code. The tests check
            each of them against this interface, in addition to the settings of the YAML file.

    A method that accepts any likelihood has a field `likelihood`; one without it only supports
    `likelihood=gaussian` with `loss=nll`.
    """

    label: str
    tuned_on_test: bool = no_identity(False)
    family: ClassVar[str]
    own_hyper_names: ClassVar[tuple[str, ...]] = ()
    records_objective: ClassVar[bool] = False
    linear_only: ClassVar[bool] = False
    trains_network: ClassVar[bool] = True
    uses_evidence: ClassVar[bool] = False
    compared_settings: ClassVar[tuple[str, ...] | None] = None
    max_rows: ClassVar[int | None] = None
    portable_prediction: ClassVar[bool] = False
    native_code: ClassVar[tuple[str, tuple[str, ...]]] = ("", ())
    native_cost: ClassVar[float] = 1.0
    variants: ClassVar[tuple[Mapping[str, Any], ...]] = ()
    key: ClassVar[str] = "method"

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "family" not in vars(cls):
            cls.family = f"{cls.__module__}.{cls.__qualname__}"

    def __post_init__(self) -> None:
        for name in self.own_hyper_names:
            if not hasattr(self, name):
                raise UserError(
                    f"{type(self).__name__}.own_hyper_names contains {name!r}, which is not a "
                    f"field; write `{name}: float | None = None` in the class.",
                    f"method.{name}",
                    "no_field",
                )
        super().__post_init__()

    @property
    def hyper_names(self) -> tuple[str, ...]:
        """The hyper-parameters that are searched unless fixed.

        Each is also a field `float | None`: None means searched, a number means fixed.
        """
        return self.own_hyper_names

    @property
    def search_method(self) -> Method:
        """The method that the search fits, with the same hyper-parameters; itself by default."""
        return self

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
    def uses_batch_size(self) -> bool:
        """Whether `training.batch_size` affects a fit, as far as it is known."""
        compared = self.compared_settings
        return self.trains_network and (compared is None or "training.batch_size" in compared)

    @property
    def native(self) -> bool:
        """Whether a fit on the CPU of this machine runs whole epochs in native code."""
        available = library().code is not None and bool(self.native_parts)
        return available and self.lost_native is None

    @property
    def native_parts(self) -> tuple[object, ...]:
        """The components in whose place native code is used; empty if there is none.

        The method itself, its likelihood and so on, as far as native code supports these settings.
        """
        return ()

    @property
    def lost_native(self) -> Replacement | None:
        """What a class from outside the package replaces, so that native code is not used.

        None if it is used, or not available for these settings in any class.
        """
        if library().code is None:
            return None
        own = (part for part in self.native_parts if not is_of_package(type(part)))
        replaced = (
            ends_stand_in(part, *self.native_code) if part is self else replaced_part(part)
            for part in own
        )
        return next(filter(None, replaced), None)

    @property
    def portable(self) -> bool:
        """Whether results on the CPU of this machine are the same on every x86-64 processor.

        A class from outside the package that replaces a part of the fit or of predictions must set
        `portable_prediction` itself. Likelihoods, losses and divergences cannot promise it.
        """
        promising = next(
            cls
            for cls in type(self).__mro__
            if "portable_prediction" in vars(cls) or is_of_package(cls)
        )
        kept = promising is type(self) or not first_replaced(self, promising, FIT_AND_PREDICTION)
        others = (type(part) for part in self.native_parts if part is not self)
        return self.native and self.portable_prediction and kept and all(map(is_of_package, others))

    @property
    def benefits_from_compile(self) -> bool:
        """Whether `torch.compile` speeds up its steps; False if torch cannot compile them."""
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
    def joint(self) -> str:
        """How it represents the joint distribution of the predictions of several inputs.

        - `draws`: component s of a prediction is the same network for every row.
        - `covariance`: one Gaussian per row, whose joint covariance `joint_covariance` returns.
        - `marginals`: one Gaussian per row, and nothing about their dependence.
        """
        return MARGINALS

    @property
    def point_estimate(self) -> bool:
        """Whether it predicts with a single network, without epistemic variance."""
        return False

    def metadata(self) -> dict[str, Any]:
        """Return the properties of the method that a run records in addition to its settings.

        A subclass of a class of the package that trains a network trains one too, whatever it says.
        """
        trains_network = self.trains_network or any(
            issubclass(cls, Method) and cls is not Method and cls.trains_network
            for cls in type(self).__mro__
            if is_of_package(cls)
        )
        compared = self.compared_settings if trains_network else ()
        return {
            "trains_network": trains_network,
            "hyper_names": list(self.hyper_names),
            "uses_evidence": self.uses_evidence,
            "compared_settings": ALL if compared is None else list(compared),
            "tuned_on_test": self.tuned_on_test,
        }

    def fixed_hyper(self) -> dict[str, float]:
        """Return the hyper-parameters that are fixed to a value."""
        values = {name: getattr(self, name) for name in self.hyper_names}
        return {name: value for name, value in values.items() if value is not None}

    def check_network(self, inputs: int, network: Network) -> None:
        """Raise `UserError` if the method does not support such a network."""
        return

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

    def joint_covariance(self, posterior: Posterior, inputs: Tensor) -> Tensor:
        """Return the epistemic covariance of predictions, `[R, M, M]`, standardised units, float64.

        Only for a method whose `joint` is `covariance`. The diagonal is the epistemic variance of
        `predict`.

        Args:
            posterior: from `fit`.
            inputs: `[R, M, D]`.
        """
        raise NotImplementedError(self.label)

    def diagnose(self, posterior: Posterior, inputs: Tensor, rows: Sequence[int]) -> Diagnosis:
        """Return quality measures of the predictions; empty unless overridden.

        Args:
            posterior: from `fit`.
            inputs: `[R, M, D]`, of the test rows.
            rows: number of rows of each replica, without padding.
        """
        return Diagnosis()


def check_noise_precision(likelihood: Likelihood, value: float | str | None) -> None:
    """Raise `UserError` for a noise precision of networks that predict the noise."""
    if value is not None and "noise_precision" not in likelihood.hyper_names:
        raise UserError(
            f"method.noise_precision={value!r} cannot be combined with "
            f"likelihood={likelihood.label}, which predicts the noise of each point; leave out one "
            "of them.",
            setting="method.noise_precision",
            code="likelihood",
        )
