"""Native training against torch, for every native update."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from support.divergences import divergence, monte_carlo
from support.methods import METHODS as METHOD_OPTIONS
from support.methods import class_of
from support.user_errors import raises_user_error

from bnnbench.cpp.library import library
from bnnbench.inheritance import ends_stand_in
from bnnbench.likelihoods import Gaussian, Heteroscedastic, HeteroscedasticSoftplus
from bnnbench.losses import NLL, Beta
from bnnbench.methods.bb_alpha_dropout import BBAlphaDropout
from bnnbench.methods.bbb import BBB
from bnnbench.methods.deep_ensemble import DeepEnsemble
from bnnbench.methods.dvi import DVI
from bnnbench.methods.ivon import IVON
from bnnbench.methods.map import MAP
from bnnbench.methods.mc_dropout import MCDropout
from bnnbench.methods.pbp import PBP
from bnnbench.methods.practical_vi import PracticalVI
from bnnbench.methods.renyi_vi import RenyiVI
from bnnbench.methods.sghmc import SGHMC
from bnnbench.methods.sgld import SGLD
from bnnbench.methods.shared import trainer
from bnnbench.methods.shared.contract import FitTask, Posterior
from bnnbench.methods.shared.trainer import StochasticMethod, train_natively
from bnnbench.methods.svgd import SVGD
from bnnbench.methods.swag import SWAG
from bnnbench.methods.tagi import TAGI
from bnnbench.methods.vadam import Vadam
from bnnbench.methods.vprop import Vprop
from bnnbench.native import networks as native
from bnnbench.optim import NativeUpdate
from bnnbench.random_streams import Streams
from bnnbench.settings import Network, Training
from bnnbench.types import TrainingSet

pytestmark = pytest.mark.skipif(library().code is None, reason=library().reason)

KL = divergence("kl")
BOTH = Heteroscedastic()
LEARNED = {"noise_precision": "learned"}
GAUSS_NEWTON = {"curvature": "gauss_newton"}
LEARNED_BOTH = LEARNED | {"prior_precision": "learned"}
SHORT_CHAIN = {"step_size": 0.2, "step_offset": 3}
SETTINGS: dict[str, tuple[Callable[..., StochasticMethod], dict[str, Any]]] = {
    "vadam": (Vadam, {}),
    "vadam with a narrow initial posterior": (Vadam, {"initial_precision": 1e4}),
    "vadam of two outputs": (Vadam, {"likelihood": BOTH}),
    "vprop": (Vprop, {}),
    "vprop by squares": (Vprop, {"square_root": False}),
    "bbb": (BBB, {"divergence": KL}),
    "bbb tempered": (BBB, {"divergence": replace(KL, weight=0.3)}),
    "bbb with exponential weights": (BBB, {"divergence": KL, "minibatch_weights": "exponential"}),
    "bbb with a narrow initial posterior": (BBB, {"divergence": KL, "initial_precision": 1e8}),
    "bbb with a wide initial posterior": (BBB, {"divergence": KL, "initial_precision": 1e-3}),
    "bbb without bias prior": (BBB, {"divergence": KL, "weight_init": "zero", "bias_prior": False}),
    "bbb of two outputs": (BBB, {"divergence": KL, "likelihood": BOTH, "initial_precision": 1e3}),
    "practical_vi": (PracticalVI, {}),
    "practical_vi by Gauss-Newton": (PracticalVI, GAUSS_NEWTON),
    "practical_vi of two outputs": (PracticalVI, {"likelihood": BOTH, "initial_precision": 1e3}),
    "practical_vi of two outputs by Gauss-Newton": (
        PracticalVI,
        GAUSS_NEWTON | {"likelihood": BOTH, "initial_precision": 1e3},
    ),
    "practical_vi with a softplus by Gauss-Newton": (
        PracticalVI,
        GAUSS_NEWTON | {"likelihood": HeteroscedasticSoftplus()},
    ),
    "map": (MAP, {}),
    "deep_ensemble": (DeepEnsemble, {"members": 3}),
    "deep_ensemble of two outputs": (DeepEnsemble, {"likelihood": BOTH}),
    "deep_ensemble with a softplus": (DeepEnsemble, {"likelihood": HeteroscedasticSoftplus()}),
    "mc_dropout": (MCDropout, {}),
    "mc_dropout without bias prior": (MCDropout, {"weight_init": "glorot", "bias_prior": False}),
    "mc_dropout of two outputs": (MCDropout, {"likelihood": BOTH}),
    "mc_dropout with gaussian noise": (MCDropout, {"noise": "gaussian"}),
    "bb_alpha_dropout": (BBAlphaDropout, {}),
    "bb_alpha_dropout of order 0": (BBAlphaDropout, {"alpha": 0.0, "bias_prior": False}),
    "bb_alpha_dropout of order -1": (BBAlphaDropout, {"alpha": -1.0, "weight_init": "glorot"}),
    "bb_alpha_dropout with gaussian noise": (BBAlphaDropout, {"alpha": 1.0, "noise": "gaussian"}),
    "bb_alpha_dropout of two outputs": (BBAlphaDropout, {"likelihood": BOTH, "alpha": 1.0}),
    "bb_alpha_dropout with a softplus": (BBAlphaDropout, {"likelihood": HeteroscedasticSoftplus()}),
    "ivon": (IVON, {}),
    "ivon of two outputs": (IVON, {"likelihood": BOTH}),
    "sgld": (SGLD, SHORT_CHAIN | {"thinning": 3, "burn_in": 0.2}),
    "sgld of two outputs": (SGLD, {"likelihood": BOTH, "step_size": 0.1}),
    "psgld": (SGLD, SHORT_CHAIN | {"thinning": 2, "preconditioned": True}),
    "renyi_vi": (RenyiVI, {"initial_precision": 100.0}),
    "renyi_vi of order 1": (RenyiVI, LEARNED | {"alpha": 1.0, "initial_precision": 9.0}),
    "renyi_vi of order 2": (RenyiVI, LEARNED | {"alpha": 2.0, "weight_init": "normal"}),
    "renyi_vi of order -inf": (RenyiVI, {"alpha": -math.inf, "initial_precision": 9.0}),
    "renyi_vi of order inf": (RenyiVI, LEARNED | {"alpha": math.inf}),
    "renyi_vi of two outputs": (RenyiVI, {"likelihood": BOTH, "alpha": 0.0}),
    "sghmc": (SGHMC, {"thinning": 2, "burn_in": 0.5}),
    "swag": (SWAG, {"step_size": 0.02}),
    "swag without Adam": (SWAG, {"burn_in": 0.0, "momentum": 0.5, "step_size": 0.02}),
    "svgd": (SVGD, {"particles": 4}),
    "svgd of one particle": (SVGD, {"particles": 1}),
    "svgd of two outputs": (SVGD, {"particles": 3, "likelihood": BOTH}),
    "svgd with learned precisions": (SVGD, LEARNED_BOTH | {"particles": 5}),
    "svgd by AdaGrad": (
        SVGD,
        LEARNED_BOTH | {"particles": 4, "optimiser": "adagrad", "drift": "kde_wgd"},
    ),
    "kde_wgd": (SVGD, LEARNED | {"particles": 3, "drift": "kde_wgd"}),
    "sge_wgd": (SVGD, {"particles": 5, "drift": "sge_wgd", "prior_precision": "learned"}),
    "sge_wgd with a softplus": (
        SVGD,
        {"particles": 3, "drift": "sge_wgd", "likelihood": HeteroscedasticSoftplus()},
    ),
    "function": (SVGD, LEARNED_BOTH | {"particles": 4, "drift": "function"}),
    "function of two outputs": (
        SVGD,
        {"particles": 3, "drift": "function", "likelihood": BOTH, "optimiser": "adagrad"},
    ),
    "swag of members": (SWAG, {"members": 3, "likelihood": BOTH, "step_size": 0.02}),
    "dvi": (DVI, {}),
    "dvi with a wide initial posterior": (DVI, {"initial_precision": 0.1}),
    "dvi with a narrow initial posterior": (DVI, {"initial_precision": 1e4}),
    "dvi with learned priors": (DVI, {"prior_precision": "learned"}),
}
METHODS = {name: kind(label="m", **own) for name, (kind, own) in SETTINGS.items()}


@dataclass(frozen=True)
class Stack:
    """Replicas of two groups with training sets of different lengths."""

    counts: tuple[int, ...] = (30, 29, 17)
    inputs: int = 3
    widths: tuple[int, ...] = (6,)
    batch: int = 8
    samples: int = 3
    epochs: int = 3
    rate: float = 0.01
    seed: int = 0

    @property
    def data(self) -> TrainingSet:
        generator = torch.Generator().manual_seed(self.seed)
        n, replicas = max(self.counts), len(self.counts)
        inputs = torch.randn(replicas, n, self.inputs, generator=generator)
        targets = inputs.sin().sum(2) + 0.1 * torch.randn(replicas, n, generator=generator)
        real = torch.arange(n) < torch.tensor(self.counts)[:, None]
        groups = tuple(min(r, 1) for r in range(replicas))
        return TrainingSet(inputs * real[..., None], targets * real, self.counts, groups)

    def task(self, data: TrainingSet | None = None) -> FitTask:
        data = data or self.data
        ones = torch.ones(data.replicas, 1)
        network = Network(self.widths, len(self.widths)) if self.widths else Network(depth=0)
        training = Training(batch_size=self.batch, samples=self.samples, learning_rate=self.rate)
        streams = Streams([3 + group for group in sorted(set(data.groups))], data.groups)
        steps = torch.arange(data.replicas)[:, None] + 1.0
        hyper = {"noise_precision": 5 * ones, "prior_precision": 0.5 * steps}
        hyper["dropout"] = 0.1 * steps
        return FitTask(data, hyper, network, training, self.epochs, streams)


def fitted(method: StochasticMethod, task: FitTask) -> Posterior:
    """Fit with the method's hyper-parameters."""
    hyper = {name: task.hyper[name] for name in method.hyper_names}
    return method.fit(replace(task, hyper=hyper))


