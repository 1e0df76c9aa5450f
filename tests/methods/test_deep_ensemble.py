"""Deep ensembles: members, their mixture, and adversarial steps by hand."""

from __future__ import annotations

import math

import pytest
import torch
from support.linear_model import LAMBDA, TAU, fit, linear_data, make_hyper, one_batch

from bnnbench.methods.deep_ensemble import DeepEnsemble
from bnnbench.methods.map import MAP
from bnnbench.nn import MLP
from bnnbench.random_streams import Streams
from bnnbench.settings import Training


def test_an_ensemble_of_one_is_map_and_members_differ() -> None:
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
    """After one step, Adam's first moment is 0.1 times the gradient."""
    method = DeepEnsemble(label="d", members=2, adversarial=adversarial)
    members, length = [(0.2, -0.1), (-0.5, 0.4)], 0.25
    loc = torch.tensor([members]).double().flatten(1)
    state = {"loc": loc, "loc_first": 0 * loc, "loc_second": 0 * loc}
    state |= {"step": torch.full((1, 1), length).double()} if adversarial else {}
    training = Training(betas=(0.9, 0.99))
    new = method.update(MLP((1, 1)), training, state, make_hyper(), one_batch(), ())
    expected = []
    for w, b in members:
        points = [(x, y) for x, y in ((1.0, 2.0), (3.0, -1.0))]
        if adversarial:
            points += [(x + length * math.copysign(1, (w * x + b - y) * w), y) for x, y in points]
        d_outputs = [TAU * (w * x + b - y) for x, y in points]
        d_w = sum(d * x for d, (x, _) in zip(d_outputs, points, strict=True)) / len(points)
        expected += [d_w + LAMBDA / 10 * w, sum(d_outputs) / len(points) + LAMBDA / 10 * b]
    torch.testing.assert_close(10 * new["loc_first"][0], torch.tensor(expected).double())


def test_adversarial_step_is_a_fraction_of_each_inputs_range() -> None:
    method = DeepEnsemble(label="d", adversarial=True, adversarial_step=0.1)
    inputs = linear_data().inputs[0]
    expected = 0.1 * (inputs.amax(0) - inputs.amin(0))
    torch.testing.assert_close(fit(method, 1).state["step"][0], expected)


def test_samples_cycle_through_the_members() -> None:
    method = DeepEnsemble(label="d", members=3)
    posterior = fit(method, 3)
    weights = method.sample_weights(posterior, 7, Streams([1], (0,)))
    assert torch.equal(weights, method.networks(posterior)[[0, 1, 2, 0, 1, 2, 0]])
    assert method.n_parameters(posterior.mlp) == 3 * MAP(label="m").n_parameters(posterior.mlp) == 9
