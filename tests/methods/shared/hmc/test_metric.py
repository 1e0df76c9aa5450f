"""Metrics from the curvature, and trajectories that use them."""

from __future__ import annotations

from itertools import permutations

import pytest
import torch
from support.draws import drawn
from torch import Tensor

from bnnbench.likelihoods import Gaussian, Heteroscedastic, Likelihood
from bnnbench.methods.shared.hmc.leapfrog import leapfrog
from bnnbench.methods.shared.hmc.metric import (
    EuclideanMetric,
    MetricAdaptation,
    average_permutations,
    network_curvatures,
)
from bnnbench.methods.shared.hmc.network import posterior_target
from bnnbench.nn import MLP, forward
from bnnbench.types import TrainingSet

CHAINS, ROWS = 3, 12
ONE = {"noise_precision": torch.ones(1, 1).double()}


def data() -> TrainingSet:
    """Return two training sets; the second has two rows fewer."""
    x = torch.randn(2, ROWS, 3, generator=torch.Generator().manual_seed(2)).double()
    x[1, -2:] = 0
    return TrainingSet(x, x[..., 0].sin(), (ROWS, ROWS - 2), (0, 1))


def networks(mlp: MLP) -> Tensor:
    return drawn(CHAINS, 2, mlp.n_weights, seed=4)


def factors(loss: float, prior: float) -> Tensor:
    return torch.tensor([loss, prior]).double().view(2, 1, 1).expand(2, CHAINS, 2)


def gauss_newton(mlp: MLP, likelihood: Likelihood, replica: int) -> Tensor:
    """Return the Gauss-Newton matrix of all weights by autograd, averaged over chains, `[P, P]`."""
    sets, found = data(), torch.zeros(mlp.n_weights, mlp.n_weights).double()
    for weights in networks(mlp)[:, replica]:
        for row in sets.inputs[replica, : sets.counts[replica]]:

            def outputs(w: Tensor, row: Tensor = row) -> Tensor:
                return forward(mlp, w.view(1, 1, -1), row.view(1, 1, -1))[0].view(-1)

            jacobian = torch.autograd.functional.jacobian(outputs, weights)
            values = outputs(weights).view(1, 1, 1, -1)
            roots = likelihood.curvature_roots(values, torch.ones(1, 1).double(), ONE)
            for root in roots:
                gradient = root.view(-1) @ jacobian
                found += torch.outer(gradient, gradient) / CHAINS
    return found


@pytest.mark.parametrize("likelihood", [Gaussian(), Heteroscedastic()], ids=["one", "two"])
def test_blocks_are_means_over_units_of_the_gauss_newton_matrix(likelihood: Likelihood) -> None:
    mlp = MLP((3, 4, 5, likelihood.outputs))
    found = network_curvatures(mlp, likelihood, data(), ONE)(networks(mlp), factors(7.0, 0.2))
    for replica in range(2):
        whole, start = 7.0 * gauss_newton(mlp, likelihood, replica), 0
        for layer, own in enumerate(found):
            rows, units = own.shape[-1], mlp.sizes[layer + 1]
            places = start + torch.arange(rows * units).view(rows, units)
            blocks = [whole[places[:, u]][:, places[:, u]] for u in range(units)]
            mean = torch.stack(blocks).mean(0)
            mean = average_permutations(mean[None])[0] if layer else mean
            torch.testing.assert_close(own[replica], mean + 0.2 * torch.eye(rows).double())
            start += rows * units


def test_average_permutations_by_enumeration() -> None:
    matrix = torch.randn(1, 5, 5, generator=torch.Generator().manual_seed(1)).double()
    matrix = matrix @ matrix.mT
    orders = [[*order, 4] for order in permutations(range(4))]
    mean = torch.stack([matrix[:, order][:, :, order] for order in orders]).mean(0)
    torch.testing.assert_close(average_permutations(matrix), mean)
    single = torch.tensor([[[2.0, 0.5], [0.5, 1.0]]])
    torch.testing.assert_close(average_permutations(single), single)


def of_networks(mlp: MLP) -> EuclideanMetric:
    windows = MetricAdaptation(network_curvatures(mlp, Gaussian(), data(), ONE), 0)
    metric = windows.metric(networks(mlp), factors(7.0, 0.2))
    assert metric is not None
    return metric


def test_metric_trajectories_are_reversible_and_match_transformed_coordinates() -> None:
    """`w = B q`, with an identity mass matrix for q."""
    mlp = MLP((3, 4, 1))
    target, metric, place = (
        posterior_target(mlp, Gaussian(), data(), {}),
        of_networks(mlp),
        networks(mlp),
    )
    momentum = torch.randn(place.shape, generator=torch.Generator().manual_seed(9)).double()
    size, steps = torch.full((CHAINS, 2), 0.05).double(), torch.full((CHAINS, 2), 9)
    given = factors(7.0, 0.2), size, steps
    there = leapfrog(target, place, momentum, *given, metric)
    back = leapfrog(target, there.position, -there.momentum, *given, metric)
    torch.testing.assert_close(back.position, place, rtol=0, atol=1e-9)

    inverse = EuclideanMetric(tuple(torch.linalg.inv(root) for root in metric.roots))

    def other(q: Tensor, factors: Tensor) -> tuple[Tensor, Tensor]:
        parts, gradient = target(metric(q), factors)
        return parts, metric(gradient)

    found = leapfrog(other, inverse(place), momentum, *given)
    torch.testing.assert_close(metric(found.position), there.position)
    torch.testing.assert_close(found.momentum, there.momentum)


def test_windows_end_at_an_eighth_a_quarter_and_a_half() -> None:
    """Each metric uses the curvatures of its window; the first uses the initial positions."""
    recorded: list[float] = []

    def curvatures(position: Tensor, factors: Tensor) -> list[Tensor]:
        recorded.append(position.item())
        return [torch.eye(2).double()[None] * position.item()]

    adaptation, scales = MetricAdaptation(curvatures, 16), {}
    for k in range(20):
        if adaptation.starts_window(k):
            metric = adaptation.metric(torch.full((1, 1, 1), 4.0).double(), torch.ones(2, 1, 1))
            assert metric is not None
            scales[k] = metric.roots[0][0, 0, 0].item()
        adaptation.record(k, torch.full((1, 1, 1), 100.0 + k).double(), torch.ones(2, 1, 1))
    expected = {0: 4, 2: 100.5, 4: 102.5, 8: 105.5}
    assert scales == {k: pytest.approx(value**-0.5) for k, value in expected.items()}
    assert recorded[-1] == 107
