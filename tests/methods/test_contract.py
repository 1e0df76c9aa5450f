"""What every method is held to, as its YAML has it and in each of its variants.

The clauses are `bnnbench.checking`'s, which `bnnbench check` asks of a method from outside; that
each of them finds what it is for is tested in `tests/checking`. The fits that several of them read
are made once: pytest runs all tests of a case one after the other.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Any

import pytest
import torch
from support.config import compose
from support.methods import (
    METHODS,
    PRESETS,
    Case,
    base_of,
    built,
    cases,
    likelihoods_of,
    loss,
    plain_cases,
    programs,
    takes_likelihood,
)

from bnnbench import metrics
from bnnbench.checking.leakage import LEAKAGE
from bnnbench.checking.method import (
    METHOD,
    absurd_steps_are_reported,
    nothing_given_is_changed,
    padding_is_no_data,
    replicas_never_influence_each_other,
)
from bnnbench.checking.trial import COUNTS, HYPER, SEEDS, Trial, predict, small_task, training_set
from bnnbench.cli.configs import options
from bnnbench.methods.shared.contract import Method, Posterior
from bnnbench.methods.shared.stochastic import StochasticMethod
from bnnbench.methods.shared.trainer import epochs_of
from bnnbench.random_streams import Streams
from bnnbench.types import Prediction, TrainingSet

ABOUT_DATA = (
    replicas_never_influence_each_other,
    padding_is_no_data,
    nothing_given_is_changed,
    absurd_steps_are_reported,
)
OF_ANY_LIKELIHOOD = [LEAKAGE, *(check for check in METHOD if check.find in ABOUT_DATA)]
"""Clauses about what a method does with its data, not with what its networks put out."""


@pytest.fixture(scope="module", params=cases(), ids=str)
def case(request: pytest.FixtureRequest) -> Case:
    return request.param  # type: ignore[no-any-return]


@pytest.fixture(scope="module")
def trial(case: Case) -> Trial:
    return Trial(case.method)


@pytest.fixture(scope="module")
def method(case: Case) -> Method:
    return case.method


@pytest.fixture(scope="module")
def data(trial: Trial) -> TrainingSet:
    return trial.data


@pytest.fixture(scope="module")
def posterior(trial: Trial) -> Posterior:
    return trial.posterior


def test_it_holds_every_clause(case: Case, trial: Trial) -> None:
    """All in one test: a thousand of their own cost more around them than in them."""
    known = OF_ANY_LIKELIHOOD if case.likelihood != "gaussian" else ()
    asked = [check for check in (*METHOD, LEAKAGE) if check not in known]
    found = {check.name: check.find(trial) for check in asked}
    assert {name: fault for name, fault in found.items() if fault} == {}


def test_the_noise_is_that_of_its_precision(method: Method, trial: Trial) -> None:
    assert set(trial.posterior.hyper) <= set(HYPER)
    if "noise_precision" in method.hyper_names:
        noise = trial.prediction.noise_variance()
        torch.testing.assert_close(noise, torch.full((3, 6), 1 / 5.0, dtype=torch.float64))


def test_draws_do_not_hang_on_the_size_of_the_stack(
    method: Method, data: TrainingSet, posterior: Posterior, monkeypatch: pytest.MonkeyPatch
) -> None:
    """More replicas are predicted in smaller chunks of samples or rows, of the same noise."""

    def predicted() -> Prediction:
        streams = Streams(SEEDS, data.groups, dtype=torch.float64)
        return method.predict(posterior, data.inputs, 20, streams)

    whole = predicted()
    for name in ("bnnbench.methods.shared.pieces", type(method).__module__):
        if hasattr(sys.modules[name], "PREDICTION_ELEMENTS"):
            monkeypatch.setattr(sys.modules[name], "PREDICTION_ELEMENTS", 1)
    pieces = predicted()
    torch.testing.assert_close(pieces.loc, whole.loc)
    torch.testing.assert_close(pieces.variance, whole.variance)


@pytest.mark.ci
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
    found = getattr(one.method, "noise_precision", None)
    # A noise that is sampled is conjugate to no other loss.
    plain = found == "sampled" or not takes_likelihood(type(one.method))
    losses = ["nll"] if plain else sorted(options("loss"))
    for likelihood in likelihoods_of(one):
        for name in losses:
            fitted = built(replace(one, likelihood=likelihood, loss=name))
            posterior = fitted.fit(small_task(fitted, data, epochs=2))
            prediction = predict(fitted, posterior, data)
            noise = prediction.noise_variance()
            assert not posterior.diverged.any()
            assert noise.shape == prediction.mean().shape and (noise > 0).all()
            spread = noise.amax(1) > (1 + 1e-9) * noise.amin(1)  # sums of many round
            if fitted.trains_network:
                assert (spread == (likelihood == "heteroscedastic")).all()
            real = torch.ones(3, 6, dtype=torch.bool)
            for score in metrics.METRICS.values():
                assert score(prediction, data.targets[:, :6], real).isfinite().all()
            if takes_likelihood(type(fitted)) and not isinstance(found, str):
                known = "noise_precision" in posterior.hyper
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