def by_torch(method: StochasticMethod, task: FitTask) -> Posterior:
    """Fit without native code."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(native, "has_native_code", lambda like: False)
        return fitted(method, task)


def fitted_with_copies(steps: range) -> Posterior:
    """Fit and copy the weights after some steps."""
    return trainer.train(METHODS["svgd"], Stack().task(), steps)


def by_torch_with_copies(steps: range) -> Posterior:
    """Do the same without native code."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(native, "has_native_code", lambda like: False)
        return fitted_with_copies(steps)


@pytest.fixture
def native_calls(monkeypatch: pytest.MonkeyPatch) -> list[NativeUpdate]:
    """The native updates used, one for each native fit."""
    calls: list[NativeUpdate] = []

    def counted(method: Any, native_update: NativeUpdate, *rest: Any) -> Any:
        calls.append(native_update)
        return train_natively(method, native_update, *rest)

    monkeypatch.setattr(trainer, "train_natively", counted)
    return calls


def assert_alike(found: Posterior, expected: Posterior, tolerance: float = 1e-4) -> None:
    """Compare up to rounding errors that grow over a few steps."""
    assert found.diverged.tolist() == expected.diverged.tolist()
    assert found.state.keys() == expected.state.keys()
    for name, value in expected.state.items():
        assert (found.state[name] - value).norm() <= tolerance * value.norm() + 1e-6, name


