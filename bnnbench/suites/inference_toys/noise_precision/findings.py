"""What quadrature and coordinate ascent leave on one line."""

from __future__ import annotations

from bnnbench.results.answers import ANSWERS, Answer
from bnnbench.suites.inference_toys.noise_precision import tables as words
from bnnbench.suites.inference_toys.noise_precision.coordinate_ascent import ascend
from bnnbench.suites.inference_toys.noise_precision.exact import divergence
from bnnbench.suites.inference_toys.noise_precision.rows import (
    Named,
    Scene,
    Tables,
    densities,
    moment_answers,
    rows_of,
    step_rows,
)


def exact_tables(scene: Scene) -> Tables:
    """The data, the exact densities and, where (3.48) is the target, how far off that lies."""
    shown = [Named(words.EXACT, "", scene.posterior)]
    answers = []
    if not scene.with_weight:
        shown.append(Named(words.EXACT, words.FACTORISED, scene.target))
        of_both = (
            (words.MEAN, scene.target.mean, scene.posterior.mean),
            (words.STD, scene.target.std, scene.posterior.std),
            (words.EVIDENCE, scene.target.log_evidence, scene.posterior.log_evidence),
        )
        answers = [
            Answer(quantity, words.EXACT, value, "target of (3.48)", exact=truth)
            for quantity, value, truth in of_both
        ]
    data = zip(scene.line.inputs.tolist(), scene.line.targets.tolist(), strict=True)
    return {
        ANSWERS: rows_of(answers),
        words.POINTS: [{"input": x, "target": y} for x, y in data],
        words.DENSITIES: densities(scene, shown),
    }


def ascent_tables(scene: Scene) -> Tables:
    """Coordinate ascent: its bound and KL after every update."""
    line, found = scene.line, ascend(scene.line, scene.reading)
    gaps = [divergence(line, scene.posterior, belief) for belief in found.beliefs]
    named = Named(words.CAVI, "", found.belief, found.bounds[-1])
    answers = [*moment_answers(scene, named), Answer(words.GAP, words.CAVI, gaps[-1])]
    means = [float(belief.mean) for belief in found.beliefs]
    return {
        ANSWERS: rows_of(answers),
        words.STEPS: step_rows(named, range(len(gaps)), means, found.bounds, gaps),
        words.DENSITIES: densities(scene, [named]),
    }
