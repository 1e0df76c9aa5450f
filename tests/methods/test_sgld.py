"""SGLD: a posterior in closed form, step sizes, burn-in and thinning."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
import torch
from support.chains import temperature
from support.linear_model import (
    LAMBDA,
    TAU,
    N,
    design,
    exact_posterior,
    linear_data,
    make_hyper,
    one_batch,
)
from support.quick import slow_except
from torch import Tensor

from bnnbench.methods.sgld import SGLD
from bnnbench.methods.shared.contract import FitTask, Posterior
from bnnbench.nn import MLP
from bnnbench.random_streams import Streams
from bnnbench.settings import Network, Training
from bnnbench.types import TrainingSet

HYPER = {"noise_precision": TAU, "prior_precision": LAMBDA}


class SharedGenerator(Streams):
    """Different noise for every chain from one generator, which is faster than many streams."""

    def __init__(self, chains: int) -> None:
        super().__init__([1], (0,), dtype=torch.float64)
        self.chains, self.generator = chains, torch.Generator().manual_seed(1)

    def normal(self, *shape: int) -> Tensor:
        whole = (shape[0], self.chains, *shape[1:])
        return torch.randn(whole, generator=self.generator, dtype=torch.float64)


def fit(method: SGLD, epochs: int, chains: int = 1, **settings: object) -> Posterior:
    """Fit independent chains to the same data, with the same minibatches."""
    one = linear_data()
    data = TrainingSet(
        one.inputs.repeat(chains, 1, 1), one.targets.repeat(chains, 1),
        one.counts * chains, (0,) * chains,
    )  # fmt: skip
    hyper = {name: torch.full((chains, 1), value).double() for name, value in HYPER.items()}
    training = Training(**{"batch_size": N, "dtype": "float64", **settings})
    return method.fit(
        FitTask(data, hyper, Network(depth=0), training, epochs, SharedGenerator(chains))
    )


def almost_constant(size: float, **settings: Any) -> SGLD:
    """Return SGLD with steps of `size` that hardly decay."""
    offset, decay = 1e7, 0.55
    step_size = size * N * offset**decay
    return SGLD(label="s", step_size=step_size, step_offset=offset, step_decay=decay, **settings)


def moments(posterior: Posterior) -> tuple[Tensor, Tensor]:
    samples = posterior.state["chain"].flatten(0, 1)
    return samples.mean(0), samples.T.cov()


def whitened(covariance: Tensor, precision: Tensor) -> Tensor:
    """Whiten the covariance by the posterior's: the identity if they agree."""
    root = torch.linalg.cholesky(precision)
    return root.T @ covariance @ root


# Relative decrease of the distance from the mean per step, along the narrowest direction.
@pytest.mark.parametrize(("decrease", "epochs"), slow_except([(0.05, 1000), (0.5, 300)], 0.5))
def test_chains_find_the_exact_posterior_of_a_linear_model(decrease: float, epochs: int) -> None:
    """Compares mean and covariance, with full batches.

    A step of size eps maps `w - mean` to `(1 - eps Lambda / 2) (w - mean)` plus noise. The
    stationary covariance is `(Lambda - eps Lambda^2 / 4)^-1`, the posterior's for eps -> 0.
    """
    mean, precision = exact_posterior()
    size = 2 * decrease / torch.linalg.eigvalsh(precision).max().item()
    method = almost_constant(TAU * size, burn_in=0.25)
    loc, covariance = moments(fit(method, epochs, chains=200))
    deviations = precision.inverse().diagonal().sqrt()
    torch.testing.assert_close(loc / deviations, mean / deviations, atol=0.1, rtol=0)
    expected = precision - size / 4 * precision @ precision
    torch.testing.assert_close(
        whitened(covariance, expected), torch.eye(3).double(), atol=0.1, rtol=0
    )
    if decrease < 0.1:
        torch.testing.assert_close(
            whitened(covariance, precision), torch.eye(3).double(), atol=0.1, rtol=0
        )