@pytest.mark.parametrize("name", METHODS)
def test_native_fit_equals_torch_fit(name: str, native_calls: list[NativeUpdate]) -> None:
    method, task, other = METHODS[name], Stack().task(), Stack().task()
    assert_alike(fitted(method, task), by_torch(method, other))
    assert len(native_calls) == 1
    assert torch.equal(task.streams.normal(4), other.streams.normal(4)), "the same random numbers"


@pytest.mark.parametrize("name", ["map", "vadam", "bbb"])
def test_native_fit_with_a_decaying_learning_rate(name: str) -> None:
    """The decay is that of torch, and has an effect."""
    method, constant = METHODS[name], Stack().task()
    decaying = replace(constant.training, learning_rate_decay=0.01)
    tasks = [replace(Stack().task(), training=decaying) for _ in range(2)]
    found = fitted(method, tasks[0])
    assert_alike(found, by_torch(method, tasks[1]))
    assert not torch.allclose(found.state["loc"], fitted(method, constant).state["loc"])


@settings(max_examples=15)
@given(
    name=st.sampled_from(list(METHODS)),
    counts=st.lists(st.integers(1, 70), min_size=1, max_size=4),
    inputs=st.integers(1, 9),
    widths=st.lists(st.integers(1, 30), max_size=3),
    batch=st.integers(1, 40),
    samples=st.integers(1, 5),
    seed=st.integers(0, 10**6),
)
def test_stacks_of_any_shape(
    name: str, counts: list[int], widths: list[int], **others: int
) -> None:
    stack = Stack(tuple(counts), widths=tuple(widths), epochs=2, **others)
    method = METHODS[name]
    assert_alike(fitted(method, stack.task()), by_torch(method, stack.task()), 1e-3)


DROPOUT = ("mc_dropout", "mc_dropout with gaussian noise", "bb_alpha_dropout",
           "bb_alpha_dropout with gaussian noise")  # fmt: skip
ROW_SQUARES = ("practical_vi", "practical_vi by Gauss-Newton",
               "practical_vi of two outputs by Gauss-Newton")  # fmt: skip


@pytest.mark.parametrize(
    "name", ["vadam", *DROPOUT, *ROW_SQUARES, "svgd", "function of two outputs", "dvi"]
)
def test_large_minibatches_are_split_into_blocks(name: str) -> None:
    for batch in (500, 10**12):
        stack = Stack((600, 599, 17), widths=(60, 40), batch=batch, rate=1e-3)
        found, expected = fitted(METHODS[name], stack.task()), by_torch(METHODS[name], stack.task())
        assert_alike(found, expected, 1e-3)


