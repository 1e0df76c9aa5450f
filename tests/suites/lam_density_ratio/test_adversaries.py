"""Training to the end: logs, failures, resuming, and a known result."""

from __future__ import annotations

import pytest
import torch
from support.sprinkler import objective, problem, replicas

from bnnbench.suites.lam_density_ratio.names import DIVERGED, NOT_FINITE, OK, STUCK
from bnnbench.suites.lam_density_ratio.objectives import STUCK_LOSS
from bnnbench.suites.lam_density_ratio.stack import DensityRatioStack

KL, CLASSES = objective("kl_posterior_prior"), objective("gan", "class_probability")


def train(stack: DensityRatioStack, iterations: int) -> None:
    """Train up to this iteration, without saving."""
    stack.run(iterations + 1, lambda: None)


def pair(**settings: float) -> DensityRatioStack:
    """Return a stack of two objectives."""
    return DensityRatioStack(problem(**settings), replicas(KL, CLASSES))


def test_the_curve_has_a_row_per_evaluation_and_one_for_the_last_iteration() -> None:
    stack = pair(iterations=5, evaluate_every=2)
    train(stack, 5)
    for log in stack.logs:
        assert [row["iteration"] for row in log.curve] == [0, 2, 4, 5]
        assert log.curve[-1]["estimator_loss"] == log.estimator_loss
        assert log.curve[-1]["nelbo"] == log.nelbo
        assert (log.status, log.failed_at) == (OK, None) and log.seconds > 0
    assert stack.generator.adam.steps == 6  # the last iteration is included
    assert stack.estimator.adam.steps == 3 + 6 * 2


@pytest.mark.slow
@pytest.mark.parametrize("joint", [False, True])
def test_resuming_a_state_gives_the_same_bits(joint: bool) -> None:
    settings = {"joint": joint, "iterations": 9, "evaluate_every": 3}
    whole, stopped, resumed = (pair(**settings) for _ in range(3))
    train(whole, 9)
    train(stopped, 4)
    states = [stopped.state(k) for k in range(2)]
    train(stopped, 6)  # does not change the saved states
    resumed.restore(5, states)
    train(resumed, 9)
    assert [log.curve for log in resumed.logs] == [log.curve for log in whole.logs]
    for half in ("generator", "estimator"):
        ours, theirs = getattr(resumed, half), getattr(whole, half)
        assert torch.equal(ours.parameters.flat, theirs.parameters.flat)
        assert torch.equal(ours.adam.second, theirs.adam.second)
    assert torch.equal(resumed.samples("last"), whole.samples("last"))


def test_a_failed_replica_is_frozen_and_does_not_affect_others() -> None:
    settings = {"iterations": 7, "evaluate_every": 1}
    whole, broken, resumed = (pair(**settings) for _ in range(3))
    train(whole, 7)
    train(broken, 2)
    broken.estimator.parameters.flat[0] = float("nan")
    train(broken, 4)
    resumed.restore(broken.steps, [broken.state(k) for k in range(2)])
    assert resumed.active[:, 0].tolist() == [0, 1]
    train(resumed, 7)
    failed, healthy = resumed.logs
    assert (failed.status, failed.failed_at) == (NOT_FINITE, 3)
    assert [row["iteration"] for row in failed.curve] == [0, 1, 2]
    assert (healthy.status, healthy.curve) == (OK, whole.logs[1].curve)
    ours, theirs = (stack.generator.parameters.flat[1] for stack in (resumed, whole))
    assert torch.equal(ours, theirs)


@pytest.mark.slow
def test_a_dead_relu_is_stuck_and_stops() -> None:
    setting = problem(pretraining_steps=120, estimator_steps=40, iterations=30, evaluate_every=1)
    stack = DensityRatioStack(setting, replicas(objective("kl_posterior_prior", "relu_ratio")))
    head = stack.estimator.parameters.head
    head[-1].zero_()
    head[-1][:, -1] = -1.0  # the ratio is zero everywhere, and so is every slope
    train(stack, 30)
    (log,) = stack.logs
    assert log.status == STUCK
    # 120 steps of pre-training and nine times 40 are 90 % of 500.
    assert log.failed_at == 8 and stack.steps == 9
    assert log.estimator_loss == pytest.approx(STUCK_LOSS, abs=1e-3)
    assert len(log.curve) == 8


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize(
    ("good", "expected"), [(0, STUCK), (30, STUCK), (49, STUCK), (60, OK), (500, OK)]
)
def test_a_dead_estimator_is_stuck_despite_some_good_minibatches(
    good: int, expected: str, sign: int
) -> None:
    stack = pair()
    losses = torch.full((25, 2), sign * STUCK_LOSS)
    losses[:, 1] = 1.0
    for block in range(20):
        own = losses.clone()
        own[: max(0, min(25, good - 25 * block)), 0] = 1.0
        stack._detect_failures(own[torch.randperm(25)], torch.zeros(2))
    dead, healthy = stack.logs
    assert (dead.status, healthy.status) == (expected, OK)


def test_good_minibatches_long_ago_do_not_count() -> None:
    stack = pair()
    for value, count in ((1.0, 2000), (STUCK_LOSS, 449), (1.0, 1), (STUCK_LOSS, 1)):
        assert {log.status for log in stack.logs} == {OK}
        stack._detect_failures(torch.full((count, 2), value), None)
    assert {log.status for log in stack.logs} == {STUCK}
    assert len(stack.logs[0].stuck) == 500


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        ((8.0, 7.9, 1.4), OK),
        ((8.0, 99.0, 1.4), OK),  # recovered
        ((8.0, 8.1, 8.5), OK),  # a run of a few iterations
        ((8.0, 8.1, 13.0), DIVERGED),
        ((8.0, 1700.0, 1600.0), DIVERGED),  # in the first step
        ((8.0, 7.9, 1.4, 2185.0), DIVERGED),
        ((8.0, 7.9, float("inf")), DIVERGED),
        ((8.0, 7.9, float("nan")), DIVERGED),
    ],
)
def test_a_pair_that_ends_worse_than_it_began_has_diverged(
    scores: tuple[float, ...], expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    last = len(scores) - 2
    stack, left = pair(iterations=last, evaluate_every=1), iter(scores)

    def evaluate(_: int) -> dict[str, torch.Tensor]:
        return {stack.score: torch.tensor([next(left), 8.0])}

    monkeypatch.setattr(stack, "evaluate", evaluate)
    train(stack, last)
    judged, healthy = stack.logs
    assert judged.status == expected and healthy.status == OK
    assert judged.failed_at == (None if expected == OK else last)
    assert stack.active[:, 0].tolist() == [expected == OK, 1]


def test_rates_decay_to_zero_after_the_given_fraction() -> None:
    falling, constant = (problem(iterations=10, decay_from=x).schedule for x in (0.5, 1.0))
    assert [falling.rate_factor(k) for k in (0, 5, 6, 10)] == [1, 1, 0.8, 0]
    assert {constant.rate_factor(k) for k in range(11)} == {1.0}


@pytest.mark.slow
def test_a_short_run_comes_near_the_exact_posterior() -> None:
    """A training of half a minute, with larger learning rates than published."""
    setting = problem(
        pretraining_steps=500, estimator_steps=8, iterations=600, samples=100,
        estimator_rate=1e-3, posterior_rate=1e-3, decay_from=0.3,
    )  # fmt: skip
    stack = DensityRatioStack(setting, replicas(KL))
    train(stack, 600)
    values = [row["average_kl"] for row in stack.logs[0].curve]
    assert values[0] > 5 and values[-1] < 1.45
