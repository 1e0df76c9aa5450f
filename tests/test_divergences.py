"""Divergences between Gaussians: each against numerical integration, with its limits and slopes."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache, partial

import numpy as np
import pytest
import torch
from conftest import compose
from scipy.stats import norm
from torch import Tensor

from bnnbench.cli.configs import options
from bnnbench.cli.make import make
from bnnbench.divergences.base import Divergence, RatioDivergence
from bnnbench.divergences.distances import fisher, wasserstein2
from bnnbench.divergences.jensen_shannon import AlphaJS, alpha_js, js
from bnnbench.divergences.kl import jeffreys, kl, rkl
from bnnbench.divergences.renyi import (
    Renyi,
    alpha_divergence,
    alpha_renyi,
    chi2,
    hellinger,
    renyi,
)
from bnnbench.divergences.total_variation import tv, tv_lower, tv_upper

Function = Callable[..., Tensor]
ALPHAS = (0.01, 0.25, 0.5, 0.75, 1.5, 3.0)
ALIASES = {  # of the GVI thesis
    "a": "alpha", "ar": "renyi", "aar": "alpha_renyi", "f": "fisher",
    "tvl": "tv_lower", "tvu": "tv_upper",
}  # fmt: skip
OVERRIDES = sorted(
    {f"divergence={name}" for name in options("divergence") if name not in ALIASES}
    | {f"divergence={name} divergence.alpha=1.5" for name in ("alpha", "renyi", "alpha_renyi")}
    | {"divergence=alpha_js divergence.alpha=1", "divergence=renyi divergence.alpha=1"}
)


@cache
def divergence(overrides: str) -> Divergence:
    return make("divergence", compose(*overrides.split())["divergence"])


def chernoff(alpha: float, log_q: np.ndarray, log_p: np.ndarray) -> np.ndarray:
    """`q^alpha p^(1-alpha)` less what integrates to 1: nowhere negative over alpha (alpha - 1)."""
    mixture = alpha * np.exp(log_q) + (1 - alpha) * np.exp(log_p)
    return np.exp(alpha * log_q + (1 - alpha) * log_p) - mixture


def skewed(alpha: float, log_q: np.ndarray, log_p: np.ndarray) -> np.ndarray:
    """`q log(q / ((1 - alpha) q + alpha p))`."""
    u = log_p - log_q
    near = np.log1p(alpha * np.expm1(np.minimum(u, 1)))
    far = np.logaddexp(math.log(1 - alpha), math.log(alpha) + u)
    return -np.exp(log_q) * np.where(u < 1, near, far)


# As the divergences are defined, from the logarithms of the densities.
INTEGRANDS: dict[str, tuple[Function, Callable[..., np.ndarray]]] = {
    "kl": (kl, lambda q, p: np.exp(q) * (q - p - 1) + np.exp(p)),
    "rkl": (rkl, lambda q, p: np.exp(p) * (p - q - 1) + np.exp(q)),
    "jeffreys": (jeffreys, lambda q, p: (np.exp(q) - np.exp(p)) * (q - p)),
    "js": (js, lambda q, p: 0.5 * (skewed(0.5, q, p) + skewed(0.5, p, q))),
    "tv": (tv, lambda q, p: 0.5 * np.abs(np.exp(q) - np.exp(p))),
    "hellinger": (hellinger, lambda q, p: 0.5 * (np.exp(q / 2) - np.exp(p / 2)) ** 2),
    "chi2": (chi2, lambda q, p: chernoff(2.0, q, p)),
}
for a in ALPHAS:
    INTEGRANDS[f"alpha {a}"] = (
        partial(alpha_divergence, alpha=a),
        lambda q, p, a=a: chernoff(a, q, p) / (a * (a - 1)),
    )
for a in (0.01, 0.25, 0.75, 0.99):
    INTEGRANDS[f"alpha_js {a}"] = (
        partial(alpha_js, alpha=a),
        lambda q, p, a=a: 0.5 * (skewed(a, q, p) + skewed(a, p, q)),
    )


def integrate(f: Callable[..., np.ndarray], given: np.ndarray, alpha: float = 0.5) -> float:
    """Gauss-Legendre between breakpoints: standard deviations of both, and of `q^a p^(1-a)`."""
    q_loc, q_scale, p_loc, p_scale = given
    pull = alpha / q_scale**2, (1 - alpha) / p_scale**2
    middle = (pull[0] * q_loc + pull[1] * p_loc) / sum(pull)
    steps = np.linspace(-14, 14, 57)
    grids = [q_loc + q_scale * steps, p_loc + p_scale * steps, middle + sum(pull) ** -0.5 * steps]
    quadratic = [q_scale**2 - p_scale**2, 2 * (p_scale**2 * q_loc - q_scale**2 * p_loc),
                 (q_scale * p_loc) ** 2 - (p_scale * q_loc) ** 2
                 - 2 * (q_scale * p_scale) ** 2 * math.log(q_scale / p_scale)]  # fmt: skip
    crossings = np.roots(quadratic)
    edges = np.unique(np.concatenate([*grids, crossings[np.isreal(crossings)].real]))
    nodes, weights = np.polynomial.legendre.leggauss(24)
    half = np.diff(edges)[:, None] / 2
    x = edges[:-1, None] + half * (1 + nodes)
    values = f(norm.logpdf(x, q_loc, q_scale), norm.logpdf(x, p_loc, p_scale))
    return float((values * half * weights).sum())


def pairs(count: int = 30) -> np.ndarray:
    """`[count, 4]`: q and p from nearly equal to 60 million times as wide and ten apart."""
    rng = np.random.default_rng(7)
    p_scale = np.exp(rng.uniform(-2, 2, count))
    q_scale = p_scale * np.exp(rng.choice([0.02, 0.3, 2, 7, 18], count) * rng.uniform(-1, 1, count))
    p_loc = rng.normal(size=count)
    wide = np.maximum(q_scale, p_scale)
    apart = rng.choice([0, 0.02, 0.5, 3, 10], count) * rng.uniform(0.5, 1, count) * wide
    return np.stack([p_loc + apart, q_scale, p_loc, p_scale], 1)


def columns(given: np.ndarray, dtype: torch.dtype = torch.float64) -> list[Tensor]:
    return list(torch.tensor(given, dtype=dtype).unbind(-1))


@pytest.mark.parametrize("name", INTEGRANDS)
def test_against_numerical_integration(name: str) -> None:
    function, integrand = INTEGRANDS[name]
    alpha = float(name.split()[1]) if name.startswith("alpha ") else 2.0 * (name == "chi2") or 0.5
    given = pairs()
    finite = alpha * given[:, 3] ** 2 + (1 - alpha) * given[:, 1] ** 2 > 0
    values = function(*columns(given[finite])).tolist()
    checked = [(v, g) for v, g in zip(values, given[finite], strict=True) if v < 1e200]
    assert len(checked) > 10
    for value, row in checked:
        assert value == pytest.approx(integrate(integrand, row, alpha), rel=1e-5)


@pytest.mark.parametrize("alpha", ALPHAS)
def test_renyi_is_a_logarithm_of_the_alpha_divergence(alpha: float) -> None:
    """Thesis, section 4.1, with the sign and factor of section 5.0.1."""
    given = columns(np.stack([p for p in pairs() if p[1] < 1.2 * p[3]]))
    integral = 1 + alpha * (alpha - 1) * alpha_divergence(*given, alpha)
    small = (integral > 1e-6) & (integral < 1e6)
    expected = integral.log() / (alpha - 1)
    ours = renyi(*given, alpha)
    torch.testing.assert_close(ours[small], expected[small], rtol=1e-6, atol=1e-12)
    torch.testing.assert_close(alpha_renyi(*given, alpha), alpha * ours)


def test_fisher_is_the_thesis_formula_and_a_length() -> None:
    q_loc, q_scale, p_loc, p_scale = given = columns(pairs())
    square = (q_loc - p_loc).square()
    root = (
        (square + 2 * (q_scale - p_scale).square()) * (square + 2 * (q_scale + p_scale).square())
    ).sqrt()
    expected = math.sqrt(2) * torch.log(
        (root + square + 2 * (q_scale.square() + p_scale.square())) / (4 * q_scale * p_scale)
    )
    torch.testing.assert_close(fisher(*given), expected, rtol=1e-6, atol=1e-9)
    middle = [torch.zeros_like(q_loc), torch.ones_like(q_loc)]
    around = fisher(*given[:2], *middle) + fisher(*middle, *given[2:])
    assert (fisher(*given) <= around * (1 + 1e-12)).all()


def test_special_cases() -> None:
    given = columns(pairs())
    close = partial(torch.testing.assert_close, rtol=1e-6, atol=1e-12)
    affinity = (-0.5 * renyi(*given, 0.5)).exp()  # the Bhattacharyya coefficient
    close(hellinger(*given), -torch.expm1(-0.5 * renyi(*given, 0.5)))
    close(alpha_divergence(*given, 0.5), 4 * (1 - affinity))
    narrow = [c[given[1] < 1.3 * given[3]] for c in given]
    close(chi2(*narrow).log1p(), renyi(*narrow, 2.0))
    close(js(*given), alpha_js(*given, 0.5))
    close(alpha_js(*given, 1), 0.5 * jeffreys(*given))
    assert (js(*given) <= math.log(2) + 1e-12).all() and js(*columns(pairs())).max() > 0.69
    assert (alpha_js(*given, 0.9) <= -math.log(0.1) + 1e-12).all()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_limits_of_alpha(dtype: torch.dtype) -> None:
    """KL at 1, from both sides and at 1 itself; KL(p || q) at 0 (Rényi: over alpha)."""
    moderate = np.stack([p for p in pairs() if abs(math.log(p[1] / p[3])) < 2])
    given = columns(moderate, dtype)
    step = 1e-4 if dtype == torch.float32 else 1e-8
    away = alpha_divergence(*given, 0.5) < 3.5  # else exp(alpha * large) is far from its limit
    close = partial(torch.testing.assert_close, rtol=200 * step, atol=10 * step)
    for family in (renyi, alpha_renyi, alpha_divergence):
        for alpha in (1 - step, 1.0, 1 + step):
            close(family(*given, alpha)[away], kl(*given)[away])
    close((renyi(*given, step) / step)[away], rkl(*given)[away])
    close(alpha_divergence(*given, step)[away], rkl(*given)[away])


@pytest.mark.parametrize("function", [jeffreys, js, tv, hellinger, fisher, wasserstein2])
def test_symmetry(function: Function) -> None:
    q_loc, q_scale, p_loc, p_scale = columns(pairs())
    forth, back = function(q_loc, q_scale, p_loc, p_scale), function(p_loc, p_scale, q_loc, q_scale)
    torch.testing.assert_close(forth, back, rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("alpha", [0.001, 0.9999, 1 - 1e-9])
def test_slopes_of_alpha_js_near_its_ends_are_finite_in_float32(alpha: float) -> None:
    chosen = AlphaJS(label="alpha_js", alpha=alpha)
    loc = torch.tensor([[2.0, 0.1, 30.0, 0.0]])
    scale = torch.tensor([[0.05, 1e-4, 0.3, 5.0]])
    single = chosen.gradient(loc, scale, torch.tensor([[50.0]]))
    double = chosen.gradient(loc.double(), scale.double(), torch.tensor([[50.0]]).double())
    for a, b in zip(single, double, strict=True):
        torch.testing.assert_close(a, b.float(), rtol=1e-3, atol=1e-5)


def test_the_bounds_bracket_total_variation() -> None:
    given = columns(pairs(400))
    exact = tv(*given)
    assert (tv_lower(*given) <= exact * (1 + 1e-9) + 1e-15).all()
    assert (exact <= tv_upper(*given)).all()
    assert (hellinger(*given) <= exact + 1e-12).all()
    assert (exact <= (2 * hellinger(*given)).sqrt() + 1e-12).all()
    assert (exact <= (kl(*given) / 2).sqrt() + 1e-12).all(), "Pinsker"


@pytest.mark.parametrize("overrides", OVERRIDES)
def test_float32_is_zero_at_equality_and_finite_and_positive_elsewhere(overrides: str) -> None:
    between = divergence(overrides).between
    loc, scale = torch.tensor([0.0, 1.0, -3e4, 2e-6]), torch.tensor([1.0, 1e-6, 3e3, 7e-4])
    assert (between(loc, scale, loc, scale) == 0).all()
    nearly = torch.rand(2000, generator=torch.Generator().manual_seed(0)) * 1e-3
    assert (between(loc[0] + nearly, 1 + nearly.flip(0), loc[0], scale[0]) >= 0).all()
    ratio = torch.logspace(-6, 0, 200)
    apart = torch.linspace(0, 5, 200) * ratio
    value = between(apart, ratio, torch.zeros(200), torch.ones(200))
    assert value.isfinite().all() and (value >= 0).all()
    exact = between(*(x.double() for x in (apart, ratio, torch.zeros(200), torch.ones(200))))
    torch.testing.assert_close(value.double(), exact, rtol=2e-4, atol=1e-6)


@pytest.mark.parametrize("overrides", OVERRIDES)
def test_gradient_against_finite_differences_and_autograd(overrides: str) -> None:
    chosen = divergence(overrides)
    generator = torch.Generator().manual_seed(1)
    precision = torch.tensor([[0.3], [1.0], [4.0]]).double()
    loc = torch.randn(3, 50, generator=generator).double() * precision.rsqrt()
    scale = (0.05 + 1.2 * torch.rand(3, 50, generator=generator).double()) * precision.rsqrt()
    step = 1e-6
    ahead = [chosen._closed(loc + step, scale, precision),
             chosen._closed(loc, scale + step, precision)]  # fmt: skip
    behind = [chosen._closed(loc - step, scale, precision),
              chosen._closed(loc, scale - step, precision)]  # fmt: skip
    with torch.no_grad():
        ours = chosen.gradient(loc, scale, precision)
        automatic = Divergence.partials(chosen, loc, scale, precision)
    for gradient, auto, a, b in zip(ours, automatic, ahead, behind, strict=True):
        torch.testing.assert_close(gradient, (a - b) / (2 * step), rtol=1e-4, atol=1e-5)
        torch.testing.assert_close(gradient, auto, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("overrides", OVERRIDES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_gradient_vanishes_at_the_prior(overrides: str, dtype: torch.dtype) -> None:
    """Also where there is a kink, and for a mean apart at equal scales it stays finite."""
    precision = torch.tensor([[1.0], [4.0]], dtype=dtype)
    scale = precision.rsqrt().expand(2, 3).clone()
    loc = torch.zeros_like(scale)
    for gradient in divergence(overrides).gradient(loc, scale, precision):
        torch.testing.assert_close(gradient, torch.zeros_like(gradient), rtol=0, atol=2e-6)
    for gradient in divergence(overrides).gradient(loc + 0.5, scale, precision):
        assert gradient.isfinite().all()


@pytest.mark.parametrize(
    "overrides",
    ["divergence=renyi divergence.alpha=2", "divergence=alpha_renyi divergence.alpha=2",
     "divergence=alpha divergence.alpha=2", "divergence=chi2"],
)  # fmt: skip
def test_outside_the_domain_is_nan_and_inside_is_not(overrides: str) -> None:
    chosen = divergence(overrides)
    loc, scale = torch.zeros(1, 2), torch.tensor([[math.sqrt(1.9), math.sqrt(2.1)]])
    assert chosen._closed(loc, scale, torch.ones(1, 1)).isnan().tolist() == [[False, True]]
    for gradient in chosen.gradient(loc, scale, torch.ones(1, 1)):
        assert gradient.isnan().tolist() == [[False, True]]
    for gradient in Divergence.partials(chosen, loc, scale, torch.ones(1, 1)):
        assert gradient.isnan()[0, 1]


@pytest.mark.parametrize("overrides", OVERRIDES)
def test_the_weight_multiplies_value_and_gradient_once(overrides: str) -> None:
    loc, scale, precision = torch.ones(1, 3), torch.full((1, 3), 0.4), torch.ones(1, 1)
    epsilon = torch.randn(4, 1, 3, generator=torch.Generator().manual_seed(0))
    for estimator in ("closed", "monte_carlo"):
        setting = f"divergence.estimator={estimator}"
        if estimator == "monte_carlo" and not isinstance(divergence(overrides), RatioDivergence):
            continue
        one = divergence(f"{overrides} {setting}")
        tenth = divergence(f"{overrides} {setting} divergence.weight=0.1")
        given = loc, scale, precision, epsilon
        torch.testing.assert_close(tenth.value(*given), 0.1 * one.value(*given))
        for a, b in zip(tenth.gradient(*given), one.gradient(*given), strict=True):
            torch.testing.assert_close(a, 0.1 * b)
        assert tenth.name == f"{one.name}_w0.1"


@pytest.mark.parametrize("alias", ALIASES)
def test_the_names_of_the_thesis(alias: str) -> None:
    assert (divergence(f"divergence={alias}").between.__func__
            is divergence(f"divergence={ALIASES[alias]}").between.__func__)  # fmt: skip
    assert divergence(f"divergence={alias}").name == divergence(f"divergence={ALIASES[alias]}").name


def test_a_name_says_what_was_set() -> None:
    renyi_2 = "divergence=renyi divergence.alpha=2"
    assert divergence("divergence=kl").name == "kl"
    assert divergence(renyi_2).name == divergence(f"{renyi_2}.0").name == "renyi_2"
    sampled = f"{renyi_2} divergence.estimator=monte_carlo"
    assert divergence(sampled).name == "renyi_2_mc"
    assert divergence(f"{sampled} prior=laplace").name == "renyi_2_mc_laplace"


def test_wasserstein_and_bounds_of_total_variation_by_their_definitions() -> None:
    """The squared distance of the quantiles by quadrature; the thesis's bounds, by hand."""
    q_loc, q_scale, p_loc, p_scale = (c[:, None] for c in columns(pairs(50)))
    levels, weights = np.polynomial.legendre.leggauss(4000)
    z = torch.special.ndtri(torch.from_numpy(0.5 + 0.5 * levels))
    # Of (a + b z)^2 the quadrature needs the mean of z and z^2 alone, whose tails it cuts.
    gap = (q_loc - p_loc + (q_scale - p_scale) * z).square() @ torch.from_numpy(0.5 * weights)
    torch.testing.assert_close(wasserstein2(*columns(pairs(50))), gap, rtol=1e-5, atol=1e-12)
    q_loc, q_scale = torch.tensor([[0.01, 0.04, 9.0], [0.5, 1.9, 0.5]], dtype=torch.float64)
    given = (q_loc, q_scale, torch.zeros_like(q_loc), torch.full_like(q_loc, 2.0))
    spread, apart = [3.75 / 4, 0.39 / 4, 3.75 / 4], [0.005, 0.02, 4.5]
    lower = [min(1, max(a, 40 * b)) / 200 for a, b in zip(spread, apart, strict=True)]
    upper = [1.5 * a + 0.5 * b for a, b in zip(spread, apart, strict=True)]
    assert tv_lower(*given).tolist() == pytest.approx(lower) and len(set(lower)) == 3
    assert tv_upper(*given).tolist() == pytest.approx(upper)


@pytest.mark.parametrize("alpha", [0.25, 0.5, 0.75, 2.0])
@pytest.mark.parametrize("log_ratio", [-46.0, 46.0])
def test_renyi_at_scales_whose_squares_overflow(alpha: float, log_ratio: float) -> None:
    """Against float64: the ratio of the scales is 1e20 or 1e-20, its square beyond float32."""
    given = [torch.tensor(v, dtype=torch.float64) for v in (0.0, math.exp(log_ratio), 0.0, 1.0)]
    value = renyi(*(v.float() for v in given), alpha)
    if alpha > 1 and log_ratio > 0:
        assert value.isnan(), "outside the domain"
        return
    mixed = np.logaddexp(math.log(alpha), math.log(abs(1 - alpha)) + 2 * log_ratio)
    if alpha > 1:
        mixed = math.log(alpha)  # (1 - alpha) q^2 is nothing beside it
    want = 0.5 * mixed / (1 - alpha) - log_ratio
    assert value.item() == pytest.approx(want, rel=1e-5)
    slopes = Renyi(label="renyi", alpha=alpha).gradient(
        *(v.float().view(1, 1) for v in (given[0], given[1], given[3]))
    )
    assert all(slope.isfinite().all() for slope in slopes)
