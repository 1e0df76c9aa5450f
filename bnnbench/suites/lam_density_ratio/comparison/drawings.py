"""The thesis's figures of the sprinkler, drawn from our runs: 5.1, 5.4 to 5.7, 6.1 to 6.3, 8, 9."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial

from matplotlib.figure import Figure

from bnnbench.report.section import Drawing
from bnnbench.suites.lam_density_ratio.comparison.evidence import MEASURES, Evidence, SprinklerRun
from bnnbench.suites.lam_density_ratio.comparison.published import (
    CONTRASTS,
    DIVERGENCES,
    ESTIMATORS,
    Cell,
    exact_scores,
)
from bnnbench.suites.lam_density_ratio.comparison.samples import samples_of
from bnnbench.suites.lam_density_ratio.figures.contours import posteriors_figure
from bnnbench.suites.lam_density_ratio.figures.courses import Panel, courses_figure

NAMES = {
    "average_kl": "average KL",
    "estimator_loss": "estimator loss",
    "nelbo": "NELBO",
}

GOOD, POOR = 1.325, 1.3963
"""The average KL of what Fig. 5.4 shows in (a) and in (b)."""

Panels = Mapping[str, Mapping[str, Cell]]
"""By title, and by what a line is called."""


@dataclass(frozen=True)
class Trio:
    """Three figures of the thesis: average KL, estimator loss and NELBO of some configurations.

    Attributes:
        chapter: of the thesis.
        first: the number of the first figure in it.
        what: they show.
        panels: of each.
    """

    chapter: int
    first: int
    what: str
    panels: Panels


def by_contrast(*lines: tuple[str, str, str]) -> Panels:
    """A panel per contrast; lines are called, and of this divergence and estimator."""
    return {
        f"({letter}) {CONTRASTS[contrast]}": {
            name: Cell("optimal", contrast, divergence, estimator)
            for name, divergence, estimator in lines
        }
        for letter, contrast in zip("ab", CONTRASTS, strict=True)
    }


def by_divergence(setting: str, contrast: str) -> Panels:
    """A panel per divergence, a line per estimator."""
    return {
        f"({letter}) {DIVERGENCES[divergence]}": {
            name: Cell(setting, contrast, divergence, name) for name in ESTIMATORS
        }
        for letter, divergence in zip("ab", DIVERGENCES, strict=True)
    }


RELU = ("ReLU ratio, reverse KL", "reverse_kl", "relu")

TRIOS = (
    Trio(5, 5, "ReLU ratio and class probability",
         by_contrast(RELU, ("class probability D, GAN", "gan", "D"))),
    Trio(6, 1, "ReLU and exponential output",
         by_contrast(RELU, ("exponential ratio r, reverse KL", "reverse_kl", "r"))),
    Trio(8, 1, "trained to the optimum, prior contrast", by_divergence("optimal", "prior")),
    Trio(8, 4, "trained to the optimum, joint contrast", by_divergence("optimal", "joint")),
    Trio(9, 2, "undertrained, prior contrast", by_divergence("undertrained", "prior")),
    Trio(9, 5, "undertrained, joint contrast", by_divergence("undertrained", "joint")),
)  # fmt: skip


def drawings(evidence: Evidence) -> Iterator[Drawing]:
    """Every figure of which we have a line."""
    posteriors = shown_posteriors(evidence)
    if posteriors:
        words = ", ".join(posteriors)
        yield Drawing(
            "density_ratio_fig_5_1_5_4",
            f"Figs. 5.1 and 5.4: posteriors by observation: {words}, and the truth",
            partial(_posteriors, posteriors),
        )
    for trio in TRIOS:
        yield from _trio(trio, evidence)


def _trio(trio: Trio, evidence: Evidence) -> Iterator[Drawing]:
    there = {
        title: {name: cell for name, cell in lines.items() if has_course(evidence, cell)}
        for title, lines in trio.panels.items()
    }
    there = {title: lines for title, lines in there.items() if lines}
    used = [cell for lines in there.values() for cell in lines.values()]
    if not used:
        return
    for place, measure in enumerate(MEASURES):
        number = f"{trio.chapter}.{trio.first + place}"
        panels = {title: _panel(lines, evidence, measure) for title, lines in there.items()}
        yield Drawing(
            f"density_ratio_fig_{number.replace('.', '_')}",
            f"Fig. {number}: {NAMES[measure]}, {trio.what}; means over repetitions"
            f"{_differing(evidence, used)}",
            partial(courses_figure, panels, measure),
        )


def _panel(lines: Mapping[str, Cell], evidence: Evidence, measure: str) -> Panel:
    runs = {name: evidence.runs[cell] for name, cell in lines.items()}
    exact = {exact_scores(run.names).get(measure, math.nan) for run in runs.values()}
    shared = exact.pop() if len(exact) == 1 else math.nan  # of the same data, contrast and law
    return Panel({name: run.own_curves for name, run in runs.items()}, shared)


def has_course(evidence: Evidence, cell: Cell) -> bool:
    """Whether there is a run of it with more than one evaluation."""
    return cell in evidence.runs and len(evidence.runs[cell].course) > 1


def _differing(evidence: Evidence, cells: list[Cell]) -> str:
    """In what the runs of a figure differ from the thesis, all of them together."""
    words = dict.fromkeys(word for cell in cells for word in evidence.runs[cell].departures)
    return f" (settings differ: {', '.join(words)})" if words else ""


def shown_posteriors(evidence: Evidence) -> dict[str, tuple[SprinklerRun, int]]:
    """The repetitions of Fig. 5.4: those that come nearest its average KL in (a) and in (b).

    Returns:
        Run and repetition by what their row is called; one row where both are the same.
    """
    rows = [
        (float(row["average_kl"]), run, int(row["repetition"]))
        for run in evidence.runs.values()
        for row in run.finished.to_dict("records")
    ]
    found = {}
    for letter, level in zip("ab", (GOOD, POOR), strict=True):
        if rows:
            value, run, repetition = min(rows, key=lambda row: abs(row[0] - level))
            found[f"({letter}) average KL {value:.4f}"] = (run, repetition)
    return found


def _posteriors(shown: Mapping[str, tuple[SprinklerRun, int]]) -> Figure:
    sets = {name: samples_of(run, repetition) for name, (run, repetition) in shown.items()}
    (first, _) = next(iter(shown.values()))
    return posteriors_figure(sets, first.names["data"])
