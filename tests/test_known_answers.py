"""Linear-Gaussian problems, where the right answer is known, and steps worked out by hand."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from bnnbench.divergences.base import Divergence
from bnnbench.divergences.kl import KL
from bnnbench.methods.bbb import BBB
from bnnbench.methods.mc_dropout import MCDropout
from bnnbench.methods.practical_vi import PracticalVI
from bnnbench.methods.shared.contract import FitTask, Posterior
from bnnbench.methods.shared.stochastic import StochasticMethod
from bnnbench.methods.shared.trainer import Batch
from bnnbench.methods.vadam import Vadam
from bnnbench.methods.vprop import Vprop
from bnnbench.nn import MLP
from bnnbench.random_streams import Streams
from bnnbench.settings import Network, Training
from bnnbench.types import TrainingSet

TAU, LAMBDA, N = 4.0, 2.0, 40


def linear_data() -> TrainingSet:
    generator = torch.Generator().manual_seed(0)
    inputs = torch.randn(1, N, 2, generator=generator, dtype=torch.float64)
    inputs[..., 1] += 0.5 * inputs[..., 0]
    noise = torch.randn(1, N, generator=generator, dtype=torch.float64)
    targets = inputs @ torch.tensor([1.0, -0.5]).double() + 0.3 + noise / TAU**0.5
    return TrainingSet(inputs, targets, (N,), (0,))


def exact_posterior(data: TrainingSet) -> tuple[Tensor, Tensor]:
    """Mean and precision of the conjugate posterior over `(w1, w2, bias)`."""
    design = torch.cat([data.inputs[0], torch.ones(N, 1).double()], 1)
    precision = TAU * design.T @ design + LAMBDA * torch.eye(3).double()
    return torch.linalg.solve(precision, TAU * design.T @ data.targets[0]), precision


def fit(method: StochasticMethod, epochs: int, **settings: object) -> Posterior:
    data = linear_data()
    values = {"noise_precision": TAU, "prior_precision": LAMBDA, "dropout": 1e-12}
    hyper = {n: torch.full((1, 1), values[n]).double() for n in method.hyper_names}
    training = Training(**{"batch_size": N, "dtype": "float64", "samples": 50, **settings})
    streams = Streams([1], (0,), dtype=torch.float64)
    return method.fit(FitTask(data, hyper, Network(depth=0), training, epochs, streams))


@pytest.mark.parametrize("batch_size", [N, 10])
def test_bbb_finds_the_mean_field_optimum(batch_size: int) -> None:
    """KL(q || p) is least at the exact mean, with the diagonal of the exact precision."""
    mean, precision = exact_posterior(linear_data())
    method = BBB(label="bbb", divergence=KL(label="kl"))
    settings = {"learning_rate": 0.003, "betas": (0.9, 0.999), "batch_size": batch_size}
    loc, scale = method.moments(fit(method, 4000 * batch_size // N, **settings))
    torch.testing.assert_close(loc[0], mean, atol=0.02, rtol=0)
    torch.testing.assert_close(scale[0], precision.diagonal().rsqrt(), atol=0, rtol=0.03)


def squared_gradients(mean: Tensor, variance: Tensor, batch_size: int) -> Tensor:
    """`E[g^2]`, `[3]`, of a minibatch's mean gradient `g` at weights `Normal(mean, variance)`.

    `g_i = tau / B sum_b x_bi (e_b + sum_j x_bj sigma_j epsilon_j)` with residuals `e` at the mean,
    and B of N rows are drawn without replacement: `E[(sum_b a_b)^2]` has the weight `B / N` on
    every `a_n^2` and `B (B - 1) / (N (N - 1))` on every product of two rows.
    """
    data = linear_data()
    x = torch.cat([data.inputs[0], torch.ones(N, 1).double()], 1)
    errors = x @ mean - data.targets[0]
    one, two = batch_size / N, batch_size * (batch_size - 1) / (N * (N - 1))

    def square(a: Tensor) -> Tensor:
        return one * a.square().sum(0) + two * (a.sum(0).square() - a.square().sum(0))

    spread = square(x[:, :, None] * x[:, None, :]) @ variance
    return (TAU / batch_size) ** 2 * (square(x * errors[:, None]) + spread)


def fixed_point(mean: Tensor, batch_size: int) -> Tensor:
    """The variances that solve `1 / sigma^2 = N E[g^2] + prior`, `[3]`."""
    variance = torch.full((3,), 0.1).double()
    for _ in range(200):
        new = 1 / (N * squared_gradients(mean, variance, batch_size) + LAMBDA)
        variance = (variance * new).sqrt()  # undamped it would swing about the solution
    torch.testing.assert_close(variance, new)
    return variance


@pytest.mark.parametrize("batch_size", [N, 10])
@pytest.mark.parametrize(
    ("method", "rate"),
    [(Vadam(label="v"), 0.002), (Vprop(label="p"), 0.002),
     (Vprop(label="n", square_root=False), 0.006)],
)  # fmt: skip
def test_vadam_and_vprop_settle_at_their_fixed_point(
    method: Vadam, rate: float, batch_size: int
) -> None:
    """The mean is exact. The precision is `N E[g^2] + prior`, not the mean-field optimum's.

    The square is that of a minibatch's mean, in which the rows' noise cancels: the larger the
    minibatch, the less it makes of the curvature.
    """
    mean, _ = exact_posterior(linear_data())
    settings = {"learning_rate": rate, "betas": (0.9, 0.998), "batch_size": batch_size}
    loc, scale = method.moments(fit(method, 4000 * batch_size // N, **settings))
    torch.testing.assert_close(loc[0], mean, atol=0.01, rtol=0)
    torch.testing.assert_close(scale[0], fixed_point(mean, batch_size).sqrt(), atol=0, rtol=0.03)


def test_practical_vi_with_gauss_newton_finds_the_mean_field_optimum() -> None:
    """For a linear model the Gauss-Newton matrix is the second derivative itself."""
    mean, precision = exact_posterior(linear_data())
    method = PracticalVI(label="p", curvature="gauss_newton")
    loc, scale = method.moments(fit(method, 3000, learning_rate=0.005))
    torch.testing.assert_close(loc[0], mean, atol=0.02, rtol=0)
    # Its gradient is the same for every sample: only Adam's last steps are in the way.
    torch.testing.assert_close(scale[0], precision.diagonal().rsqrt(), atol=0, rtol=1e-3)


@pytest.mark.parametrize("batch_size", [N, 10])
def test_practical_vi_settles_at_its_fixed_point(batch_size: int) -> None:
    """That of Vadam with single data points, whatever the minibatch size."""
    mean, _ = exact_posterior(linear_data())
    method = PracticalVI(label="p")
    settings = {"learning_rate": 0.003, "batch_size": batch_size}
    loc, scale = method.moments(fit(method, 4000 * batch_size // N, **settings))
    torch.testing.assert_close(loc[0], mean, atol=0.02, rtol=0)
    torch.testing.assert_close(scale[0], fixed_point(mean, 1).sqrt(), atol=0, rtol=0.03)


def test_mc_dropout_without_dropout_is_ridge_regression() -> None:
    mean, _ = exact_posterior(linear_data())
    posterior = fit(MCDropout(label="m"), 4000, samples=1, learning_rate=0.01)
    torch.testing.assert_close(posterior.state["loc"][0], mean, atol=1e-4, rtol=0)


@pytest.mark.parametrize("kind", ["bernoulli", "gaussian", "dropconnect"])
def test_mc_dropout_finds_the_minimum_of_its_expected_loss(kind: str) -> None:
    """With dropout the expected loss of a linear model is a ridge problem of its own."""
    data, dropout = linear_data(), 0.3
    keep = 1 - dropout
    method = MCDropout(label="m", noise=kind)
    hyper = {
        name: torch.full((1, 1), value).double()
        for name, value in {
            "noise_precision": TAU,
            "prior_precision": LAMBDA,
            "dropout": dropout,
        }.items()
    }
    training = Training(batch_size=N, dtype="float64", samples=100, learning_rate=0.002)
    streams = Streams([1], (0,), dtype=torch.float64)
    posterior = method.fit(FitTask(data, hyper, Network(depth=0), training, 4000, streams))
    x = data.inputs[0]
    # E[(z*x)(z*x)'] = E[z]^2 xx' + Var[z] diag(x^2), E[W^2] = E[z^2] M^2; no noise on the bias.
    # One z per row or per minibatch has the same expectation.
    first, variance = (1.0, dropout / keep) if kind == "gaussian" else (keep, keep * dropout)
    scale = torch.tensor([first, first, 1.0]).double()
    design = torch.cat([x, torch.ones(N, 1).double()], 1) * scale
    spread = torch.diag(torch.cat([variance * x.square().sum(0), torch.zeros(1).double()]))
    decay = (first**2 + variance) * LAMBDA * torch.eye(3).double()
    precision = TAU * (design.T @ design + spread) + decay
    expected = torch.linalg.solve(precision, TAU * design.T @ data.targets[0])
    torch.testing.assert_close(posterior.state["loc"][0], expected, atol=0.02, rtol=0)


def one_batch() -> Batch:
    half = torch.full((1, 1), 0.5).double()
    return Batch(
        inputs=torch.tensor([[[1.0], [3.0]]]).double(),
        targets=torch.tensor([[2.0, -1.0]]).double(),
        weights=torch.tensor([[0.5, 0.5]]).double(),
        counts=torch.tensor([[10.0]]).double(),
        unbias=(1 / (1 - half), 1 / (1 - half**2)),
        share=torch.ones(1, 1).double(),
    )


def test_vadam_step_by_hand() -> None:
    """Algorithm 5 for two samples of a two-weight model, squares taken per sample."""
    method, batch = Vadam(label="v"), one_batch()
    loc, s, m = torch.tensor([[0.2, -0.1]]).double(), torch.full((1, 2), 0.3).double(), 0.4
    state = {"loc": loc, "s": s, "momentum": torch.full((1, 2), m).double()}
    epsilon = torch.tensor([[[0.5, -1.0]], [[-0.3, 0.8]]]).double()
    tau, lam, n, betas, rate = 4.0, 2.0, 10.0, (0.9, 0.8), 0.01
    hyper = {
        k: torch.full((1, 1), v).double()
        for k, v in {"noise_precision": tau, "prior_precision": lam}.items()
    }
    training = Training(learning_rate=rate, betas=betas)
    new = method.update(MLP((1, 1)), training, state, hyper, batch, (epsilon,))
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
        unbias = [u.item() for u in batch.unbias]
        moved = loc[0, i].item() - rate * momentum * unbias[0] / (
            math.sqrt(s_new * unbias[1]) + lam / n
        )
        assert new["momentum"][0, i].item() == pytest.approx(momentum)
        assert new["s"][0, i].item() == pytest.approx(s_new)
        assert new["loc"][0, i].item() == pytest.approx(moved)


@pytest.mark.parametrize("square_root", [True, False])
def test_vprop_step_is_rmsprop_with_the_prior_in_place_of_epsilon(square_root: bool) -> None:
    method, batch = Vprop(label="v", square_root=square_root), one_batch()
    loc, s = torch.tensor([[0.2, -0.1]]).double(), torch.full((1, 2), 0.3).double()
    hyper = {
        k: torch.full((1, 1), v).double()
        for k, v in {"noise_precision": 4.0, "prior_precision": 2.0}.items()
    }
    training = Training(learning_rate=0.01, betas=(0.9, 0.8))
    still = (torch.zeros(1, 1, 2).double(),)  # no perturbation: the gradient at loc
    new = method.update(MLP((1, 1)), training, {"loc": loc, "s": s}, hyper, batch, still)
    error = [0.2 * x - 0.1 - y for x, y in ((1.0, 2.0), (3.0, -1.0))]
    gradient = torch.tensor([[2 * (error[0] + 3 * error[1]), 2 * sum(error)]]).double()
    expected = 0.8 * s + 0.2 * gradient**2
    scale = (expected.sqrt() if square_root else expected) + 0.2
    torch.testing.assert_close(new["s"], expected)
    torch.testing.assert_close(new["loc"], loc - 0.01 * (gradient + 0.2 * loc) / scale)


def test_vadam_starts_at_the_prior_or_at_a_given_precision() -> None:
    for initial, expected in ((None, LAMBDA), (10.0, 10.0), (0.5, LAMBDA)):
        method = Vadam(label="v", initial_precision=initial)
        hyper = {k: torch.full((1, 1), LAMBDA).double() for k in method.hyper_names}
        streams = Streams([1], (0,), dtype=torch.float64)
        task = FitTask(linear_data(), hyper, Network(depth=0), Training(), 1, streams)
        precision = N * method.init(task)["s"] + LAMBDA
        torch.testing.assert_close(precision, torch.full_like(precision, expected))


def test_bbb_starts_at_its_precision_and_weighs_minibatches() -> None:
    method = BBB(label="b", divergence=KL(label="kl"), minibatch_weights="exponential")
    hyper = {k: torch.full((1, 1), LAMBDA).double() for k in method.hyper_names}
    streams = Streams([1], (0,), dtype=torch.float64)
    task = FitTask(linear_data(), hyper, Network(depth=0), Training(), 1, streams)
    scale = torch.nn.functional.softplus(method.init(task)["rho"])
    torch.testing.assert_close(scale, torch.full_like(scale, 10**-0.5))
    shares = [method.share(j, 5) for j in range(5)]
    assert shares == pytest.approx([5 * 2 ** (5 - j) / (2**5 - 1) for j in range(1, 6)])
    assert [method.share(j, 3000) for j in (0, 2999)] == pytest.approx([1500, 0])


def test_practical_vi_starts_at_its_precision() -> None:
    method = PracticalVI(label="p")
    hyper = {k: torch.full((1, 1), LAMBDA).double() for k in method.hyper_names}
    streams = Streams([1], (0,), dtype=torch.float64)
    task = FitTask(linear_data(), hyper, Network(depth=0), Training(), 1, streams)
    variance = method.init(task)["log_variance"].exp()
    torch.testing.assert_close(variance, torch.full_like(variance, 0.1))


def test_kl_against_torch_and_its_gradient_against_autograd() -> None:
    torch.manual_seed(0)
    loc, scale = torch.randn(2, 5).double(), torch.rand(2, 5).double() + 0.1
    prior = torch.tensor([[0.5], [3.0]]).double()
    kl = KL(label="kl")
    q = torch.distributions.Normal(loc, scale)
    p = torch.distributions.Normal(torch.zeros_like(loc), prior.rsqrt().expand_as(loc))
    expected = torch.distributions.kl_divergence(q, p).sum(1)
    torch.testing.assert_close(kl.value(loc, scale, prior), expected)
    closed, automatic = kl.gradient(loc, scale, prior), Divergence.partials(kl, loc, scale, prior)
    for ours, theirs in zip(closed, automatic, strict=True):
        torch.testing.assert_close(ours, theirs)
