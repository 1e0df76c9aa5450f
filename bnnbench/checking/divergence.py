"""The contract of divergences."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from bnnbench.checking.checks import Check, bitwise_equal, difference
from bnnbench.checking.small_fits import FLOAT32, SEEDS, training_set
from bnnbench.divergences.base import Divergence, RatioDivergence
from bnnbench.divergences.priors import GaussianPrior
from bnnbench.methods.bbb import BBB
from bnnbench.methods.shared.contract import FitTask, Posterior
from bnnbench.random_streams import Streams
from bnnbench.settings import Network, Training


def is_nonnegative(subject: Divergence) -> str | None:
    """It is zero between equal Gaussians, otherwise finite and non-negative, even in float32."""
    between = subject.between
    loc = torch.tensor([0.0, 1.0, -3e4, 2e-6], **FLOAT32)
    scale = torch.tensor([1.0, 1e-6, 3e3, 7e-4], **FLOAT32)
    if not bool((between(loc, scale, loc, scale) == 0).all()):
        return "`between` a Gaussian and itself is not zero"
    nearly = torch.rand(2000, generator=torch.Generator().manual_seed(0), **FLOAT32) * 1e-3
    if not bool((between(loc[0] + nearly, 1 + nearly.flip(0), loc[0], scale[0]) >= 0).all()):
        return "`between` two nearly equal Gaussians is negative in float32"
    value = between(*_pairs(torch.float32))
    if not bool((value.isfinite() & (value >= 0)).all()):
        return "`between` is negative or not finite if the first Gaussian is narrow"
    return None


def agrees_in_float32_and_float64(subject: Divergence) -> str | None:
    """The values in float32 and float64 agree."""
    single, double = (subject.between(*_pairs(dtype)) for dtype in (torch.float32, torch.float64))
    by = difference(single.double(), double, 2e-4, 1e-6)
    return f"`between` in float32 differs from float64 {by}" if by else None


def derivatives_are_correct(subject: Divergence) -> str | None:
    """The derivatives agree with finite differences and autograd."""
    generator = torch.Generator().manual_seed(1)
    precision = torch.tensor([[0.3], [1.0], [4.0]], **FLOAT32).double()
    loc = torch.randn(3, 50, generator=generator, **FLOAT32).double() * precision.rsqrt()
    uniform = torch.rand(3, 50, generator=generator, **FLOAT32).double()
    scale = (0.05 + 1.2 * uniform) * precision.rsqrt()
    step = 1e-6
    ahead, behind = (
        [subject._closed(loc + by, scale, precision), subject._closed(loc, scale + by, precision)]
        for by in (step, -step)
    )
    with torch.no_grad():
        ours = subject.partials(loc, scale, precision)
        automatic = Divergence.partials(subject, loc, scale, precision)
    places = zip(("loc", "scale"), ours, automatic, ahead, behind, strict=True)
    for name, slope, auto, a, b in places:
        by = difference(slope, (a - b) / (2 * step), 1e-4, 1e-5) or difference(
            slope, auto, 1e-5, 1e-7
        )
        if by:
            return f"the derivative with respect to `{name}` differs {by} from that of `between`"
    return None


def is_minimal_at_the_prior(subject: Divergence) -> str | None:
    """The gradient is zero at the prior, even at a kink, and finite if only the means differ."""
    for dtype in (torch.float32, torch.float64):
        precision = torch.tensor([[1.0], [4.0]], dtype=dtype, device="cpu")
        scale = precision.rsqrt().expand(2, 3).clone()
        loc = torch.zeros_like(scale)
        steepest = max(
            slope.abs().max().item() for slope in subject.partials(loc, scale, precision)
        )
        if not steepest <= 2e-6:
            return f"the gradient at the prior is {steepest:.2g} in {dtype}, not zero"
        if not all(
            bool(slope.isfinite().all()) for slope in subject.partials(loc + 0.5, scale, precision)
        ):
            return "the gradient is not finite if only the means differ"
    return None


def is_weighted_once(subject: Divergence) -> str | None:
    """The weight multiplies value and gradient once and appears in the name."""
    loc, scale = torch.ones(1, 3, **FLOAT32), torch.full((1, 3), 0.4, **FLOAT32)
    precision = torch.ones(1, 1, **FLOAT32)
    epsilon = torch.randn(4, 1, 3, generator=torch.Generator().manual_seed(0), **FLOAT32)
    arguments = loc, scale, precision, epsilon
    tenth = replace(subject, weight=0.1 * subject.weight)
    pairs = [(tenth.value(*arguments), subject.value(*arguments))]
    pairs += zip(tenth.gradient(*arguments), subject.gradient(*arguments), strict=True)
    if any(difference(a, 0.1 * b, 1e-5, 1e-7) for a, b in pairs):
        return "dividing the weight by ten does not divide value and gradient by ten"
    return None if tenth.name != subject.name else "`name` does not depend on the weight"


def estimate_agrees_with_closed_form(subject: Divergence) -> str | None:
    """The Monte Carlo estimate agrees with the closed form, if there are both."""
    if not (isinstance(subject, RatioDivergence) and isinstance(subject.prior, GaussianPrior)):
        return None
    loc, scale = torch.tensor([[[0.3, -0.2]], [[0.85, 1.1]]], **FLOAT32).double()
    precision = torch.ones(1, 1, **FLOAT32).double()
    drawn = torch.Generator().manual_seed(4)
    estimate = replace(subject, estimator="monte_carlo")
    draws = torch.randn(60, 20_000, 1, 2, generator=drawn, dtype=torch.float64, device="cpu")

    def everything(divergence: Divergence, epsilon: Tensor) -> Tensor:
        arguments = loc, scale, precision, epsilon
        return torch.cat(
            [divergence.value(*arguments)[:, None], *divergence.gradient(*arguments)], 1
        )

    values = torch.stack([everything(estimate, epsilon) for epsilon in draws])
    exact = everything(replace(subject, estimator="closed"), draws[0])
    error = values.std(0) / len(values) ** 0.5
    if bool(((values.mean(0) - exact).abs() > 4 * error + 1e-6).any()):
        return "`estimate` does not agree with `between` or its derivatives"
    return None


def trains(subject: Divergence) -> str | None:
    """Bayes by Backprop stays finite with it, and another weight gives another fit."""
    light, heavy = fit_with(subject), fit_with(replace(subject, weight=3 * subject.weight))
    if bool(light.diverged.any()):
        return "a small fit with method=bbb diverges"
    if bitwise_equal(light.state["rho"], heavy.state["rho"]):
        return "a fit with method=bbb does not depend on the weight"
    return None


def fit_with(divergence: Divergence, precision: tuple[float, ...] = (1.0, 1.0, 1.0)) -> Posterior:
    """Fit Bayes by Backprop with a divergence.

    Args:
        divergence: the divergence.
        precision: the prior precision of each replica.
    """
    data, method = training_set(), BBB(label="bbb", divergence=divergence)
    hyper = {"noise_precision": torch.full((data.replicas, 1), 5.0, **FLOAT32).double(),
             "prior_precision": torch.tensor(precision, **FLOAT32).double()[:, None]}  # fmt: skip
    training = Training(batch_size=8, samples=3, dtype="float64")
    streams = Streams(SEEDS, data.groups, dtype=torch.float64)
    return method.fit(FitTask(data, hyper, Network(width=5), training, 5, streams))


def _pairs(dtype: torch.dtype) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return narrow Gaussians and the standard Gaussian, the same numbers for all types."""
    ratio = torch.logspace(-6, 0, 200, **FLOAT32)
    apart_by = torch.linspace(0, 5, 200, **FLOAT32) * ratio
    parameters = (apart_by, ratio, torch.zeros(200, **FLOAT32), torch.ones(200, **FLOAT32))
    loc, scale, prior_loc, prior_scale = (one.to(dtype) for one in parameters)
    return loc, scale, prior_loc, prior_scale


