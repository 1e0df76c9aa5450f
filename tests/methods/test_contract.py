"""What every method is held to, as its YAML has it and in each of its variants.

Replicas apart, stacked equals alone, same seed same bits, divergence reported. The fits that
several tests read are made once: pytest runs all tests of a case one after the other.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Any

import pytest
import torch
from support.config import compose
from support.methods import (
    COUNTS,
    GROUPS,
    HYPER,
    METHODS,
    PRESETS,
    SEEDS,
    Case,
    base_of,
    built,
    cases,
    hyper_of,
    loss,
    network_of,
    plain_cases,
    predict,
    programs,
    small_task,
    takes_likelihood,
    training_set,
)

from bnnbench import metrics
from bnnbench.cli.configs import options
from bnnbench.methods.shared.contract import FitTask, Method, Posterior
from bnnbench.methods.shared.stochastic import StochasticMethod
from bnnbench.methods.shared.trainer import epochs_of
from bnnbench.random_streams import Streams
from bnnbench.settings import Training
from bnnbench.types import Prediction, TrainingSet

OTHER = [21, 22]


@pytest.fixture(scope="module", params=cases(), ids=str)
def case(request: pytest.FixtureRequest) -> Case:
    return request.param  # type: ignore[no-any-return]


@pytest.fixture(scope="module")
def method(case: Case) -> Method:
    return case.method


@pytest.fixture(scope="module")
def data() -> TrainingSet:
    return training_set()


@pytest.fixture(scope="module")
def posterior(method: Method, data: TrainingSet) -> Posterior:
    """The fit that all others are compared with."""
    return method.fit(small_task(method, data))


@pytest.fixture(scope="module")
def prediction(method: Method, posterior: Posterior, data: TrainingSet) -> Prediction:
    return predict(method, posterior, data)


def test_stacked_equals_one_at_a_time(
    method: Method, data: TrainingSet, posterior: Posterior, prediction: Prediction
) -> None:
    for r, group in enumerate(GROUPS):
        own = replace(data.select([r]), groups=(0,))
        alone = method.fit(small_task(method, own, [SEEDS[group]]))
        for key, value in alone.state.items():
            torch.testing.assert_close(posterior.state[key][r], value[0], rtol=1e-9, atol=1e-11)
        single = predict(method, alone, own, [SEEDS[group]])
        torch.testing.assert_close(prediction.loc[:, r], single.loc[:, 0], rtol=1e-9, atol=1e-11)


def test_a_diverged_replica_is_reported_and_its_neighbours_are_untouched(
    method: Method, data: TrainingSet, posterior: Posterior
) -> None:
    targets = data.targets.clone()
    targets[1, 0] = torch.nan
    sick = method.fit(small_task(method, replace(data, targets=targets)))
    assert posterior.diverged.tolist() == [False, False, False]
    assert sick.diverged.tolist() == [False, True, False]
    for key, value in sick.state.items():
        assert value.isfinite().all(), "a diverged replica is frozen at its last finite state"
        assert torch.equal(value[0], posterior.state[key][0])
        assert torch.equal(value[2], posterior.state[key][2])


def test_same_seed_same_bits_and_another_seed_other_bits(
    method: Method, data: TrainingSet, posterior: Posterior, prediction: Prediction
) -> None:
    again, other = (method.fit(small_task(method, data, seeds)) for seeds in (SEEDS, OTHER))
    for key, value in posterior.state.items():
        assert torch.equal(value, again.state[key])
    changed = [not torch.equal(value, other.state[key]) for key, value in posterior.state.items()]
    assert any(changed) == method.trains_network, "what trains no network draws no start of one"
    assert torch.equal(prediction.loc, predict(method, posterior, data).loc)
    elsewhere = predict(method, posterior, data, OTHER)
    assert torch.equal(prediction.loc, elsewhere.loc) != method.draws


def test_prediction_axes_and_noise(
    method: Method, posterior: Posterior, prediction: Prediction
) -> None:
    assert set(posterior.hyper) <= set(HYPER)
    assert prediction.loc.shape[1:] == (3, 6)
    noise = prediction.noise_variance()
    assert (noise > 0).all()
    if "noise_precision" in method.hyper_names:
        torch.testing.assert_close(noise, torch.full((3, 6), 1 / 5.0, dtype=torch.float64))
    # One network is sure of itself; others are where all units are off, whatever is dropped.
    sure = (prediction.epistemic_variance() == 0).double().mean()
    assert sure == 1 if method.point_estimate else sure < 0.1


def test_training_lowers_the_error(method: Method) -> None:
    """With rows enough to tell a mean from a noise of its own; one by one they take longer.

    And with a prior narrow enough to draw networks from a posterior over all weights.
    """
    if not method.trains_network:
        pytest.skip("it takes no passes")
    minibatches = isinstance(method, StochasticMethod)
    least = 0 if method.linear_only else 1  # the first sweep over a linear model is most of the way
    rows, epochs = (400, 60) if minibatches else (60, 20)
    generator = torch.Generator().manual_seed(3)
    inputs = torch.randn(1, rows, 2, generator=generator, dtype=torch.float64)
    noise = 0.1 * torch.randn(1, rows, generator=generator, dtype=torch.float64)
    data = TrainingSet(inputs, inputs[..., 0].sin() + noise, (rows,), (0,))
    training = Training(batch_size=100, samples=3, dtype="float64")
    known = hyper_of(method, 1)
    hyper = {name: 10 * v if name == "prior_precision" else v for name, v in known.items()}
    error = {}
    for passes in (least, epochs):
        streams = Streams(SEEDS[:1], (0,), dtype=torch.float64)
        task = FitTask(data, hyper, network_of(method, 10), training, passes, streams)
        loc = method.predict(method.fit(task), data.inputs, 50, streams).mean()
        error[passes] = (loc - data.targets).square().mean()
    assert error[epochs] < 0.5 * error[least]


def test_recording_the_objective_changes_nothing(
    method: Method, data: TrainingSet, posterior: Posterior
) -> None:
    own = Streams([5, 6], data.groups, dtype=torch.float64)
    traced = method.fit(small_task(method, data, trace=own))
    assert posterior.trace == {}
    for key, value in posterior.state.items():
        assert torch.equal(traced.state[key], value)
    shapes = {key: tuple(curve.shape) for key, curve in traced.trace.items()}
    both = {"loss": (4, data.replicas), "complexity": (4, data.replicas)}
    assert shapes == (both if method.records_objective else {})
    assert all(curve.isfinite().all() for curve in traced.trace.values())


def test_draws_do_not_hang_on_the_size_of_the_stack(
    method: Method, data: TrainingSet, posterior: Posterior, monkeypatch: pytest.MonkeyPatch
) -> None:
    """More replicas are predicted in smaller chunks of samples or rows, of the same noise."""

    def predicted() -> Prediction:
        streams = Streams(SEEDS, data.groups, dtype=torch.float64)
        return method.predict(posterior, data.inputs, 20, streams)

    whole = predicted()
    for name in ("bnnbench.methods.shared.stochastic", type(method).__module__):
        if hasattr(sys.modules[name], "PREDICTION_ELEMENTS"):
            monkeypatch.setattr(sys.modules[name], "PREDICTION_ELEMENTS", 1)
    pieces = predicted()
    torch.testing.assert_close(pieces.loc, whole.loc)
    torch.testing.assert_close(pieces.variance, whole.variance)


def test_one_graph_holds_the_whole_step(case: Case, method: Method, data: TrainingSet) -> None:
    """What `torch.compile` traces computes the same; to build all of it would take minutes."""
    if not isinstance(method, StochasticMethod) or "update" not in vars(type(method)):
        pytest.skip("its step is of another kind, or that of the method it builds on")
    if (case.likelihood, case.loss) == ("heteroscedastic", "nll"):
        pytest.skip("with the other loss there is more to it")
    if case.likelihood == "gaussian" and takes_likelihood(type(method)) and case.option != "bbb":
        pytest.skip("a likelihood's part is the same in all of them")
    if case in programs().values():
        pytest.skip("it is built in tests/methods/shared/test_compilation.py")
    torch._dynamo.reset()  # what other cases left makes torch give up on one more
    step = one_step(method, data)

    def traced(*arguments: object) -> dict[str, torch.Tensor]:
        return method.update(*arguments)  # type: ignore[arg-type]

    with torch.no_grad():
        expected = method.update(*step)
        got = torch.compile(traced, backend="aot_eager", dynamic=False, fullgraph=True)(*step)
    for key, value in expected.items():
        torch.testing.assert_close(got[key], value, rtol=1e-7, atol=1e-9)


def one_step(method: StochasticMethod, data: TrainingSet) -> tuple[Any, ...]:
    """The arguments of the first update of a fit, where entries of the state may be one tensor."""
    task = replace(small_task(method, data, epochs=1), outputs=method.likelihood.outputs)
    hyper = {name: torch.full((data.replicas, 1), HYPER[name]).double() for name in HYPER}
    (batch, _), *_ = next(epochs_of(task, method))
    noise = method.sample_noise(task.mlp, 8, task.training.samples, task.streams)
    return task.mlp, task.training, method.init(task), hyper, batch, noise


# --- what methods make of likelihoods and losses


@pytest.mark.parametrize("one", [c for name in METHODS for c in plain_cases(name)], ids=str)
def test_it_takes_every_likelihood_and_loss(one: Case) -> None:
    """A method that takes any; which others refuse is told in tests/cli/test_choices.py."""
    data = training_set()
    likelihoods, losses = (sorted(options(group)) for group in ("likelihood", "loss"))
    if not takes_likelihood(type(one.method)):
        likelihoods, losses = ["gaussian"], ["nll"]
    for likelihood in likelihoods:
        for name in losses:
            fitted = built(replace(one, likelihood=likelihood, loss=name))
            posterior = fitted.fit(small_task(fitted, data, epochs=2))
            prediction = predict(fitted, posterior, data)
            noise = prediction.noise_variance()
            assert not posterior.diverged.any()
            assert noise.shape == prediction.mean().shape and (noise > 0).all()
            spread = noise.amax(1) > noise.amin(1)
            if fitted.trains_network:
                assert (spread == (likelihood == "heteroscedastic")).all()
            real = torch.ones(3, 6, dtype=torch.bool)
            for score in metrics.METRICS.values():
                assert score(prediction, data.targets[:, :6], real).isfinite().all()
            if takes_likelihood(type(fitted)):
                known = "noise_precision" in fitted.hyper_names
                assert known == (likelihood == "gaussian")
            assert loss(name).label == name


@pytest.mark.parametrize("option", METHODS)
def test_what_is_searched_has_bounds_in_its_yaml_or_in_those_of_the_data_sets(option: str) -> None:
    config = compose(f"method={option}")
    bounds = config["dataset"]["protocol"]["bounds"] | config["method"]["protocol"]["bounds"]
    searched = [n for n in Case(option).method.hyper_names if n not in Case(option).method.fixed()]
    assert set(searched) <= bounds.keys()
    assert all(0 < low < high for low, high in bounds.values())


# --- presets


@pytest.mark.parametrize("option", PRESETS)
def test_a_preset_is_its_base_with_another_protocol(option: str) -> None:
    """So that the contract of the base holds for it."""
    own, base = (compose(f"method={name}")["method"] for name in (option, base_of(option)))
    own.pop("protocol")
    base.pop("protocol")
    assert own.pop("label") == option and own.pop("summary") != base.pop("summary")
    assert own == {name: value for name, value in base.items() if name != "label"}


@pytest.mark.parametrize(
    ("option", "small", "large", "final_epochs"),
    [("bbb_x1", 10, 5, 40), ("bbb_x2", 20, 10, 40), ("mc_dropout_x1", 1, 1, 400),
     ("mc_dropout_x10", 10, 10, 40), ("pbp_200", 1, 1, 200)],
)  # fmt: skip
def test_presets_of_the_book_train_as_it_prints(
    option: str, small: int, large: int, final_epochs: int
) -> None:
    """Table 4.2: samples of a step on small and on large sets; Fig. 4.13 for PBP."""
    for dataset, samples in (("yacht", small), ("wine", large)):
        training = compose(f"method={option}", f"dataset={dataset}")["training"]
        assert (training["samples"], training["epochs"]) == (samples, 40)
        assert training["final_epochs"] == final_epochs


def test_the_contract_is_that_of_every_option() -> None:
    assert {*METHODS, *PRESETS} == set(options("method"))
    assert {base_of(option) for option in PRESETS} <= set(METHODS)
    assert {case.option for case in cases()} == set(METHODS)
    assert max(COUNTS) == training_set().inputs.shape[1]