@pytest.mark.parametrize("train", [fitted_with_copies, by_torch_with_copies])
def test_copies_after_the_last_step_are_unknown(train: Callable[[range], Posterior]) -> None:
    """Not whatever memory contains."""
    chain = train(range(11, 14)).state["chain"]  # of 12 steps
    assert chain[:, :2].isfinite().all() and chain[:, 2].isnan().all()


def test_more_samples_than_rows_of_a_usual_block() -> None:
    """All samples of a row are in one block."""
    stack = Stack((9, 8), widths=(600,), samples=40, epochs=1, rate=1e-3)
    method = METHODS["bb_alpha_dropout"]
    assert_alike(fitted(method, stack.task()), by_torch(method, stack.task()))


@pytest.mark.parametrize("alpha", [-50.0, 50.0])
def test_large_losses_do_not_overflow(alpha: float) -> None:
    """Their exponentials would."""
    method, ones = BBAlphaDropout(label="m", alpha=alpha), torch.ones(3, 1)
    precise = {"noise_precision": 1e4 * ones, "prior_precision": ones, "dropout": 0.3 * ones}
    tasks = [replace(Stack().task(), hyper=precise) for _ in range(2)]
    found = fitted(method, tasks[0])
    assert not found.diverged.any()
    assert_alike(found, by_torch(method, tasks[1]), 1e-2)


@pytest.mark.parametrize("name", [*DROPOUT, "mc_dropout without bias prior"])
def test_strong_priors_on_weights_and_biases(name: str) -> None:
    """The prior dominates the data; dropout halves its effect on weights, but not on biases."""
    method, ones = METHODS[name], torch.ones(3, 1)
    strong = {"noise_precision": ones, "prior_precision": 500 * ones, "dropout": 0.5 * ones}
    tasks = [replace(Stack(widths=(5, 4)).task(), hyper=strong) for _ in range(2)]
    assert_alike(fitted(method, tasks[0]), by_torch(method, tasks[1]))


@pytest.mark.parametrize("name", ["vadam", "bbb", *DROPOUT, "practical_vi", "svgd by AdaGrad"])
def test_an_epoch_in_several_calls_is_the_same(name: str) -> None:
    """Native code returns at each saved step."""
    whole = fitted(METHODS[name], Stack().task())
    state = trainer.train(METHODS[name], Stack().task(), range(1, 8, 3)).state
    for entry, value in whole.state.items():
        assert torch.equal(value, state[entry])


@pytest.mark.parametrize(
    "name",
    ["vadam", "bbb", *DROPOUT, *ROW_SQUARES, "psgld", "swag of members", "svgd by AdaGrad",
     "sge_wgd", "function", "dvi"],
)  # fmt: skip
def test_a_single_replica_is_bitwise_equal_to_one_in_a_stack(name: str) -> None:
    stack = Stack()
    together = fitted(METHODS[name], stack.task())
    for r, group in enumerate(stack.data.groups):
        task = stack.task(stack.data.select([r]))
        alone = fitted(
            METHODS[name],
            replace(
                task,
                data=replace(task.data, groups=(0,)),
                hyper={n: v[[r]] for n, v in stack.task().hyper.items()},
                streams=Streams([3 + group], (0,)),
            ),
        )
        for entry, value in alone.state.items():
            assert torch.equal(value[0], together.state[entry][r])


def test_a_diverged_replica_returns_to_its_last_finite_epoch() -> None:
    """The steps of these linear models are so long that squared gradients overflow float32."""
    method, ended = METHODS["vadam"], []
    for epochs_ in range(1, 11):
        stack = Stack(widths=(), epochs=epochs_, rate=1e18)
        found = fitted(method, stack.task())
        assert_alike(found, by_torch(method, stack.task()), 1e-2)
        ended.append(found)
    gone = torch.stack([found.diverged for found in ended])  # [epochs, R]
    lost, kept = (int(gone.sum(0).argmax()), int(gone.sum(0).argmin()))
    first = int(gone[:, lost].long().argmax())
    assert 0 < first < len(ended) - 1 and gone[first:, lost].all() and not gone[first + 1, kept]
    before, at, after = (found.state["loc"] for found in ended[first - 1 : first + 2])
    assert before[lost].norm() > 1e17
    assert torch.equal(before[lost], at[lost]) and torch.equal(at[lost], after[lost])
    assert not torch.equal(at[kept], after[kept])


@pytest.mark.parametrize("name", [*ROW_SQUARES[:2], "bb_alpha_dropout"])
def test_replicas_diverge_as_in_torch(name: str) -> None:
    """Some of these linear models overflow; the others are not affected."""
    stack = Stack(widths=(), epochs=2, rate=1e18)
    found, expected = fitted(METHODS[name], stack.task()), by_torch(METHODS[name], stack.task())
    assert found.diverged.any() and not found.diverged.all()
    assert found.diverged.tolist() == expected.diverged.tolist()
    assert all(value.isfinite().all() for value in found.state.values())


