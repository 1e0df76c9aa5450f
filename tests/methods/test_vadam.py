"""Vadam: initialisation, and a step by hand."""

from __future__ import annotations

import math

import pytest
import torch
from support.linear_model import LAMBDA, TAU, N, linear_task, make_hyper, one_batch

from bnnbench.methods.vadam import Vadam
from bnnbench.nn import MLP
from bnnbench.settings import Training


def test_vadam_step_by_hand() -> None:
    """Algorithm 5 for two samples of a two-weight model; gradients are squared per sample."""
    method, batch = Vadam(label="v"), one_batch()
    loc, s, m = torch.tensor([[0.2, -0.1]]).double(), torch.full((1, 2), 0.3).double(), 0.4
    state = {"loc": loc, "s": s, "momentum": torch.full((1, 2), m).double()}
    epsilon = torch.tensor([[[0.5, -1.0]], [[-0.3, 0.8]]]).double()
    tau, lam, n, betas, rate = TAU, LAMBDA, 10.0, (0.9, 0.8), 0.01
    training = Training(learning_rate=rate, betas=betas)
    new = method.update(MLP((1, 1)), training, state, make_hyper(), batch, (epsilon,))
    gradients = []
    for sample in epsilon[:, 0].tolist():
        w, b = (loc[0, i].item() + e / math.sqrt(n * 0.3 + lam) for i, e in enumerate(sample))
        error = [w * x + b - y for x, y in ((1.0, 2.0), (3.0, -1.0))]
        gradients.append((tau * (error[0] * 1 + error[1] * 3) / 2, tau * sum(error) / 2))
    for i in range(2):
        mean = (gradients[0][i] + gradients[1][i]) / 2
        square = (gradients[0][i] ** 2 + gradients[1][i] ** 2) / 2
        momentum = betas[0] * m + (1 - betas[0]) * (mean + lam / n * loc[0, i].item())
        s_new = betas[1] * 0.3 + (1 - betas[1]) * square
        first, second = (u.item() for u in batch.bias_correction)
        moved = loc[0, i].item() - rate * momentum * first / (math.sqrt(s_new * second) + lam / n)
        assert new["momentum"][0, i].item() == pytest.approx(momentum)
        assert new["s"][0, i].item() == pytest.approx(s_new)
        assert new["loc"][0, i].item() == pytest.approx(moved)


def test_initial_precision() -> None:
    for initial, expected in ((None, LAMBDA), (10.0, 10.0), (0.5, LAMBDA)):
        method = Vadam(label="v", initial_precision=initial)
        precision = N * method.init(linear_task(method, 1))["s"] + LAMBDA
        torch.testing.assert_close(precision, torch.full_like(precision, expected))
