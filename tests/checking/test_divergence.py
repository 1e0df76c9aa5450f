"""Every clause of a divergence's contract finds the mistake that it is for."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from torch import Tensor

from bnnbench.checking.divergence import DIVERGENCE
from bnnbench.checking.verdicts import tried
from bnnbench.divergences.base import Divergence, Pair, RatioDivergence
from bnnbench.divergences.kl import KL


class Lifted(KL):
    """Not zero where both are one."""

    def between(self, q_loc: Tensor, q_scale: Tensor, p_loc: Tensor, p_scale: Tensor) -> Tensor:
        return super().between(q_loc, q_scale, p_loc, p_scale) + 1e-3


class Sunken(KL):
    """Zero where both are one, and less nearby."""

    def between(self, q_loc: Tensor, q_scale: Tensor, p_loc: Tensor, p_scale: Tensor) -> Tensor:
        return super().between(q_loc, q_scale, p_loc, p_scale) - 0.01 * (q_loc - p_loc).abs()


class Rounding(KL):
    """Loses in float32 what it adds first."""

    def between(self, q_loc: Tensor, q_scale: Tensor, p_loc: Tensor, p_scale: Tensor) -> Tensor:
        return (super().between(q_loc, q_scale, p_loc, p_scale) + 1e5) - 1e5


class Steep(KL):
    """Slopes of half the divergence."""

    def partials(self, loc: Tensor, scale: Tensor, prior_precision: Tensor) -> Pair:
        of_loc, of_scale = super().partials(loc, scale, prior_precision)
        return 0.5 * of_loc, 0.5 * of_scale


class Tilted(KL):
    """Least elsewhere than at the prior."""

    def partials(self, loc: Tensor, scale: Tensor, prior_precision: Tensor) -> Pair:
        of_loc, of_scale = super().partials(loc, scale, prior_precision)
        return of_loc + 0.1, of_scale


class Twice(KL):
    """Weighted where it is weighted already."""

    def between(self, q_loc: Tensor, q_scale: Tensor, p_loc: Tensor, p_scale: Tensor) -> Tensor:
        return self.weight * super().between(q_loc, q_scale, p_loc, p_scale)


class Halved(KL):
    """Estimates half of what it is."""

    def over_samples(self, log_ratio: Tensor) -> Tensor:
        return 0.5 * super().over_samples(log_ratio)


@dataclass(frozen=True, kw_only=True)
class Nothing(Divergence):
    """Takes no part in training."""

    def between(self, q_loc: Tensor, q_scale: Tensor, p_loc: Tensor, p_scale: Tensor) -> Tensor:
        return 0 * (q_loc + q_scale)


WRONG = {
    Lifted: ("nowhere negative", "itself is not zero"),
    Sunken: ("nowhere negative", "negative in float32"),
    Rounding: ("float32 computes", "differs from float64 by up to"),
    Steep: ("slopes", "the slope in `loc` differs by up to"),
    Tilted: ("least at", "its slope at the prior is 0.1"),
    Twice: ("multiplies it once", "is not a tenth of value"),
    Halved: ("samples estimate", "estimates something else"),
    Nothing: ("small fit", "makes no other fit"),
}


@pytest.mark.parametrize("cls", WRONG, ids=lambda cls: cls.__name__)
def test_a_mistake_is_found_and_named(cls: type[Divergence]) -> None:
    clause, said = WRONG[cls]
    (check,) = (check for check in DIVERGENCE if clause in check.name)
    fault = tried(check, cls(label="wrong")).fault
    assert fault is not None and said in fault


def test_every_clause_has_a_mistake_that_it_finds() -> None:
    for check in DIVERGENCE:
        assert any(clause in check.name for clause, _ in WRONG.values()), check.name
    assert issubclass(KL, RatioDivergence), "or the samples would not be asked"
