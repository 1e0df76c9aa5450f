"""What stochastic gradients leave; apart from the rest, since it needs torch."""

from __future__ import annotations

from bnnbench.results.answers import ANSWERS, Answer
from bnnbench.suites.inference_toys.noise_precision import tables as words
from bnnbench.suites.inference_toys.noise_precision.black_boxes import (
    Budget,
    Climb,
    advi,
    black_box,
)
from bnnbench.suites.inference_toys.noise_precision.exact import divergence
from bnnbench.suites.inference_toys.noise_precision.log_normal import log_normal_divergence
from bnnbench.suites.inference_toys.noise_precision.rows import (
    Named,
    Scene,
    Tables,
    densities,
    moment_answers,
    rows_of,
    step_rows,
)


def pathwise_tables(scene: Scene, budget: Budget) -> Tables:
    """ADVI with a mean field and with a full covariance."""
    merged: Tables = {ANSWERS: [], words.STEPS: [], words.DENSITIES: []}
    for setting in (words.MEAN_FIELD, words.FULL):
        found = advi(scene.line, budget, setting == words.FULL)
        named = Named(words.ADVI, setting, found.q, found.bounds[-1])
        gap = log_normal_divergence(scene.line, scene.posterior, found.q)
        for name, rows in climbed(scene, named, found, gap).items():
            merged[name] += rows
    return merged


def score_tables(scene: Scene, budget: Budget) -> Tables:
    """Black-box variational inference by the score function."""
    found = black_box(scene.line, budget)
    named = Named(words.SCORE, "", found.q, found.bounds[-1])
    return climbed(scene, named, found, divergence(scene.line, scene.posterior, found.q))


def climbed(scene: Scene, named: Named, found: Climb, gap: float) -> Tables:
    """The rows of one climb.

    Args:
        scene: what is given.
        named: the approximation that it came to.
        found: the climb.
        gap: KL to the posterior at its end, nats.
    """
    answers = [
        *moment_answers(scene, named),
        Answer(words.GAP, named.approximation, gap, named.setting),
    ]
    return {
        ANSWERS: rows_of(answers),
        words.STEPS: step_rows(named, found.steps, found.means, found.bounds),
        words.DENSITIES: densities(scene, [named]),
    }
