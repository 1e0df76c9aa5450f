"""Divergences from samples, priors that need them, and training with every divergence."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from conftest import TINY
from scipy.integrate import quad
from test_divergences import OVERRIDES, divergence
from test_methods import GROUPS, SEEDS, training_set

from bnnbench.divergences.base import RatioDivergence
from bnnbench.divergences.priors import Gaussian, Laplace, Prior, ScaleMixture
from bnnbench.methods.bbb import BBB
from bnnbench.methods.shared import compilation
from bnnbench.methods.shared.contract import FitTask, Posterior
from bnnbench.random_streams import Streams
from bnnbench.settings import Network, Training
from bnnbench.types import TrainingSet, UserError

RATIOS = [o for o in OVERRIDES if isinstance(divergence(o), RatioDivergence)]
PRIORS: list[Prior] = [Gaussian(), Laplace(), ScaleMixture(fraction=0.3, ratio=0.2)]


def sampled(overrides: str) -> RatioDivergence:
    chosen = divergence(f"{overrides} divergence.estimator=monte_carlo")
    assert isinstance(chosen, RatioDivergence)
    return chosen


def normal(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(4), dtype=torch.float64)


@pytest.mark.parametrize("overrides", RATIOS)
def test_estimates_and_their_gradients_converge_to_the_closed_form(overrides: str) -> None:
    loc, scale = torch.tensor([[0.3, -0.2]]).double(), torch.tensor([[0.85, 1.1]]).double()
    precision = torch.ones(1, 1).double()
    repeats = 60
    estimate, exact = sampled(overrides), divergence(overrides)
    draws = normal(repeats, 20_000, 1, 2)
    values = torch.stack([estimate.value(loc, scale, precision, e) for e in draws])
    close(values, exact.value(loc, scale, precision))
    gradients = [torch.cat(estimate.gradient(loc, scale, precision, e)) for e in draws]
    close(torch.stack(gradients), torch.cat(exact.gradient(loc, scale, precision)))


def close(estimates: torch.Tensor, expected: torch.Tensor) -> None:
    """Within four standard errors, which must themselves be small."""
    error = estimates.std(0) / len(estimates) ** 0.5
    assert error.max() < 0.02
    assert ((estimates.mean(0) - expected).abs() < 4 * error + 1e-6).all()


@pytest.mark.parametrize("overrides", RATIOS)
def test_a_few_samples_are_unbiased_except_for_renyi(overrides: str) -> None:
    loc, scale = torch.full((1, 1), 0.5).double(), torch.full((1, 1), 0.9).double()
    precision = torch.ones(1, 1).double()
    few = normal(2, 400_000, 1)  # two samples each of many independent weights
    ratios = sampled(overrides)._sampled(loc, scale, precision, few)[:, 0]
    error = ratios.std() / len(ratios) ** 0.5
    bias = (ratios.mean() - divergence(overrides).value(loc, scale, precision)[0]) / error
    name = divergence(overrides).name
    if "renyi" in name and not name.endswith("_1"):
        # The logarithm of a mean is too small on average.
        assert (bias < -5) if float(name.split("_")[-1]) > 1 else (bias > 5)
    else:
        assert abs(bias) < 4


@pytest.mark.parametrize("prior", PRIORS, ids=lambda p: p.label)
def test_priors_are_densities(prior: Prior) -> None:
    precision = torch.tensor([[2.5]]).double()

    def density(x: float) -> float:
        return prior.log_density(torch.tensor([[x]]).double(), precision).exp().item()

    mass, second = (2 * quad(f, 0, 15, points=[0.1, 1], limit=200)[0]
                    for f in (density, lambda x: x * x * density(x)))  # fmt: skip
    assert mass == pytest.approx(1, rel=1e-6)
    variance = 1 / 2.5
    if isinstance(prior, ScaleMixture):
        variance *= prior.fraction + (1 - prior.fraction) * prior.ratio**2
    assert second == pytest.approx(variance, rel=1e-6)


@pytest.mark.parametrize("prior", ["laplace", "scale_mixture"])
@pytest.mark.parametrize("overrides", ["divergence=kl", "divergence=js", "divergence=tv"])
def test_other_priors_against_numerical_integration(prior: str, overrides: str) -> None:
    chosen = sampled(f"{overrides} prior={prior}")
    loc, scale = torch.full((1, 1), 0.4).double(), torch.full((1, 1), 0.5).double()
    precision = torch.full((1, 1), 1.5).double()
    z = torch.linspace(-9, 9, 40_001, dtype=torch.float64)[:, None, None]
    weights = torch.exp(-0.5 * z.square())
    ratio = -0.5 * z.square() - scale.log() - 0.5 * math.log(2 * math.pi)
    ratio = ratio - chosen.prior.log_density(loc + scale * z, precision)
    by_node = torch.stack([chosen.over_samples(r[None]) for r in ratio])
    expected = (weights * by_node).sum() / weights.sum()
    values = torch.stack([chosen.value(loc, scale, precision, e) for e in normal(40, 5000, 1, 1)])
    close(values, expected)


@pytest.mark.parametrize(
    ("overrides", "words"),
    [("divergence=kl prior=laplace", ["prior=laplace", "monte_carlo"]),
     ("divergence=renyi prior=scale_mixture", ["prior=scale_mixture", "monte_carlo"]),
     ("divergence=fisher divergence.estimator=monte_carlo", ["divergence.estimator", "fisher"]),
     ("divergence=tv_lower divergence.estimator=monte_carlo", ["divergence.estimator", "tv_low"]),
     ("divergence=wasserstein2 divergence.estimator=monte_carlo", ["density ratio"]),
     ("divergence=kl divergence.estimator=mc", ["divergence.estimator", "monte_carlo"]),
     ("divergence=kl divergence.weight=0", ["divergence.weight", "0"]),
     ("divergence=renyi divergence.alpha=0", ["divergence.alpha", "greater than 0"]),
     ("divergence=alpha divergence.alpha=-1", ["divergence.alpha", "-1"]),
     ("divergence=alpha_renyi divergence.alpha=two", ["divergence.alpha", "two"]),
     ("divergence=renyi divergence.alpha=nan", ["divergence.alpha", "nan"]),
     ("divergence=alpha divergence.alpha=inf", ["divergence.alpha", "inf"]),
     ("divergence=alpha_js divergence.alpha=1.5", ["divergence.alpha", "at most 1", "1.5"]),
     ("divergence=alpha_js divergence.alpha=1e-4", ["divergence.alpha", "0.001", "0.0001"]),
     ("divergence=kl +divergence.alpha=2", ["divergence.alpha is not a setting"]),
     ("prior=scale_mixture prior.ratio=2", ["prior.ratio", "2"]),
     ("prior=scale_mixture prior.fraction=1", ["prior.fraction", "1"])],
)  # fmt: skip
def test_what_makes_no_sense_is_one_sentence(overrides: str, words: list[str]) -> None:
    with pytest.raises(UserError) as refused:
        divergence(overrides)
    sentence = str(refused.value)
    assert sentence.endswith(".") and "\n" not in sentence
    for word in words:
        assert word in sentence


def fit(overrides: str, precision: tuple[float, ...] = (1.0, 1.0, 1.0), fuse: bool = False,
        data: TrainingSet | None = None) -> Posterior:  # fmt: skip
    data = data or training_set()
    method = BBB(label="bbb", divergence=divergence(overrides))
    hyper = {"noise_precision": torch.full((3, 1), 5.0).double(),
             "prior_precision": torch.tensor(precision).double()[:, None]}  # fmt: skip
    training = Training(batch_size=8, samples=3, dtype="float64")
    streams = Streams(SEEDS, GROUPS, dtype=torch.float64)
    return method.fit(FitTask(data, hyper, Network(width=5), training, 5, streams, fuse))


SAMPLED = [f"{o} divergence.estimator=monte_carlo" for o in RATIOS]
OTHER_PRIORS = [f"{o} prior={p}" for o in SAMPLED[:6] for p in ("laplace", "scale_mixture")]


@pytest.mark.parametrize("overrides", [*OVERRIDES, *SAMPLED, *OTHER_PRIORS])
def test_training_ends_finite_and_the_divergence_takes_part(overrides: str) -> None:
    posterior = fit(overrides)
    assert posterior.diverged.tolist() == [False, False, False]
    assert all(value.isfinite().all() for value in posterior.state.values())
    heavier = fit(f"{overrides} divergence.weight=3")
    assert not torch.equal(posterior.state["rho"], heavier.state["rho"])


@pytest.mark.parametrize("overrides", ["divergence=chi2", "divergence=renyi divergence.alpha=2"])
def test_leaving_the_domain_is_reported_as_divergence(overrides: str) -> None:
    """The posterior starts with variance 0.1; twice the prior's is the limit."""
    posterior = fit(overrides, precision=(1.0, 30.0, 19.0))
    assert posterior.diverged.tolist()[:2] == [False, True]
    assert all(value.isfinite().all() for value in posterior.state.values())


