"""Deep ensembles: members on their own, their mixture, adversarial steps by hand."""

from __future__ import annotations

import math

import pytest
import torch
from support.linear_model import (
    LAMBDA,
    TAU,
    TO_THE_MODE,
    columns,
    exact_posterior,
    fit,
    linear_data,
    one_batch,
)

from bnnbench.methods.deep_ensemble import DeepEnsemble
from bnnbench.methods.map import MAP
from bnnbench.nn import MLP
from bnnbench.random_streams import Streams
from bnnbench.settings import Training


def test_every_network_finds_the_mode() -> None:
    """Of a linear model: ridge regression, whatever the start."""
    mean, _ = exact_posterior()
    method = DeepEnsemble(label="d", members=3)
    networks = method.networks(fit(method, 600, **TO_THE_MODE))
    torch.testing.assert_close(networks, mean.expand_as(networks), atol=1e-3, rtol=0)


def test_an_ensemble_of_one_is_map_and_members_start_apart() -> None:
    one, alone = (fit(m, 3) for m in (DeepEnsemble(label="d", members=1), MAP(label="m")))
    assert torch.equal(one.state["loc"], alone.state["loc"])
    five = DeepEnsemble(label="d")
    networks = five.networks(fit(five, 3))[:, 0]
    torch.testing.assert_close(networks[0], alone.state["loc"][0])
    assert (torch.pdist(networks) > 0.01).all()


def test_prediction_is_the_mixture_of_the_members() -> None:
    method = DeepEnsemble(label="d", members=3)
    posterior, inputs = fit(method, 3), linear_data().inputs
    prediction = method.predict(posterior, inputs, 100, Streams([1], (0,)))
    design = torch.cat([inputs[0], torch.ones(len(inputs[0]), 1)], 1)
    torch.testing.assert_close(prediction.loc[:, 0], method.networks(posterior)[:, 0] @ design.T)
    torch.testing.assert_close(prediction.noise_variance(), torch.full((1, 40), 1 / TAU).double())


@pytest.mark.parametrize("adversarial", [False, True])
def test_ensemble_step_by_hand(adversarial: bool) -> None:
    """Adam's first average is 0.1 of the gradient, here that of a line with weights w and b."""
    method = DeepEnsemble(label="d", members=2, adversarial=adversarial)
    members, reach = [(0.2, -0.1), (-0.5, 0.4)], 0.25
    loc = torch.tensor([members]).double().flatten(1)
    state = {"loc": loc, "loc_first": 0 * loc, "loc_second": 0 * loc}
    state |= {"reach": torch.full((1, 1), reach).double()} if adversarial else {}
    training = Training(betas=(0.9, 0.99))
    new = method.update(MLP((1, 1)), training, state, columns(), one_batch(), ())
    expected = []
    for w, b in members:
        points = [(x, y) for x, y in ((1.0, 2.0), (3.0, -1.0))]
        if adversarial:
            points += [(x + reach * math.copysign(1, (w * x + b - y) * w), y) for x, y in points]
        slopes = [TAU * (w * x + b - y) for x, y in points]
        d_w = sum(s * x for s, (x, _) in zip(slopes, points, strict=True)) / len(points)
        expected += [d_w + LAMBDA / 10 * w, sum(slopes) / len(points) + LAMBDA / 10 * b]
    torch.testing.assert_close(10 * new["loc_first"][0], torch.tensor(expected).double())


def test_reach_is_a_share_of_each_inputs_range() -> None:
    method = DeepEnsemble(label="d", adversarial=True, adversarial_step=0.1)
    inputs = linear_data().inputs[0]
    expected = 0.1 * (inputs.amax(0) - inputs.amin(0))
    torch.testing.assert_close(fit(method, 1).state["reach"][0], expected)


def test_samples_are_the_members_in_turn_and_all_of_them_are_learnt() -> None:
    method = DeepEnsemble(label="d", members=3)
    posterior = fit(method, 3)
    weights = method.sample_weights(posterior, 7, Streams([1], (0,)))
    assert torch.equal(weights, method.networks(posterior)[[0, 1, 2, 0, 1, 2, 0]])
    assert method.parameters(posterior.mlp) == 3 * MAP(label="m").parameters(posterior.mlp) == 9


def test_an_ensemble_of_one_is_as_sure_as_map() -> None:
    assert MAP(label="m").point_estimate and DeepEnsemble(label="d", members=1).point_estimate
    assert not DeepEnsemble(label="d").point_estimate