DIVERGENCE: tuple[Check[Divergence], ...] = (
    Check(
        "it is zero at equality and never negative",
        is_nonnegative,
        "Write `between(q_loc, q_scale, p_loc, p_scale)` in terms of differences and ratios, such "
        "as `torch.expm1(2 * torch.log(q_scale / p_scale))`, and clamp rounding errors with "
        "`.clamp(min=0)`",
    ),
    Check(
        "float32 and float64 agree",
        agrees_in_float32_and_float64,
        "In `between`, avoid differences of large numbers: `(q_loc - p_loc).square()` instead of "
        "`q_loc.square() - p_loc.square()`, `torch.log1p(x)` instead of `torch.log(1 + x)`",
    ),
    Check(
        "its derivatives match its values",
        derivatives_are_correct,
        "Remove `partials`, so that autograd computes it, or return both derivatives of `between`; "
        "for KL: `return prior_precision * loc, prior_precision * scale - scale.reciprocal()`",
    ),
    Check(
        "it is minimal at the prior",
        is_minimal_at_the_prior,
        "In `partials`, return zeros where both Gaussians are equal; avoid the root of zero with "
        "`torch.sqrt(x.clamp(min=1e-12))` in `between`",
    ),
    Check(
        "its weight is applied once",
        is_weighted_once,
        "Do not use `self.weight` in `between`, `partials` or `estimate`: `value` and `gradient` "
        "apply it; if you override `name`, end it with `{self._suffix}`",
    ),
    Check(
        "the Monte Carlo estimate agrees with the closed form",
        estimate_agrees_with_closed_form,
        "In `estimate(log_ratio)`, average a function of log(q / p), `[S, ...]`, over samples of "
        "q; for KL: `return log_ratio.mean(0)`",
    ),
    Check(
        "a small fit is finite and depends on it",
        trains,
        "Return finite values from `between` for any positive scales, `torch.log(q_scale)` rather "
        "than `torch.log(q_scale - c)`, and nonzero derivatives from `partials`",
    ),
)