@pytest.mark.parametrize("name", ["svgd", "kde_wgd", "sge_wgd", "function of two outputs"])
@pytest.mark.parametrize("target", [math.nan, 1e30])
def test_particles_of_another_replica_diverge(name: str, target: float) -> None:
    """They return to their start; those of other replicas are not affected."""
    method, data = METHODS[name], Stack().data
    targets = data.targets.clone()
    targets[1, 5] = target
    sick = replace(data, targets=targets)
    found, healthy = fitted(method, Stack().task(sick)), fitted(method, Stack().task())
    expected = by_torch(method, Stack().task(sick))
    assert found.diverged.tolist() == expected.diverged.tolist() == [False, True, False]
    for entry, value in found.state.items():
        assert torch.equal(value[1], expected.state[entry][1])
        assert torch.equal(value[[0, 2]], healthy.state[entry][[0, 2]])


@pytest.mark.parametrize(
    ("method", "longer"),
    [
        (MAP(label="m"), {"samples": 30}),
        (SVGD(label="m", particles=40), {"batch": 1}),
        (DVI(label="m"), {"samples": 30}),
    ],
)
def test_longer_epochs_are_fewer_per_call(
    method: StochasticMethod, longer: dict[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A call cannot be interrupted. Particles are compared in every minibatch."""
    counts: list[int] = []
    inner = native.NativeTrainer.train_epochs

    def counted(self: Any, first: int, rates: Any, place: int) -> None:
        counts.append(len(rates))
        inner(self, first, rates, place)

    monkeypatch.setattr(native.NativeTrainer, "train_epochs", counted)
    stack, width = Stack(samples=1, batch=30, epochs=8), method.init(Stack().task())["loc"].numel()
    monkeypatch.setattr(trainer, "MAX_PRODUCTS", 400 * width)
    fitted(method, stack.task())
    calls = len(counts)
    fitted(method, replace(stack, **longer).task())
    assert len(counts) - calls > calls and sum(counts) == 16


def test_recording_the_objective_changes_nothing() -> None:
    method, task = METHODS["bbb"], Stack().task()
    plain = fitted(method, Stack().task())
    traced = fitted(method, replace(task, trace_streams=Streams([8, 9], task.data.groups)))
    loss = traced.trace["loss"]
    assert loss.shape == (3, 3) and loss[0].ne(loss[2]).all()
    for entry, value in traced.state.items():
        assert torch.equal(value, plain.state[entry])


OTHERS: dict[str, StochasticMethod] = {
    "estimated": BBB(label="bbb", divergence=monte_carlo(KL, "gaussian")),
    "another divergence": BBB(label="bbb", divergence=divergence("renyi"), likelihood=BOTH),
    "another loss": Vadam(label="vadam", likelihood=Gaussian(loss=Beta(beta=1.5))),
    "adversarial": DeepEnsemble(label="deep_ensemble", adversarial=True),
    "dropconnect": MCDropout(label="mc_dropout", noise="dropconnect"),
}


@pytest.mark.parametrize("name", OTHERS)
def test_other_updates_are_not_native(name: str, native_calls: list[NativeUpdate]) -> None:
    assert_alike(fitted(OTHERS[name], Stack().task()), by_torch(OTHERS[name], Stack().task()))
    assert native_calls == []


def subclass(*bases: type, **attributes: Any) -> Any:
    """Return a subclass from outside the package as a dataclass."""
    return dataclass(frozen=True, kw_only=True)(type("Own", bases, attributes))


def halved(self: Any, posterior: Posterior, *given: Any) -> Any:
    return 0.5 * super(type(self), self).sample_weights(posterior, *given)


def unchanged(self: Any, mlp: Any, training: Any, state: Any, *given: Any) -> Any:
    return state


def still(self: Any, mlp: Any, loc: Any, *given: Any) -> Any:
    return 0 * loc


def no_score(self: Any, outputs: Any, precision: Any, batch: Any) -> Any:
    return 0 * precision


def halved_moments(self: Any, posterior: Posterior) -> Any:
    return tuple(0.5 * one for one in super(type(self), self).moments(posterior))


def unchanged_by_descent(self: Any, state: Any, *given: Any) -> Any:
    return state


def double_rate(self: Any, state: Any, hyper: Any) -> Any:
    return {**hyper, "dropout": 2 * hyper["dropout"]}


def with_constant(self: Any, task: FitTask) -> Any:
    state = super(type(self), self).init(task)
    return {**state, "start": state["loc"].clone()}


def transposed(self: Any, task: FitTask) -> Any:
    state = super(type(self), self).init(task)
    return {name: value.T.contiguous().T for name, value in state.items()}


def one_row(self: Any, task: FitTask) -> Any:
    return {name: value[:1] for name, value in super(type(self), self).init(task).items()}


def rounded(self: Any, task: FitTask) -> Any:
    hyper = {name: value.ceil().long() for name, value in task.hyper.items()}
    return super(type(self), self).fit(replace(task, hyper=hyper))


def by_super(self: Any) -> Any:
    return super(Mixin, self).native_update()  # type: ignore[misc]


class Mixin:
    """Passes the native update on."""

    native_update = by_super


class Momentum(Training):
    """The momentum grows by epoch."""

    def at_epoch(self, epoch: int, epochs: int) -> Any:
        return replace(super().at_epoch(epoch, epochs), betas=(epoch / epochs, 0.99))


class Warmup(Training):
    """Only the learning rate grows by epoch."""

    def at_epoch(self, epoch: int, epochs: int) -> Any:
        return replace(self, learning_rate=0.01 * (epoch + 1))


def trained_with(kind: type[Training]) -> Any:
    def fit(self: Any, task: FitTask) -> Any:
        own = kind(batch_size=task.training.batch_size, samples=task.training.samples)
        return super(type(self), self).fit(replace(task, training=own))

    return fit


def narrow(self: Any, task: FitTask) -> Any:
    state = super(type(self), self).init(task)
    return {**state, "s": state["s"][:, :1]}


@dataclass(frozen=True, kw_only=True)
class OwnGaussian(Gaussian):
    """A likelihood whose predictions differ, but not its density."""

    def prediction(self, outputs: Any, hyper: Any) -> Any:
        return replace(super().prediction(outputs, hyper), noise=2 / hyper["noise_precision"])


@dataclass(frozen=True, kw_only=True)
class OwnNLL(NLL):
    """Another loss."""

    def mean_slope(self, error: Any, precision: Any, weights: Any) -> Any:
        return 2 * super().mean_slope(error, precision, weights)


@dataclass(frozen=True, kw_only=True)
class OwnRoots(Gaussian):
    """Another curvature."""

    def curvature_roots(self, *given: Any) -> Any:
        return tuple(2 * one for one in super().curvature_roots(*given))


Pair = tuple[float, float]


def in_reverse(self: Any) -> Any:
    return super(type(self), self).learned[::-1]


def doubled_slopes(self: Any, outputs: Any, hyper: Any, batch: Any) -> Any:
    return 2 * super(type(self), self).output_gradients(outputs, hyper, batch)


class OwnKL(type(KL)):  # type: ignore[misc]
    """The same divergence."""


class OtherKL(type(KL)):  # type: ignore[misc]
    """Another divergence."""

    def partials(self, *given: Any) -> Any:
        return tuple(2 * one for one in super().partials(*given))


OWN: dict[str, tuple[Any, dict[str, Any], bool]] = {
    "the same divergence": (BBB, {"divergence": OwnKL(label="kl")}, True),
    "another divergence": (BBB, {"divergence": OtherKL(label="kl")}, False),
    "steps, and a mixin with the native update": (
        subclass(Mixin, MAP, update=unchanged), {}, False
    ),
    "a mixin with the native update": (subclass(Mixin, MAP), {}, True),
    "whole hyper-parameters": (subclass(MCDropout, fit=rounded), {}, True),
    "settings by epoch": (subclass(MAP, fit=trained_with(Momentum)), {}, False),
    "a rate by epoch": (subclass(MAP, fit=trained_with(Warmup)), {}, True),
    "other samples": (subclass(MCDropout, sample_weights=halved), {}, True),
    "an additional state tensor": (subclass(MCDropout, init=with_constant), {}, True),
    "a state of another layout": (subclass(MCDropout, init=transposed), {}, True),
    "a state of another width": (subclass(Vadam, init=narrow), {}, False),
    "another default": (subclass(MCDropout, bias_prior=False), {}, True),
    "more networks": (subclass(MAP, n_networks=3), {}, True),
    "samples of a mixture": (subclass(Vadam, training_outputs=MAP.training_outputs), {}, True),
    "other steps": (subclass(MAP, update=unchanged), {}, False),
    "other steps of a parent": (subclass(subclass(MAP, update=unchanged), label="own"), {}, False),
    "steps of a mixin": (subclass(type("Mixin", (), {"update": unchanged}), MAP), {}, False),
    "hyper-parameters in effect": (subclass(MCDropout, effective_hyper=double_rate), {}, False),
    "weights of the prior": (subclass(BBB, kl_weight=lambda *_: 0.5), {"divergence": KL}, False),
    "another energy": (subclass(BBAlphaDropout, output_gradients=doubled_slopes), {}, False),
    "another order": (subclass(BBAlphaDropout, alpha=0.1), {}, True),
    "other factors of units": (subclass(MCDropout, _factor=lambda self, u, rate: u), {}, False),
    "another initial variance": (subclass(PracticalVI, initial_precision=3.0), {}, True),
    "other steps of practical VI": (subclass(PracticalVI, update=unchanged), {}, False),
    "another curvature": (PracticalVI, GAUSS_NEWTON | {"likelihood": OwnRoots()}, False),
    "another penalty": (subclass(MCDropout, _second_moment=lambda self, rate: rate), {}, False),
    "predictions of the likelihood": (Vadam, {"likelihood": OwnGaussian()}, True),
    "another density": (Vadam, {"likelihood": OwnGaussian(loss=OwnNLL())}, False),
    "another drift": (subclass(SVGD, drift_of=still), {"particles": 3}, False),
    "another score of the noise": (
        subclass(SVGD, _noise_score=no_score), LEARNED | {"particles": 3}, False
    ),
    "other predictions of particles": (
        subclass(SVGD, predict=lambda *_: None), {"particles": 3}, True
    ),
    "another hyperprior": (
        subclass(DVI, shape=3.0, scale=0.1), {"prior_precision": "learned"}, True
    ),
    "no hyperprior": (subclass(DVI, shape=-1.0, scale=0.0), {"prior_precision": "learned"}, True),
    "improper priors": (
        subclass(SVGD, __annotations__={"prior_gamma": Pair, "noise_gamma": Pair}),
        LEARNED_BOTH | {"particles": 3, "prior_gamma": (0.0, 0.0), "noise_gamma": (0.0, 0.0)},
        True,
    ),
    "another order of coordinates": (
        subclass(SVGD, learned=property(in_reverse)), LEARNED_BOTH | {"particles": 3}, False
    ),
    "another prior": (subclass(DVI, _prior=lambda *_: 2.0), {}, False),
    "another deviation": (subclass(DVI, moments=halved_moments), {}, True),
    "another descent": (subclass(DVI, descend=unchanged_by_descent), {}, False),
    "kept networks": (subclass(SGLD, saved_steps=lambda self, task: range(2, 9, 2)), {}, True),
}  # fmt: skip
"""Classes and likelihoods from outside, and whether they inherit native code."""

KNOWN_IN_THE_FIT = ("a state of another width", "settings by epoch")
"""Cases without native code for reasons that the class does not show."""


def doubled(*names: str) -> Any:
    """Return a `fit` whose task has float64 in place of float32."""

    def fit(self: Any, task: FitTask) -> Any:
        hyper = {n: v.double() if n in names else v for n, v in task.hyper.items()}
        data = {n: getattr(task.data, n).double() for n in ("targets",) if n in names}
        changed = replace(task, hyper=hyper, data=replace(task.data, **data))
        return super(type(self), self).fit(changed)

    return fit


def double_state(self: Any, task: FitTask) -> Any:
    return {name: v.double() for name, v in super(type(self), self).init(task).items()}


def double_targets(self: Any, *given: Any) -> Any:
    batch = given[4]._replace(targets=given[4].targets.double())
    return super(type(self), self).update(*given[:4], batch, *given[5:])


DOUBLED: dict[str, tuple[Any, str]] = {
    "targets": (subclass(MAP, fit=doubled("targets")), "of targets"),
    "noise": (subclass(Vadam, fit=doubled("noise_precision")), "noise_precision"),
    "prior": (subclass(SGLD, fit=doubled("prior_precision")), "prior_precision"),
    "dropout": (subclass(MCDropout, fit=doubled("dropout")), "dropout"),
    "state": (subclass(MAP, init=double_state), "state['loc']"),
    "targets of gradients": (subclass(MAP, update=double_targets), "of targets"),
    "targets of sampled gradients": (subclass(Vadam, update=double_targets), "of targets"),
}


@pytest.mark.parametrize("name", DOUBLED)
def test_tensors_of_another_type_are_refused_by_name(name: str) -> None:
    """Read as float32, they would be other numbers; torch refuses them too."""
    cls, tensor = DOUBLED[name]
    with raises_user_error("method", "tensor", [tensor, "float64"]):
        fitted(cls(label="own"), Stack().task())
    with pytest.raises(RuntimeError):
        by_torch(cls(label="own"), Stack().task())


@pytest.mark.parametrize("cls", [MAP, Vadam, PracticalVI])
def test_a_state_without_all_replicas_is_refused(cls: Any) -> None:
    """Native code would write beyond it."""
    with raises_user_error("method", "tensor", ["state['", "[1, ", "[3, "]):
        subclass(cls, init=one_row)(label="own").fit(Stack().task())


@pytest.mark.parametrize(("name", "change"), [("loc", "double"), ("var", "half")])
def test_a_state_of_another_type_is_refused_by_tagi(name: str, change: str) -> None:
    def start(self: Any, task: FitTask) -> Any:
        state = super(type(self), self)._initial_state(task)
        return {**state, name: getattr(state[name], change)()}

    method = subclass(TAGI, _initial_state=start)(label="own")
    with raises_user_error("method", "tensor", [f"state['{name}']"]):
        method.fit(Stack().task())


def test_a_state_of_one_row_is_repeated_by_tagi() -> None:
    def start(self: Any, task: FitTask) -> Any:
        return {n: v[:1] for n, v in super(type(self), self)._initial_state(task).items()}

    method = subclass(TAGI, _initial_state=start)(label="own")
    data = Stack().data
    task = replace(
        Stack().task(), data=replace(data, groups=(0, 0, 0)), streams=Streams([3], (0, 0, 0))
    )
    others = replace(task, streams=Streams([3], (0, 0, 0)))
    assert_alike(method.fit(task), TAGI(label="tagi").fit(others))


PACKAGE_CLASSES = [class_of(option) for option in METHOD_OPTIONS]


@pytest.mark.parametrize("cls", dict.fromkeys(PACKAGE_CLASSES), ids=lambda cls: cls.__name__)
def test_classes_of_the_package_declare_their_own_native_code(cls: Any) -> None:
    """They are not checked in a fit: what they inherit must be valid."""
    name, roots = cls.native_code
    defining = next((kind for kind in cls.__mro__ if name in vars(kind)), None)
    declared = defining is not None and inspect.unwrap(vars(defining)[name])
    if declared and "return None" not in inspect.getsource(declared):
        blank = object.__new__(cls)
        assert ends_stand_in(blank, name, roots) is None


@pytest.mark.parametrize("name", OWN)
def test_subclasses_inherit_native_code_unless_they_replace_the_step(
    name: str, native_calls: list[NativeUpdate]
) -> None:
    cls, given, inherits = OWN[name]
    method = cls(label="own", **given)
    assert_alike(fitted(method, Stack().task()), by_torch(method, Stack().task()))
    assert len(native_calls) == inherits
    if name not in KNOWN_IN_THE_FIT:
        assert method.native == (method.lost_native is None) == inherits


WIDENED: dict[str, Any] = {
    "another drift": subclass(SVGD, __annotations__={"drift": str}, drift="own", drift_of=still),
    "dropconnect": subclass(
        BBAlphaDropout, __annotations__={"noise": str}, noise="dropconnect", weight_init="glorot"
    ),
}
"""Classes with a value of a setting that their base class refuses."""


@pytest.mark.parametrize("name", WIDENED)
def test_settings_that_only_a_subclass_has_are_not_native(
    name: str, native_calls: list[NativeUpdate]
) -> None:
    method = WIDENED[name](label="own")
    assert_alike(fitted(method, Stack().task()), by_torch(method, Stack().task()))
    assert not method.native and native_calls == []


PORTABLE: dict[str, tuple[Any, bool]] = {
    "a likelihood": (partial(Vadam, likelihood=OwnGaussian()), False),
    "nothing": (subclass(MCDropout), True),
    "another default": (subclass(MCDropout, dropout=0.2), True),
    "other samples": (subclass(MCDropout, sample_weights=halved), False),
    "a promise": (subclass(MCDropout, sample_weights=halved, portable_prediction=True), True),
    "an inherited promise": (
        subclass(
            subclass(MCDropout, sample_weights=halved, portable_prediction=True),
            sample_weights=halved,
        ),
        False,
    ),
    "the start": (subclass(MAP, init=with_constant), False),
    "a parent that promises nothing": (subclass(SWAG), False),
    "passes of TAGI": (subclass(TAGI), True),
    "predictions of TAGI": (subclass(TAGI, predict=lambda *_: None), False),
    "passes of PBP": (subclass(PBP), True),
    "predictions of DVI": (subclass(DVI, predict=lambda *_: None), False),
    "steps of DVI": (subclass(DVI), True),
    "predictions of PBP": (subclass(PBP, predict=lambda *_: None), False),
}


@pytest.mark.parametrize("name", PORTABLE)
def test_a_subclass_is_portable_if_it_only_inherits_or_promises_it(name: str) -> None:
    cls, portable = PORTABLE[name]
    method = cls(label="own")
    assert method.native and method.portable == portable


@pytest.mark.parametrize("cls", [TAGI, PBP])
def test_other_passes_are_not_native(cls: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    method = subclass(cls, _torch_passes=lambda self, task, state, alive: (state, alive))(label="o")
    assert not method.native and method.stack_splits and method.lost_native.name == "_torch_passes"
    state = method.fit(Stack().task()).state
    assert torch.equal(state["loc"], method.fit(replace(Stack().task(), epochs=0)).state["loc"])