@pytest.mark.parametrize(
    "overrides",
    ["divergence=js", "divergence=fisher",
     "divergence=renyi divergence.estimator=monte_carlo prior=laplace"],
)  # fmt: skip
def test_the_compiled_step_computes_the_same(overrides: str) -> None:
    if not compilation.available():
        pytest.skip("no compiler")
    eager, fused = fit(overrides), fit(overrides, fuse=True)
    for key, value in eager.state.items():
        torch.testing.assert_close(fused.state[key], value, rtol=1e-7, atol=1e-9)


def test_a_run_is_named_by_its_divergence(command: Callable, tmp_path: Path) -> None:
    arguments = ["run", *TINY, "splits=1", "workers=1", "search=none", "training.epochs=1",
                 "method.noise_precision=5", "method.prior_precision=1",
                 "evaluation.out_of_fold=false", f"outputs_dir={tmp_path / 'out'}"]  # fmt: skip
    arguments = [a for a in arguments if not a.startswith("search.")]
    chosen = ["method=bbb", "divergence=ar", "divergence.alpha=2", "depth=2"]
    code, out, errors = command(*arguments, *chosen)
    assert code == 0, errors
    assert "/bbb/depth2-renyi_2-seed0-" in out
    refused = [a for a in arguments if "method." not in a]
    code, _, errors = command(*refused, "method=mc_dropout", "divergence=js")
    assert code == 2 and "divergence is js" in errors and "method=bbb" in errors
