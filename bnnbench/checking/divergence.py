"""What every divergence is held to, each clause a function of one."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from bnnbench.checking.trial import SEEDS, training_set
from bnnbench.checking.verdicts import Check, apart, equal
from bnnbench.divergences.base import Divergence, RatioDivergence
from bnnbench.divergences.priors import Gaussian
from bnnbench.divergences.stacked import StackedDivergences
from bnnbench.methods.bbb import BBB
from bnnbench.methods.shared.contract import FitTask, Posterior
from bnnbench.random_streams import Streams
from bnnbench.settings import Network, Training
from bnnbench.types import TrainingSet


def nowhere_negative(one: Divergence) -> str | None:
    """Zero where both are one Gaussian, elsewhere finite and not negative, also in float32."""
    between = one.between
    loc, scale = torch.tensor([0.0, 1.0, -3e4, 2e-6]), torch.tensor([1.0, 1e-6, 3e3, 7e-4])
    if not bool((between(loc, scale, loc, scale) == 0).all()):
        return "`between` a Gaussian and itself is not zero"
    nearly = torch.rand(2000, generator=torch.Generator().manual_seed(0)) * 1e-3
    if not bool((between(loc[0] + nearly, 1 + nearly.flip(0), loc[0], scale[0]) >= 0).all()):
        return "`between` two Gaussians that nearly agree is negative in float32"
    value = between(*_pairs(torch.float32))
    if not bool((value.isfinite() & (value >= 0)).all()):
        return "`between` is negative or not finite where the first Gaussian is narrow"
    return None


def alike_in_both_types(one: Divergence) -> str | None:
    """float32 computes what float64 does."""
    single, double = (one.between(*_pairs(dtype)) for dtype in (torch.float32, torch.float64))
    by = apart(single.double(), double, 2e-4, 1e-6)
    return f"`between` in float32 differs from float64 {by}" if by else None


def slopes_are_right(one: Divergence) -> str | None:
    """The gradient is what differences and autograd say."""
    generator = torch.Generator().manual_seed(1)
    precision = torch.tensor([[0.3], [1.0], [4.0]]).double()
    loc = torch.randn(3, 50, generator=generator).double() * precision.rsqrt()
    scale = (0.05 + 1.2 * torch.rand(3, 50, generator=generator).double()) * precision.rsqrt()
    step = 1e-6
    ahead = [one._closed(loc + step, scale, precision), one._closed(loc, scale + step, precision)]
    behind = [one._closed(loc - step, scale, precision), one._closed(loc, scale - step, precision)]
    with torch.no_grad():
        ours = one.partials(loc, scale, precision)
        automatic = Divergence.partials(one, loc, scale, precision)
    places = zip(("loc", "scale"), ours, automatic, ahead, behind, strict=True)
    for name, slope, auto, a, b in places:
        by = apart(slope, (a - b) / (2 * step), 1e-4, 1e-5) or apart(slope, auto, 1e-5, 1e-7)
        if by:
            return f"the slope in `{name}` differs {by} from that of `between`"
    return None


def least_at_the_prior(one: Divergence) -> str | None:
    """No slope there, also where there is a kink, and a finite one for a mean apart."""
    for dtype in (torch.float32, torch.float64):
        precision = torch.tensor([[1.0], [4.0]], dtype=dtype)
        scale = precision.rsqrt().expand(2, 3).clone()
        loc = torch.zeros_like(scale)
        steepest = max(slope.abs().max().item() for slope in one.partials(loc, scale, precision))
        if not steepest <= 2e-6:
            return f"its slope at the prior is {steepest:.2g} in {dtype}, and not zero"
        if not all(
            bool(slope.isfinite().all()) for slope in one.partials(loc + 0.5, scale, precision)
        ):
            return "its slope is not finite where only the means differ"
    return None


def weighted_once(one: Divergence) -> str | None:
    """The weight multiplies value and gradient, once, and is in the name."""
    loc, scale, precision = torch.ones(1, 3), torch.full((1, 3), 0.4), torch.ones(1, 1)
    epsilon = torch.randn(4, 1, 3, generator=torch.Generator().manual_seed(0))
    given = loc, scale, precision, epsilon
    tenth = replace(one, weight=0.1 * one.weight)
    pairs = [(tenth.value(*given), one.value(*given))]
    pairs += zip(tenth.gradient(*given), one.gradient(*given), strict=True)
    if any(apart(a, 0.1 * b, 1e-5, 1e-7) for a, b in pairs):
        return "a tenth of the weight is not a tenth of value and gradient"
    return None if tenth.name != one.name else "another weight makes no other name"


def samples_agree(one: Divergence) -> str | None:
    """What samples estimate is the closed form, where there are both."""
    if not (isinstance(one, RatioDivergence) and isinstance(one.prior, Gaussian)):
        return None
    loc, scale = torch.tensor([[0.3, -0.2]]).double(), torch.tensor([[0.85, 1.1]]).double()
    precision = torch.ones(1, 1).double()
    drawn = torch.Generator().manual_seed(4)
    estimate = replace(one, estimator="monte_carlo")
    draws = torch.randn(60, 20_000, 1, 2, generator=drawn, dtype=torch.float64)

    def everything(by: Divergence, epsilon: Tensor) -> Tensor:
        given = loc, scale, precision, epsilon
        return torch.cat([by.value(*given)[:, None], *by.gradient(*given)], 1)

    values = torch.stack([everything(estimate, epsilon) for epsilon in draws])
    exact = everything(replace(one, estimator="closed"), draws[0])
    error = values.std(0) / len(values) ** 0.5
    if bool(((values.mean(0) - exact).abs() > 4 * error + 1e-6).any()):
        return "`over_samples` estimates something else than `between`, or its slopes"
    return None


def trains(one: Divergence) -> str | None:
    """Bayes by Backprop ends finite with it, and three times its weight ends elsewhere."""
    light, heavy = fits_with([one, replace(one, weight=3 * one.weight)])
    if bool(light.diverged.any()):
        return "a small fit by method=bbb diverges with it"
    if equal(light.state["rho"], heavy.state["rho"]):
        return "three times its weight makes no other fit by method=bbb"
    return None


def fits_with(
    members: list[Divergence], precision: tuple[float, ...] = (1.0, 1.0, 1.0)
) -> list[Posterior]:
    """Bayes by Backprop with each of them on the same three replicas, in one stack.

    Args:
        members: one fit each.
        precision: of the prior of each replica.
    """
    one, copies = training_set(), len(members)
    data = TrainingSet(
        one.inputs.repeat(copies, 1, 1), one.targets.repeat(copies, 1),
        one.counts * copies, one.groups * copies,
    )  # fmt: skip
    stack = StackedDivergences(tuple(members), one.replicas)
    method = BBB(label="bbb", divergence=stack)
    hyper = {"noise_precision": torch.full((data.replicas, 1), 5.0).double(),
             "prior_precision": torch.tensor(precision * copies).double()[:, None]}  # fmt: skip
    training = Training(batch_size=8, samples=3, dtype="float64")
    streams = Streams(SEEDS, data.groups, dtype=torch.float64)
    whole = method.fit(FitTask(data, hyper, Network(width=5), training, 5, streams))
    own = [slice(k * one.replicas, (k + 1) * one.replicas) for k in range(copies)]
    return [
        replace(whole, state={n: v[k] for n, v in whole.state.items()}, diverged=whole.diverged[k])
        for k in own
    ]


def _pairs(dtype: torch.dtype) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Narrow Gaussians, some apart, and the standard one: the same numbers in both types."""
    ratio = torch.logspace(-6, 0, 200)
    apart_by = torch.linspace(0, 5, 200) * ratio
    given = (apart_by, ratio, torch.zeros(200), torch.ones(200))
    loc, scale, prior_loc, prior_scale = (one.to(dtype) for one in given)
    return loc, scale, prior_loc, prior_scale


DIVERGENCE: tuple[Check[Divergence], ...] = (
    Check("it is zero at equality, and nowhere negative", nowhere_negative),
    Check("float32 computes what float64 does", alike_in_both_types),
    Check("its slopes are those of its values", slopes_are_right),
    Check("it is least at the prior", least_at_the_prior),
    Check("the weight multiplies it once", weighted_once),
    Check("samples estimate the closed form", samples_agree),
    Check("a small fit with it ends finite, and it takes part", trains),
)
