"""Training to the end: logs, failures, resuming, and a known result."""

from __future__ import annotations

import pytest
import torch
from support.sprinkler import objective, problem, replicas

from bnnbench.suites.lam_density_ratio.objectives import STUCK_LOSS
from bnnbench.suites.lam_density_ratio.stack import Replica
from bnnbench.suites.lam_density_ratio.tables import NOT_FINITE, OK, STUCK
from bnnbench.suites.lam_density_ratio.trainer import SAVE_EVERY, Trainer

KL, CLASSES = objective("kl_posterior_prior"), objective("gan", "class_probability")


def unsaved(trainer: Trainer) -> None:
    """Save nothing."""


def test_the_curve_has_a_row_per_evaluation_and_one_for_the_last_iteration() -> None:
    trainer = Trainer(problem(iterations=5, evaluate_every=2), replicas(KL, CLASSES))
    trainer.run(unsaved)
    for log in trainer.logs:
        assert [row["iteration"] for row in log.curve] == [0, 2, 4, 5]
        assert log.curve[-1]["estimator_loss"] == log.estimator_loss
        assert log.curve[-1]["nelbo"] == log.nelbo
        assert (log.status, log.failed_at) == (OK, None) and log.seconds > 0
    assert trainer.stack.generator.adam.steps == 6  # the last iteration is included
    assert trainer.stack.estimator.adam.steps == 3 + 6 * 2


@pytest.mark.parametrize("joint", [False, True])
def test_resuming_a_state_gives_the_same_bits(joint: bool) -> None:
    setting = problem(joint, iterations=9, evaluate_every=3)
    whole = Trainer(setting, replicas(KL, CLASSES))
    whole.run(unsaved)
    stopped = Trainer(setting, replicas(KL, CLASSES))
    stopped.run(unsaved, stop=4)
    states = [stopped.state(k) for k in range(2)]
    stopped.run(unsaved, stop=6)  # does not change the saved states
    after = Trainer(setting, replicas(KL, CLASSES))
    after.restore(states)
    after.run(unsaved)
    for k in range(2):
        assert after.logs[k].curve == whole.logs[k].curve
        for half in ("generator", "estimator"):
            ours, theirs = getattr(after.stack, half), getattr(whole.stack, half)
            assert torch.equal(ours.parameters.flat, theirs.parameters.flat)
            assert torch.equal(ours.adam.second, theirs.adam.second)
    assert torch.equal(after.samples("last"), whole.samples("last"))


def test_states_are_saved_regularly_and_at_the_end() -> None:
    saved: list[int] = []
    setting = problem(iterations=SAVE_EVERY + 3, estimator_steps=1, samples=2, evaluate_every=999)
    Trainer(setting, replicas(KL)).run(lambda trainer: saved.append(trainer.iteration))
    assert saved == [0, SAVE_EVERY, SAVE_EVERY + 3]


def test_a_failed_replica_is_frozen_and_does_not_affect_others() -> None:
    setting = problem(iterations=7, evaluate_every=1)
    whole, broken = (Trainer(setting, replicas(KL, CLASSES)) for _ in range(2))
    whole.run(unsaved)
    broken.run(unsaved, stop=2)
    broken.stack.estimator.parameters.flat[0] = float("nan")
    broken.run(unsaved)
    failed, healthy = broken.logs
    assert (failed.status, failed.failed_at) == (NOT_FINITE, 3)
    assert [row["iteration"] for row in failed.curve] == [0, 1, 2]
    assert (healthy.status, healthy.curve) == (OK, whole.logs[1].curve)
    assert torch.equal(
        broken.stack.generator.parameters.flat[1], whole.stack.generator.parameters.flat[1]
    )


def test_a_dead_relu_is_stuck_and_stops() -> None:
    setting = problem(pretraining_steps=120, estimator_steps=40, iterations=30, evaluate_every=1)
    trainer = Trainer(setting, replicas(objective("kl_posterior_prior", "relu_ratio")))
    estimator = trainer.stack.estimator.parameters
    estimator.head[-1].zero_()
    estimator.head[-1][:, -1] = -1.0  # the ratio is zero everywhere, and so is every slope
    trainer.run(unsaved)
    (log,) = trainer.logs
    assert log.status == STUCK
    # 120 steps of pre-training and ten times 40.
    assert log.failed_at == 9 and trainer.iteration == 9
    assert log.estimator_loss == pytest.approx(STUCK_LOSS, abs=1e-3)
    assert len(log.curve) == 9


def test_a_failure_in_pretraining_ends_the_training() -> None:
    trainer = Trainer(problem(), replicas(KL))
    trainer.stack.generator.parameters.flat.fill_(float("inf"))
    trainer.run(unsaved)
    (log,) = trainer.logs
    assert (log.status, log.failed_at, log.curve) == (NOT_FINITE, 0, [])
    assert trainer.iteration == -1


def test_a_frozen_replica_stays_frozen_when_resumed() -> None:
    setting = problem(iterations=6)
    trainer = Trainer(setting, replicas(KL, CLASSES))
    trainer.run(unsaved, stop=1)
    trainer.stack.generator.parameters.flat[0] = float("nan")
    trainer.run(unsaved, stop=3)
    again = Trainer(setting, replicas(KL, CLASSES))
    again.restore([trainer.state(k) for k in range(2)])
    assert again.stack.active[:, 0].tolist() == [0, 1]
    again.run(unsaved)
    assert [log.status for log in again.logs] == [NOT_FINITE, OK]
    assert again.logs[0].failed_at == 2


def test_rates_decay_to_zero_after_the_given_fraction() -> None:
    setting = problem(iterations=10, decay_from=0.5, pretraining_steps=0)
    assert [setting.schedule.rate_factor(k) for k in (0, 5, 6, 10)] == [1, 1, 0.8, 0]
    constant = problem(iterations=10, decay_from=1.0).schedule
    assert {constant.rate_factor(k) for k in range(11)} == {1.0}


@pytest.mark.slow
def test_a_short_run_comes_near_the_exact_posterior() -> None:
    """A training of half a minute, with larger learning rates than published."""
    setting = problem(
        pretraining_steps=500, estimator_steps=8, iterations=600, samples=100,
        estimator_rate=1e-3, posterior_rate=1e-3, decay_from=0.3,
    )  # fmt: skip
    trainer = Trainer(setting, [Replica(KL, seed=0, repetition=0)])
    trainer.run(unsaved)
    values = [row["average_kl"] for row in trainer.logs[0].curve]
    assert values[0] > 5 and values[-1] < 1.45
