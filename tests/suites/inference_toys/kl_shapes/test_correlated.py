"""Factorised approximation of two correlated variables: closed forms, coordinate ascent."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
import torch
from torch.distributions import MultivariateNormal, kl_divergence

from bnnbench.suites.inference_toys.kl_shapes.correlated import (
    CorrelatedPair,
    Factorised,
    coordinate_ascent,
    fit_factorised,
    forward_kl,
    reverse_kl,
)

PAIR = CorrelatedPair(0.8)


def test_kl_divergences_equal_those_of_torch() -> None:
    q = Factorised(np.array([0.3, -0.2]), np.array([0.5, 2.0]))
    ours = MultivariateNormal(torch.from_numpy(q.loc), torch.from_numpy(np.diag(q.variance)))
    exact = MultivariateNormal(torch.zeros(2).double(), torch.from_numpy(PAIR.covariance))
    assert reverse_kl(q, PAIR) == pytest.approx(kl_divergence(ours, exact).item())
    assert forward_kl(q, PAIR) == pytest.approx(kl_divergence(exact, ours).item())


def test_each_direction_has_its_closed_form() -> None:
    """Reverse KL matches the diagonal of the precision, forward KL that of the covariance."""
    reverse, forward = (fit_factorised(PAIR, forward) for forward in (False, True))
    assert reverse == pytest.approx(1 / np.diag(PAIR.precision), rel=1e-5)
    assert reverse == pytest.approx([0.36, 0.36], rel=1e-5)  # 1 - correlation^2
    assert forward == pytest.approx([1, 1], rel=1e-5)
    minimum = -0.5 * np.log(0.36)
    assert reverse_kl(Factorised(np.zeros(2), reverse), PAIR) == pytest.approx(minimum)
    assert forward_kl(Factorised(np.zeros(2), forward), PAIR) == pytest.approx(minimum)


def test_coordinate_ascent_converges_linearly_to_the_optimum() -> None:
    start = Factorised(np.array([-1.0, 2.0]), np.ones(2))
    trajectory = list(coordinate_ascent(PAIR, start, 40))
    assert len(trajectory) == 81 and trajectory[0] is start
    values = [reverse_kl(q, PAIR) for q in trajectory]
    assert all(later <= earlier + 1e-12 for earlier, later in pairwise(values))
    assert trajectory[2].loc == pytest.approx([1.6, 1.28])
    assert trajectory[4].loc / trajectory[2].loc == pytest.approx([0.64, 0.64])
    assert trajectory[-1].variance == pytest.approx([0.36, 0.36])
    assert values[-1] == pytest.approx(-0.5 * np.log(0.36))