@pytest.mark.parametrize("preconditioned", [False, True])
def test_step_by_hand(preconditioned: bool) -> None:
    """The fourth step of a line with weight w and bias b, for ten training rows."""
    settings = {"step_size": 0.3, "step_offset": 2.0, "step_decay": 0.7, "damping": 0.05}
    settings["minibatch_factor"] = 3.0
    method = SGLD(label="s", preconditioned=preconditioned, **settings)
    w, b, epsilon, square = 0.2, -0.1, (0.5, -1.0), (0.3, 0.6)
    state = {"loc": torch.tensor([[w, b]]).double()}
    state |= {"square": torch.tensor([square]).double()} if preconditioned else {}
    batch = one_batch()._replace(steps_taken=torch.tensor([[3.0]]).double())
    noise = (torch.tensor([epsilon]).double(),)
    new = method.update(MLP((1, 1)), Training(betas=(0.9, 0.8)), state, make_hyper(), batch, noise)
    errors = [w * x + b - y for x, y in ((1.0, 2.0), (3.0, -1.0))]
    gradients = TAU * (errors[0] + 3 * errors[1]) / 2, TAU * sum(errors) / 2
    step = 0.3 / 10 * (3 * 2 / 10) * (2 + 3) ** -0.7
    for i, (weight, gradient) in enumerate(zip((w, b), gradients, strict=True)):
        scale = 1 / TAU
        if preconditioned:
            average = 0.8 * square[i] + 0.2 * gradient**2
            scale = 1 / (0.05 + math.sqrt(average * batch.bias_correction[1].item()))
            assert new["square"][0, i].item() == pytest.approx(average)
        drift = step / 2 * scale * (10 * gradient + LAMBDA * weight)
        moved = weight - drift + math.sqrt(step * scale) * epsilon[i]
        assert new["loc"][0, i].item() == pytest.approx(moved)


PRECONDITIONED = {"preconditioned": True, "step_size": 1.4, "minibatch_factor": 2.0}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rows", "batch", "chains", "settings"),
    [
        (455, 32, 10, {}),
        (7373, 128, 6, {}),
        (455, 32, 20, PRECONDITIONED),
    ],
)
def test_minibatches_do_not_heat_the_chain(
    rows: int, batch: int, chains: int, settings: dict[str, Any]
) -> None:
    assert temperature(SGLD(label="s", **settings), rows, batch, chains) == pytest.approx(
        1, abs=0.1
    )


@pytest.mark.parametrize(
    ("burn_in", "thinning", "steps"),
    [(0, 1, range(1, 25)), (0.5, 1, range(13, 25)), (0.5, 5, [14, 19, 24]), (0.99, 50, [24])],
)
def test_burn_in_and_thinning(burn_in: float, thinning: int, steps: list[int]) -> None:
    """Burn-in and thinning select networks from the same chain of 24 steps."""
    method = SGLD(label="s", burn_in=burn_in, thinning=thinning)
    everything = fit(replace(method, burn_in=0, thinning=1), 6, batch_size=10).state
    posterior = fit(method, 6, batch_size=10)
    chain = everything["chain"][:, [step - 1 for step in steps]]
    assert torch.equal(posterior.state["chain"], chain)
    assert torch.equal(chain[:, -1], everything["loc"])
    assert posterior.diagnostics["kept_samples"].tolist() == [len(steps)]


def test_the_chain_of_a_diverged_replica_repeats_its_last_finite_epoch() -> None:
    method = replace(almost_constant(1e100), burn_in=0)
    posterior = fit(method, 6, batch_size=10)
    assert posterior.diverged.all()
    loc, chain = posterior.state["loc"], posterior.state["chain"]
    assert chain.isfinite().all() and torch.equal(chain[:, -1], loc)
    assert all(values.isnan().all() for values in posterior.diagnostics.values())


@pytest.mark.parametrize(("samples", "indices"), [(100, [0, 1, 2, 3, 4, 5]), (3, [1, 3, 5])])
def test_prediction_is_the_mixture_of_evenly_spaced_networks(
    samples: int, indices: list[int]
) -> None:
    method = SGLD(label="s", thinning=1)
    posterior, inputs = fit(method, 12, chains=2), linear_data().inputs.expand(2, -1, -1)
    prediction = method.predict(posterior, inputs, samples, Streams([1], (0, 0)))
    expected = posterior.state["chain"][:, indices] @ design().T
    torch.testing.assert_close(prediction.loc, expected.transpose(0, 1))
    torch.testing.assert_close(prediction.noise_variance(), torch.full((2, N), 1 / TAU).double())
