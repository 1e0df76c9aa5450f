"""Every method: replicas apart, stacked equals alone, same seed same bits, divergence reported."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from conftest import compose

from bnnbench.cli.configs import options
from bnnbench.cli.make import make
from bnnbench.methods.shared.contract import FitTask, Method, Posterior
from bnnbench.random_streams import Streams
from bnnbench.settings import Network, Training
from bnnbench.types import Prediction, TrainingSet

# Every option, and the readings of a method that take another path through its code.
METHODS = [
    *sorted(options("method")),
    "mc_dropout method.noise=gaussian",
    "mc_dropout method.noise=dropconnect",
    "practical_vi method.curvature=gauss_newton",
    "vprop method.square_root=false",
    "deep_ensemble method.adversarial=true",
    "deep_ensemble method.adversarial=true likelihood=heteroscedastic",
    "laplace method.curvature=full method.predictive=sampled",
    "laplace method.curvature=diagonal method.last_layer=true method.predictive=sampled",
    "laplace method.prior_precision_by=marginal_likelihood method.predictive=sampled",
    "laplace likelihood=heteroscedastic",
    "vadam likelihood=heteroscedastic loss=gamma",
    "bbb likelihood=heteroscedastic",
    "practical_vi method.curvature=gauss_newton likelihood=heteroscedastic",
    "mc_dropout method.noise=dropconnect likelihood=heteroscedastic",
]
HYPER = {"noise_precision": 5.0, "prior_precision": 0.7, "dropout": 0.2}
SEEDS = [11, 12]
GROUPS = (0, 0, 1)
COUNTS = (20, 17, 16)  # with batches of 8: three, three and two minibatches an epoch


def method(name: str) -> Method:
    config = compose(*f"method={name}".split())["method"]
    config.pop("protocol", None)
    return make("method", config)


def training_set() -> TrainingSet:
    generator = torch.Generator().manual_seed(3)
    inputs = torch.randn(3, 20, 2, generator=generator, dtype=torch.float64)
    targets = inputs[..., 0].sin() + 0.1 * torch.randn(
        3, 20, generator=generator, dtype=torch.float64
    )
    real = torch.arange(20) < torch.tensor(COUNTS)[:, None]
    return TrainingSet(inputs * real[..., None], targets * real, COUNTS, GROUPS)


def fit(name: str, data: TrainingSet, seeds: list[int], **settings: object) -> Posterior:
    fitted = method(name)
    hyper = {n: data.inputs.new_full((data.replicas, 1), HYPER[n]) for n in fitted.hyper_names}
    training = Training(**{"batch_size": 8, "samples": 3, "dtype": "float64", **settings})
    streams = Streams(seeds, data.groups, dtype=torch.float64)
    return fitted.fit(FitTask(data, hyper, Network(width=5), training, 4, streams))


def predict(name: str, posterior: Posterior, seeds: list[int], data: TrainingSet) -> Prediction:
    streams = Streams([s + 100 for s in seeds], data.groups, dtype=torch.float64)
    return method(name).predict(posterior, data.inputs[:, :6], 7, streams)


@pytest.mark.parametrize("name", METHODS)
def test_stacked_equals_one_at_a_time(name: str) -> None:
    data = training_set()
    together = fit(name, data, SEEDS)
    predicted = predict(name, together, SEEDS, data)
    for r, group in enumerate(GROUPS):
        own = replace(data.select([r]), groups=(0,))
        alone = fit(name, own, [SEEDS[group]])
        for key, value in alone.state.items():
            torch.testing.assert_close(together.state[key][r], value[0], rtol=1e-9, atol=1e-11)
        single = predict(name, alone, [SEEDS[group]], own)
        torch.testing.assert_close(predicted.loc[:, r], single.loc[:, 0], rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("name", METHODS)
def test_a_diverged_replica_is_reported_and_its_neighbours_are_untouched(name: str) -> None:
    data = training_set()
    healthy = fit(name, data, SEEDS)
    targets = data.targets.clone()
    targets[1, 0] = torch.nan
    sick = fit(name, replace(data, targets=targets), SEEDS)
    assert healthy.diverged.tolist() == [False, False, False]
    assert sick.diverged.tolist() == [False, True, False]
    for key, value in sick.state.items():
        assert value.isfinite().all(), "a diverged replica is frozen at its last finite state"
        assert torch.equal(value[0], healthy.state[key][0])
        assert torch.equal(value[2], healthy.state[key][2])


@pytest.mark.parametrize("name", METHODS)
def test_same_seed_same_bits_and_another_seed_other_bits(name: str) -> None:
    data = training_set()
    first, again, other = (fit(name, data, seeds) for seeds in (SEEDS, SEEDS, [21, 22]))
    for key, value in first.state.items():
        assert torch.equal(value, again.state[key])
    assert any(not torch.equal(value, other.state[key]) for key, value in first.state.items())
    drawn = [predict(name, first, seeds, data).loc for seeds in (SEEDS, SEEDS, [21, 22])]
    assert torch.equal(drawn[0], drawn[1])
    # Nothing is drawn where the components are fixed.
    fixed = name.startswith(("pbp", "map", "deep_ensemble", "laplace", "sgld", "psgld"))
    draws = not fixed or "predictive=sampled" in name
    assert torch.equal(drawn[0], drawn[2]) != draws


@pytest.mark.parametrize("name", METHODS)
def test_prediction_axes_and_noise(name: str) -> None:
    data = training_set()
    prediction = predict(name, fit(name, data, SEEDS), SEEDS, data)
    assert prediction.loc.shape[1:] == (3, 6)
    noise = prediction.noise_variance()
    assert (noise > 0).all()
    if "noise_precision" in method(name).hyper_names:
        torch.testing.assert_close(noise, torch.full((3, 6), 1 / 5.0, dtype=torch.float64))
    # One network is sure of itself.
    assert ((prediction.epistemic_variance() > 0) == (name != "map")).all()


# Twenty rows cannot tell a mean from a noise of its own: tests/test_likelihoods.py has more. And
# they leave Laplace's posterior too wide to draw networks from: tests/test_laplace.py has more.
UNFIT = ("heteroscedastic", "predictive=sampled")


@pytest.mark.parametrize("name", [n for n in METHODS if not any(word in n for word in UNFIT)])
def test_training_lowers_the_error(name: str) -> None:
    data = training_set()
    error = {}
    for epochs in (1, 150):
        fitted = method(name)
        hyper = {n: data.inputs.new_full((3, 1), HYPER[n]) for n in fitted.hyper_names}
        streams = Streams(SEEDS, GROUPS, dtype=torch.float64)
        training = Training(batch_size=8, samples=3, dtype="float64")
        posterior = fitted.fit(FitTask(data, hyper, Network(), training, epochs, streams))
        loc = fitted.predict(posterior, data.inputs[:, :16], 50, streams).mean()
        error[epochs] = (loc - data.targets[:, :16]).square().mean()
    assert error[150] < 0.5 * error[1]


@pytest.mark.parametrize("name", METHODS)
def test_compiled_step_computes_the_same(name: str) -> None:
    from bnnbench.methods.shared import compilation

    if not compilation.available():
        pytest.skip("no compiler")
    data = training_set()
    fitted = method(name)
    hyper = {n: data.inputs.new_full((3, 1), HYPER[n]) for n in fitted.hyper_names}
    training = Training(batch_size=8, samples=3, dtype="float64")
    states = []
    for fuse in (False, True):
        streams = Streams(SEEDS, GROUPS, dtype=torch.float64)
        task = FitTask(data, hyper, Network(width=5), training, 3, streams, fuse)
        states.append(fitted.fit(task).state)
    for key, value in states[0].items():
        torch.testing.assert_close(states[1][key], value, rtol=1e-7, atol=1e-9)
