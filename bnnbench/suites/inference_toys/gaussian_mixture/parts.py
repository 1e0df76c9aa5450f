"""The parts of a run on coordinate ascent and variational EM, as tables and answers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.special import gammaln

from bnnbench.results.answers import Answer
from bnnbench.suites.inference_toys.gaussian_mixture import tables
from bnnbench.suites.inference_toys.gaussian_mixture.coordinate_ascent import Ascent
from bnnbench.suites.inference_toys.gaussian_mixture.enumeration import (
    enumerate_assignments,
    exact_log_predictive,
    exact_prior_variance,
    lowest_mean,
)
from bnnbench.suites.inference_toys.gaussian_mixture.model import log_predictive
from bnnbench.suites.inference_toys.gaussian_mixture.scene import Part, Row, Scene, best_of
from bnnbench.suites.inference_toys.gaussian_mixture.variational_em import fit_prior_variance

SAME = 1e-6
"""Nats within which two starts have reached the same optimum."""


def few_points(scene: Scene) -> Part:
    """Coordinate ascent beside the exact posterior."""
    points, new = scene.data.draw(), scene.data.draw_held_out(scene.held_out)
    exact = enumerate_assignments(points, scene.components, scene.prior_variance)
    ascents = scene.ascents()
    best = ascents[best_of(ascents)]
    lowest = best.loc[-1].argmin()
    spread = float(np.sqrt(best.variance[-1][lowest]))
    predicted = float(log_predictive(new, best.loc[-1], best.variance[-1]).mean())
    log_evidence, bound = exact.log_evidence, float(best.elbo[-1])
    answers = [
        _few(tables.EVIDENCE, bound, log_evidence),
        _few(tables.GAP, log_evidence - bound),
        Answer(tables.LABELLINGS, "K!", float(gammaln(scene.components + 1)), tables.FEW_POINTS),
        *_over_starts(ascents, tables.FEW_POINTS),
        _few(tables.HELD_OUT, predicted, float(exact_log_predictive(exact, new).mean())),
        _few(tables.SPREAD, spread, lowest_mean(exact)[1]),
    ]
    return Part(answers, _tables(scene, tables.FEW, ascents))


def _few(quantity: str, value: float, exact: float = np.nan) -> Answer:
    return Answer(quantity, tables.ASCENT, value, tables.FEW_POINTS, exact=exact)


def many_points(scene: Scene) -> Part:
    """Coordinate ascent where starts may end in different optima."""
    ascents = scene.ascents()
    new = scene.data.draw_held_out(scene.held_out)
    best = best_of(ascents)
    rows = _tables(scene, tables.MANY, ascents)
    held_out = [float(row["held_out"]) for row in rows[tables.STARTS]]
    loc = np.array(scene.data.loc, dtype=float)
    true = float(log_predictive(new, loc, np.zeros_like(loc)).mean())
    answers = [
        _many(tables.EVIDENCE, tables.ASCENT, float(ascents[best].elbo[-1])),
        _many(tables.WORST, tables.ASCENT, float(min(a.elbo[-1] for a in ascents))),
        *_over_starts(ascents, tables.MANY_POINTS),
        _many(tables.HELD_OUT, tables.ASCENT, held_out[best]),
        _many(tables.HELD_OUT, "CAVI, worst start", min(held_out)),
        _many(tables.HELD_OUT, "the means that made the data", true),
    ]
    return Part(answers, rows)


def _many(quantity: str, approximation: str, value: float) -> Answer:
    return Answer(quantity, approximation, value, tables.MANY_POINTS)


def _over_starts(ascents: Sequence[Ascent], setting: str) -> list[Answer]:
    """What is said of all starts together."""
    ends = np.array([ascent.elbo[-1] for ascent in ascents])
    found = {
        tables.BEST_SHARE: (ends > ends.max() - SAME).mean(),
        tables.CONVERGED_SHARE: np.mean([ascent.converged for ascent in ascents]),
        tables.FALL: max(ascent.largest_fall for ascent in ascents),
    }
    return [
        Answer(quantity, tables.ASCENT, float(value), setting) for quantity, value in found.items()
    ]


def _tables(scene: Scene, part: str, ascents: Sequence[Ascent]) -> dict[str, list[Row]]:
    """The points, a row per start, and a row per start and iteration."""
    new = scene.data.draw_held_out(scene.held_out)
    starts, trace = [], []
    for number, ascent in enumerate(ascents):
        held_out = log_predictive(new, ascent.loc, ascent.variance).mean(-1)
        names = {"part": part, "start": number}
        for iteration, bound in enumerate(ascent.elbo):
            factors = {
                f"{name}_{k}": float(values[iteration, k])
                for k in range(ascent.loc.shape[1])
                for name, values in (("loc", ascent.loc), ("variance", ascent.variance))
            }
            measured = {"elbo": float(bound), "held_out": float(held_out[iteration])}
            trace.append({**names, "iteration": iteration, **measured, **factors})
        end = {"elbo": float(ascent.elbo[-1]), "held_out": float(held_out[-1])}
        fall = {"largest_fall": ascent.largest_fall}
        done = {"iterations": len(ascent.elbo) - 1, "converged": int(ascent.converged)}
        starts.append({**names, **done, **end, **fall})
    points = [{"part": part, "point": float(point)} for point in scene.data.draw()]
    return {tables.POINTS: points, tables.STARTS: starts, tables.TRACE: trace}


def fitted_prior_variance(scene: Scene) -> Part:
    """Variational EM for the prior variance, beside the exact evidence that it should maximise."""
    points, components = scene.data.draw(), scene.components
    limits = scene.prior_variance, scene.iterations, scene.tolerance
    fits = [fit_prior_variance(points, scene.start(n), *limits) for n in range(scene.starts)]
    best = fits[best_of(fits)]
    fitted, end = float(best.prior_variance[-1]), best.loc[-1]
    low, high = 0.1 * min(fitted, scene.prior_variance), 10 * max(fitted, scene.prior_variance)
    curve = [
        {
            "prior_variance": float(value),
            "log_evidence": enumerate_assignments(points, components, value).log_evidence,
            "elbo": float(scene.ascent(end, value).elbo[-1]),
        }
        for value in np.geomspace(low, high, 60)
    ]
    columns = {"prior_variance": best.prior_variance, "elbo": best.elbo, "square": best.square}
    path = [
        {"iteration": t, **{name: float(values[t]) for name, values in columns.items()}}
        for t in range(len(best.elbo))
    ]
    fall = max(fit.largest_fall for fit in fits)
    exact = exact_prior_variance(points, components, low, high)
    evidence = enumerate_assignments(points, components, fitted).log_evidence
    method, setting = tables.VARIATIONAL_EM, tables.FEW_POINTS
    answers = [
        Answer(tables.VARIANCE, method, fitted, setting, exact=exact),
        Answer(tables.EVIDENCE, method, float(best.elbo[-1]), setting, exact=evidence),
        Answer(tables.FALL, method, fall, setting),
    ]
    return Part(answers, {tables.CURVE: curve, tables.PATH: path})
