"""Every check of the contract of divergences detects the mistake that it is for."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from torch import Tensor

from bnnbench.checking.checks import run_check
from bnnbench.checking.divergence import DIVERGENCE
from bnnbench.divergences.base import Divergence, Pair, RatioDivergence
from bnnbench.divergences.kl import KL


class Lifted(KL):
    """Not zero between equal distributions."""

    def between(self, q_loc: Tensor, q_scale: Tensor, p_loc: Tensor, p_scale: Tensor) -> Tensor:
        return super().between(q_loc, q_scale, p_loc, p_scale) + 1e-3


class Sunken(KL):
    """Negative near equality."""

    def between(self, q_loc: Tensor, q_scale: Tensor, p_loc: Tensor, p_scale: Tensor) -> Tensor:
        return super().between(q_loc, q_scale, p_loc, p_scale) - 0.01 * (q_loc - p_loc).abs()


class Rounding(KL):
    """Inaccurate in float32."""

    def between(self, q_loc: Tensor, q_scale: Tensor, p_loc: Tensor, p_scale: Tensor) -> Tensor:
        return (super().between(q_loc, q_scale, p_loc, p_scale) + 1e5) - 1e5


class Steep(KL):
    """Half of the correct derivatives."""

    def partials(self, loc: Tensor, scale: Tensor, prior_precision: Tensor) -> Pair:
        of_loc, of_scale = super().partials(loc, scale, prior_precision)
        return 0.5 * of_loc, 0.5 * of_scale


class Tilted(KL):
    """A minimum that is not at the prior."""

    def partials(self, loc: Tensor, scale: Tensor, prior_precision: Tensor) -> Pair:
        of_loc, of_scale = super().partials(loc, scale, prior_precision)
        return of_loc + 0.1, of_scale


class Twice(KL):
    """Applies the weight twice."""

    def between(self, q_loc: Tensor, q_scale: Tensor, p_loc: Tensor, p_scale: Tensor) -> Tensor:
        return self.weight * super().between(q_loc, q_scale, p_loc, p_scale)


class Halved(KL):
    """An estimate of half the divergence."""

    def estimate(self, log_ratio: Tensor) -> Tensor:
        return 0.5 * super().estimate(log_ratio)


@dataclass(frozen=True, kw_only=True)
class Nothing(Divergence):
    """Has no effect on training."""

    def between(self, q_loc: Tensor, q_scale: Tensor, p_loc: Tensor, p_scale: Tensor) -> Tensor:
        return 0 * (q_loc + q_scale)


WRONG = {
    Lifted: ("never negative", "itself is not zero"),
    Sunken: ("never negative", "negative in float32"),
    Rounding: ("float32 and float64", "differs from float64 by up to"),
    Steep: ("derivatives", "with respect to `loc` differs by up to"),
    Tilted: ("minimal at", "gradient at the prior is 0.1"),
    Twice: ("applied once", "dividing the weight by ten"),
    Halved: ("Monte Carlo", "`estimate` does not agree"),
    Nothing: ("small fit", "does not depend on the weight"),
}


@pytest.mark.parametrize("cls", WRONG, ids=lambda cls: cls.__name__)
def test_mistakes_are_detected(cls: type[Divergence]) -> None:
    clause, message = WRONG[cls]
    (check,) = (check for check in DIVERGENCE if clause in check.name)
    failure = run_check(check, cls(label="wrong")).failure
    assert failure is not None and message in failure


def test_every_check_detects_a_mistake() -> None:
    for check in DIVERGENCE:
        assert any(clause in check.name for clause, _ in WRONG.values()), check.name
    assert issubclass(KL, RatioDivergence), "or the Monte Carlo check would be skipped"
