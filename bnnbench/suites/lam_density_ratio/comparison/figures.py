"""Figures 5.1, 5.4 to 5.7, 6.1 to 6.3, 8 and 9 of the thesis, drawn from our runs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from functools import partial

from matplotlib.figure import Figure

from bnnbench.report.blocks import FigureBlock
from bnnbench.suites.lam_density_ratio.comparison.evidence import SprinklerEvidence, SprinklerRun
from bnnbench.suites.lam_density_ratio.comparison.thesis import ThesisCell, exact_scores
from bnnbench.suites.lam_density_ratio.figures import (
    LearningCurves,
    learning_curves_figure,
    posteriors_figure,
)
from bnnbench.suites.lam_density_ratio.names import (
    CONTRASTS,
    DIVERGENCES,
    ESTIMATORS,
    MEASURES,
    RELU_RATIO,
)

MARKS = (
    "Lines and bands: medians and quartiles over repetitions; dashed line: score of exact "
    "posterior draws, if known"
)

ENLARGED = "; lower panels enlarge the values of later iterations"

GOOD, POOR = 1.325, 1.3963
"""Average KL of the posteriors in Fig. 5.4 (a) and (b)."""

Panels = Mapping[str, Mapping[str, ThesisCell]]
"""Configurations by title of the panel and name of the line."""


def by_contrast(*lines: tuple[str, str, str]) -> Panels:
    """Return a panel per contrast; each line is a name, a divergence and an estimator."""
    return {
        f"({letter}) {CONTRASTS[contrast]}": {
            name: ThesisCell("optimal", contrast, divergence, estimator)
            for name, divergence, estimator in lines
        }
        for letter, contrast in zip("ab", CONTRASTS, strict=True)
    }


def by_divergence(setting: str, contrast: str) -> Panels:
    """Return a panel per divergence, with a line per estimator."""
    return {
        f"({letter}) {DIVERGENCES[divergence]}": {
            symbol: ThesisCell(setting, contrast, divergence, name)
            for name, symbol in ESTIMATORS.items()
        }
        for letter, divergence in zip("ab", DIVERGENCES, strict=True)
    }


RELU = ("ReLU ratio, reverse KL", "kl_posterior_prior", RELU_RATIO)

FIGURES: Mapping[tuple[int, int], tuple[str, Panels]] = {
    (5, 5): ("ReLU ratio and class probability", by_contrast(
        RELU, ("class probability D, GAN", "gan", "class_probability"))),
    (6, 1): ("ReLU and exponential output", by_contrast(
        RELU, ("exponential ratio r, reverse KL", "kl_posterior_prior", "ratio"))),
    (8, 1): ("trained to the optimum, prior contrast", by_divergence("optimal", "prior")),
    (8, 4): ("trained to the optimum, joint contrast", by_divergence("optimal", "joint")),
    (9, 2): ("undertrained, prior contrast", by_divergence("undertrained", "prior")),
    (9, 5): ("undertrained, joint contrast", by_divergence("undertrained", "joint")),
}  # fmt: skip
"""Subject and panels of three figures each, one per measure, by the number of the first."""


def figure_blocks(evidence: SprinklerEvidence) -> Iterator[FigureBlock]:
    """Yield every figure with at least one line."""
    posteriors = posteriors_to_show(evidence)
    if posteriors:
        names = ", ".join(posteriors).replace("\n", ", ")
        yield FigureBlock(
            "density_ratio_fig_5_1_5_4",
            f"Figs. 5.1 and 5.4: contours of the posterior, one column per observation x. {names}: "
            "kernel density estimates of our draws; last row: the exact posterior",
            partial(_draw_posteriors, posteriors),
        )
    for (chapter, first), (subject, panels) in FIGURES.items():
        runs = {title: _with_curves(evidence, lines) for title, lines in panels.items()}
        runs = {title: lines for title, lines in runs.items() if lines}
        if not runs:
            continue
        used = [run for lines in runs.values() for run in lines.values()]
        deviations = dict.fromkeys(deviation for run in used for deviation in run.deviations)
        differ = f" (settings differ: {', '.join(deviations)})" if deviations else ""
        sizes = "; ".join(
            f"{title}: {', '.join(f'{name} ({len(run.finished)})' for name, run in lines.items())}"
            for title, lines in runs.items()
        )
        for offset, measure in enumerate(MEASURES):
            drawn = {title: _panel(lines, measure) for title, lines in runs.items()}
            yield FigureBlock(
                f"density_ratio_fig_{chapter}_{first + offset}",
                f"Fig. {chapter}.{first + offset}: {MEASURES[measure]} by iteration, {subject}"
                f"{differ}. {MARKS}{ENLARGED * (measure == 'average_kl')}. Finished repetitions: "
                f"{sizes}",
                partial(learning_curves_figure, drawn, measure),
            )


def _with_curves(
    evidence: SprinklerEvidence, lines: Mapping[str, ThesisCell]
) -> dict[str, SprinklerRun]:
    """Return the runs with more than one evaluation by name of the line."""
    runs = {name: evidence.runs[cell] for name, cell in lines.items() if cell in evidence.runs}
    return {name: run for name, run in runs.items() if len(run.mean_curve) > 1}


def _panel(runs: Mapping[str, SprinklerRun], measure: str) -> LearningCurves:
    exact = {exact_scores(run.metadata).get(measure, math.nan) for run in runs.values()}
    shared = exact.pop() if len(exact) == 1 else math.nan
    return LearningCurves({name: run.finished_curves for name, run in runs.items()}, shared)


def posteriors_to_show(evidence: SprinklerEvidence) -> dict[str, tuple[SprinklerRun, int]]:
    """Return the repetitions whose average KL is closest to those of Fig. 5.4 (a) and (b).

    Returns:
        Run and repetition by name of the row, a configuration and its average KL.
    """
    rows = [
        (float(row["average_kl"]), run, int(row["repetition"]))
        for run in evidence.runs.values()
        for row in run.finished.to_dict("records")
    ]
    closest = {}
    for letter, level in zip("ab", (GOOD, POOR), strict=True):
        if rows:
            value, run, repetition = min(rows, key=lambda row: abs(row[0] - level))
            closest[f"({letter}) {run.cell.name}\naverage KL {value:.4f}"] = (run, repetition)
    return closest


def _draw_posteriors(rows: Mapping[str, tuple[SprinklerRun, int]]) -> Figure:
    samples = {name: run.draws(repetition) for name, (run, repetition) in rows.items()}
    (first, _) = next(iter(rows.values()))
    return posteriors_figure(samples, first.metadata["data"])
