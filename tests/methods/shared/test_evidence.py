"""Evidence: exact for linear models, its maximum, and the values of laplace-torch."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from scipy.optimize import minimize
from support.laplace_torch import SETS, STRUCTURES, fit
from support.linear_model import (
    ADAM_TO_CONVERGENCE,
    LAMBDA,
    TAU,
    design,
    exact_log_evidence,
    linear_data,
    linear_task,
)
from support.user_errors import raises_user_error
from torch import Tensor

from bnnbench.likelihoods import Gaussian
from bnnbench.losses import Beta
from bnnbench.methods.laplace import Laplace, Round
from bnnbench.methods.shared.contract import FitTask
from bnnbench.methods.shared.evidence import log_evidence, optimal_precisions
from bnnbench.random_streams import Streams
from bnnbench.settings import Network, Training
from bnnbench.types import TrainingSet

BOTH = {"prior_precision_by": "marginal_likelihood", "noise_precision_by": "marginal_likelihood"}
BETA = Gaussian(loss=Beta(beta=2.0))
RECORDED = json.loads(Path(__file__).with_name("laplace_torch.json").read_text())


def column(value: float | Tensor) -> Tensor:
    return torch.as_tensor(value).double().reshape(1, 1)


def test_evidence_of_a_linear_model_is_exact_at_the_posterior_mean() -> None:
    x, y = design(), linear_data().targets[0]
    gram = TAU * x.T @ x
    w = torch.linalg.solve(gram + LAMBDA * torch.eye(3).double(), TAU * x.T @ y)
    log_likelihood = torch.distributions.Normal(x @ w, TAU**-0.5).log_prob(y).sum()
    found = log_evidence(
        column(log_likelihood), column(w @ w), torch.linalg.eigvalsh(gram)[None], column(LAMBDA)
    )
    assert found.item() == pytest.approx(exact_log_evidence(), abs=1e-10)


def test_precisions_maximise_the_evidence_at_fixed_weights() -> None:
    """Of two replicas, in one of which more weights than rows are determined."""
    generator = torch.Generator().manual_seed(0)
    unit = torch.rand(2, 12, generator=generator).double().mul(8).exp()
    square, error, rows = (
        column(3.0).repeat(2, 1),
        column(2.0).repeat(2, 1),
        torch.tensor([[50.0], [9.0]]),
    )
    logs = torch.stack(optimal_precisions(unit, square, error, rows)).log().requires_grad_()
    prior, noise = logs.exp()
    log_likelihood = 0.5 * (rows * (noise / (2 * math.pi)).log() - noise * error)
    log_evidence(log_likelihood, square, noise * unit, prior).sum().backward()
    assert logs.grad is not None and logs.grad.abs().max() < 1e-10


@pytest.mark.slow
def test_rounds_converge_to_the_evidence_of_the_linear_model() -> None:
    """Training and evidence agree on the joint maximum over both precisions."""
    method = Laplace(
        label="l", curvature="full", evidence_rounds=3, initial_prior_precision=LAMBDA, **BOTH
    )
    posterior = method.fit(linear_task(method, 600, **ADAM_TO_CONVERGENCE))
    found = minimize(
        lambda logs: -exact_log_evidence(*np.exp(logs)), [0.0, 1.0], options={"gtol": 1e-8}
    )
    chosen = [posterior.diagnostics[f"learned_{n}_precision"].item() for n in ("prior", "noise")]
    np.testing.assert_allclose(chosen, np.exp(found.x), rtol=2e-3)
    assert posterior.diagnostics["log_evidence"].item() == pytest.approx(-found.fun, abs=1e-5)
    assert posterior.hyper["noise_precision"].item() == pytest.approx(chosen[1])
    precision = chosen[1] * design().T @ design() + chosen[0] * torch.eye(3).double()
    torch.testing.assert_close(method.covariance(posterior)[0], torch.linalg.inv(precision))


@pytest.mark.parametrize("curvature", STRUCTURES)
def test_each_replica_keeps_the_round_with_the_largest_evidence(
    curvature: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of three replicas; the first fit of one diverges."""
    rounds: list[Round] = []

    def recorded(self: Laplace, task: FitTask) -> Round:
        found = fit_round(self, task)
        if not rounds:
            found.mode.diverged[2] = True
        rounds.append(found)
        return found

    fit_round = Laplace._round
    monkeypatch.setattr(Laplace, "_round", recorded)
    generator = torch.Generator().manual_seed(0)
    inputs = torch.randn(3, 30, 2, generator=generator).double()
    data = TrainingSet(inputs, inputs[..., 0].sin(), (30, 30, 30), (0, 1, 2))
    streams = Streams([1, 2, 3], (0, 1, 2), "cpu", torch.float64)
    training = Training(batch_size=10, epochs=5, learning_rate=0.05)
    method = Laplace(label="l", curvature=curvature, evidence_rounds=6, **BOTH)
    fitted = method.fit(FitTask(data, {}, Network(width=5), training, 5, streams))
    evidence = torch.stack([one.diagnostics["log_evidence"] for one in rounds])
    evidence[0, 2] = -math.inf
    best = evidence.argmax(0)
    assert len(rounds) == 6 and (best < 5).any()  # not always the last
    torch.testing.assert_close(fitted.diagnostics["log_evidence"], evidence.amax(0))
    assert not fitted.diverged.any()
    for r, k in enumerate(best.tolist()):
        assert torch.equal(fitted.state["loc"][r], rounds[k].mode.state["loc"][r])
        for name in ("prior_precision", "noise_precision"):
            assert torch.equal(fitted.hyper[name][r], rounds[k].hyper[name][r])


@pytest.mark.slow
@pytest.mark.parametrize("dataset", SETS)
@pytest.mark.parametrize("curvature", STRUCTURES)
def test_evidence_equals_recorded_values_of_laplace_torch(dataset: str, curvature: str) -> None:
    diagnostics = fit(dataset, curvature)[0].diagnostics
    for name, value in RECORDED["values"][dataset][curvature].items():
        assert diagnostics[name].item() == pytest.approx(value, rel=1e-5), name


@pytest.mark.parametrize(
    ("settings", "setting", "code"),
    [
        ({**BOTH, "noise_precision": 3.0}, "method.noise_precision", None),
        ({"noise_precision_by": "marginal_likelihood"}, "method.prior_precision_by", "both"),
        ({**BOTH, "likelihood": BETA}, "method.noise_precision_by", "loss"),
    ],
)
def test_what_the_evidence_cannot_determine_is_refused(
    settings: dict[str, Any], setting: str, code: str | None
) -> None:
    with raises_user_error(setting, code):
        Laplace(label="l", **settings)
