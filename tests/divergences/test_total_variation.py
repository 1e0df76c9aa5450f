"""Total variation and its bounds."""

from __future__ import annotations

import pytest
import torch
from support.divergences import gaussian_pairs, pair_parameters

from bnnbench.divergences.kl import kl
from bnnbench.divergences.renyi import hellinger
from bnnbench.divergences.total_variation import tv, tv_lower, tv_upper


def test_the_bounds_bracket_total_variation() -> None:
    given = pair_parameters(gaussian_pairs(400))
    exact = tv(*given)
    assert (tv_lower(*given) <= exact * (1 + 1e-9) + 1e-15).all()
    assert (exact <= tv_upper(*given)).all()
    assert (hellinger(*given) <= exact + 1e-12).all()
    assert (exact <= (2 * hellinger(*given)).sqrt() + 1e-12).all()
    assert (exact <= (kl(*given) / 2).sqrt() + 1e-12).all(), "Pinsker"


def test_the_bounds_match_the_formulas_of_the_thesis() -> None:
    q_loc, q_scale = torch.tensor([[0.01, 0.04, 9.0], [0.5, 1.9, 0.5]], dtype=torch.float64)
    given = (q_loc, q_scale, torch.zeros_like(q_loc), torch.full_like(q_loc, 2.0))
    spread, apart = [3.75 / 4, 0.39 / 4, 3.75 / 4], [0.005, 0.02, 4.5]
    lower = [min(1, max(a, 40 * b)) / 200 for a, b in zip(spread, apart, strict=True)]
    upper = [1.5 * a + 0.5 * b for a, b in zip(spread, apart, strict=True)]
    assert tv_lower(*given).tolist() == pytest.approx(lower) and len(set(lower)) == 3
    assert tv_upper(*given).tolist() == pytest.approx(upper)
