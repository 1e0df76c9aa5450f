"""Training to the end: the course, failures, going on, and an answer that is known."""

from __future__ import annotations

import pytest
import torch
from support.sprinkler import objective, problem, replicas

from bnnbench.suites.lam_density_ratio.objectives import STUCK_LOSS
from bnnbench.suites.lam_density_ratio.stack import Replica
from bnnbench.suites.lam_density_ratio.tables import NOT_FINITE, OK, STUCK
from bnnbench.suites.lam_density_ratio.trainer import SAVE_EVERY, Trainer

KL, CLASSES = objective("reverse_kl"), objective("gan", "D")


def unsaved(trainer: Trainer) -> None:
    """Keeps nothing."""


def test_a_course_has_a_row_at_every_evaluation_and_the_last_iteration() -> None:
    trainer = Trainer(problem(iterations=5, evaluate_every=2), replicas(KL, CLASSES))
    trainer.run(unsaved)
    for course in trainer.courses:
        assert [row["iteration"] for row in course.curve] == [0, 2, 4, 5]
        assert course.curve[-1]["estimator_loss"] == course.estimator_loss
        assert course.curve[-1]["nelbo"] == course.nelbo
        assert (course.status, course.failed_at) == (OK, None) and course.seconds > 0
    assert trainer.stack.generator.adam.steps == 6  # the last one is done too
    assert trainer.stack.estimator.adam.steps == 3 + 6 * 2


@pytest.mark.parametrize("joint", [False, True])
def test_going_on_from_a_state_gives_the_same_bits(joint: bool) -> None:
    setting = problem(joint, iterations=9, evaluate_every=3)
    whole = Trainer(setting, replicas(KL, CLASSES))
    whole.run(unsaved)
    stopped = Trainer(setting, replicas(KL, CLASSES))
    stopped.run(unsaved, stop=4)
    states = [stopped.state(k) for k in range(2)]
    stopped.run(unsaved, stop=6)  # what a state holds is not what goes on
    after = Trainer(setting, replicas(KL, CLASSES))
    after.restore(states)
    after.run(unsaved)
    for k in range(2):
        assert after.courses[k].curve == whole.courses[k].curve
        for half in ("generator", "estimator"):
            ours, theirs = getattr(after.stack, half), getattr(whole.stack, half)
            assert torch.equal(ours.parameters.flat, theirs.parameters.flat)
            assert torch.equal(ours.adam.second, theirs.adam.second)
    assert torch.equal(after.samples("last"), whole.samples("last"))


def test_a_state_is_saved_as_often_as_said_and_at_the_end() -> None:
    saved: list[int] = []
    setting = problem(iterations=SAVE_EVERY + 3, estimator_steps=1, samples=2, evaluate_every=999)
    Trainer(setting, replicas(KL)).run(lambda trainer: saved.append(trainer.iteration))
    assert saved == [0, SAVE_EVERY, SAVE_EVERY + 3]


def test_a_replica_that_is_lost_is_named_frozen_and_alone_in_it() -> None:
    setting = problem(iterations=7, evaluate_every=1)
    whole, broken = (Trainer(setting, replicas(KL, CLASSES)) for _ in range(2))
    whole.run(unsaved)
    broken.run(unsaved, stop=2)
    broken.stack.estimator.parameters.flat[0] = float("nan")
    broken.run(unsaved)
    lost, sound = broken.courses
    assert (lost.status, lost.failed_at) == (NOT_FINITE, 3)
    assert [row["iteration"] for row in lost.curve] == [0, 1, 2]
    assert (sound.status, sound.curve) == (OK, whole.courses[1].curve)
    assert torch.equal(
        broken.stack.generator.parameters.flat[1], whole.stack.generator.parameters.flat[1]
    )


def test_a_dead_relu_is_stuck_after_so_many_steps_and_stays_where_it_is() -> None:
    setting = problem(pretraining_steps=120, estimator_steps=40, iterations=30, evaluate_every=1)
    trainer = Trainer(setting, replicas(objective("reverse_kl", "relu")))
    estimator = trainer.stack.estimator.parameters
    estimator.head[-1].zero_()
    estimator.head[-1][:, -1] = -1.0  # the ratio is zero everywhere, and so is every slope
    trainer.run(unsaved)
    (course,) = trainer.courses
    assert course.status == STUCK
    # 120 steps of pre-training and ten times 40.
    assert course.failed_at == 9 and trainer.iteration == 9
    assert course.estimator_loss == pytest.approx(STUCK_LOSS, abs=1e-3)
    assert len(course.curve) == 9


def test_a_failure_before_the_first_iteration_ends_it_there() -> None:
    trainer = Trainer(problem(), replicas(KL))
    trainer.stack.generator.parameters.flat.fill_(float("inf"))
    trainer.run(unsaved)
    (course,) = trainer.courses
    assert (course.status, course.failed_at, course.curve) == (NOT_FINITE, 0, [])
    assert trainer.iteration == -1


def test_a_frozen_replica_stays_frozen_when_it_goes_on() -> None:
    setting = problem(iterations=6)
    trainer = Trainer(setting, replicas(KL, CLASSES))
    trainer.run(unsaved, stop=1)
    trainer.stack.generator.parameters.flat[0] = float("nan")
    trainer.run(unsaved, stop=3)
    again = Trainer(setting, replicas(KL, CLASSES))
    again.restore([trainer.state(k) for k in range(2)])
    assert again.stack.active[:, 0].tolist() == [0, 1]
    again.run(unsaved)
    assert [course.status for course in again.courses] == [NOT_FINITE, OK]
    assert again.courses[0].failed_at == 2


def test_rates_fall_to_zero_where_they_are_told_to() -> None:
    setting = problem(iterations=10, decay_from=0.5, pretraining_steps=0)
    assert [setting.schedule.pace(k) for k in (0, 5, 6, 10)] == [1, 1, 0.8, 0]
    constant = problem(iterations=10, decay_from=1.0).schedule
    assert {constant.pace(k) for k in range(11)} == {1.0}


@pytest.mark.slow
def test_a_short_run_comes_near_the_exact_posterior() -> None:
    """A quarter of an hour of the published protocol's way, in half a minute."""
    setting = problem(
        pretraining_steps=500, estimator_steps=8, iterations=600, samples=100,
        estimator_rate=1e-3, posterior_rate=1e-3, decay_from=0.3,
    )  # fmt: skip
    trainer = Trainer(setting, [Replica(KL, seed=0, repetition=0)])
    trainer.run(unsaved)
    values = [row["average_kl"] for row in trainer.courses[0].curve]
    assert values[0] > 5 and values[-1] < 1.45
