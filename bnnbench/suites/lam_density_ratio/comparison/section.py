"""Report section on the sprinkler: all runs, and the thesis's tables, figures and claims."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from bnnbench.experiment.store.answer_tables import Sample
from bnnbench.report.blocks import (
    Block,
    Cell,
    Column,
    DataFile,
    FigureBlock,
    Heading,
    Paragraph,
    Row,
    Style,
    columns,
    fill,
    with_stderr,
)
from bnnbench.report.claims_table import claims_blocks
from bnnbench.report.sections.significance import p_value_text
from bnnbench.results.claims.mean_tests import LEVEL, welch
from bnnbench.results.read.run_tables import Runs
from bnnbench.suites.lam_density_ratio.comparison.claims import checked_claims
from bnnbench.suites.lam_density_ratio.comparison.evidence import (
    SprinklerEvidence,
    SprinklerRun,
    evidence_of,
    sprinkler_runs,
    thesis_evidence,
)
from bnnbench.suites.lam_density_ratio.comparison.rules import groups, pairwise_tests
from bnnbench.suites.lam_density_ratio.comparison.thesis import (
    AVERAGE_KL_FLOOR,
    EXACT_KL,
    TABLES,
    ThesisCell,
    author_repetitions,
    exact_scores,
    printed_tables,
)
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


METRIC = (
    "The average KL is the thesis's metric (section 5.2): for each of five observations it "
    "compares a kernel density of 1000 draws of q, evaluated at these draws, with the posterior "
    "without its normaliser. It is not a divergence: exact posterior draws score "
    f"{AVERAGE_KL_FLOOR} (standard deviation 0.002), which is its floor."
)

ONE_ALGORITHM = (
    "The three estimators are one algorithm. With the thesis's activations T = a, r = exp(a) and "
    "D = 1 / (1 + exp(-a)) of the same pre-activation a, the losses of a divergence are the same "
    "function of a and have the same gradient in the weights: the slope of the activation "
    "cancels the difference between the derivatives of the losses (section 9.1.2). Only rounding "
    "differs: in single precision D is 1 from a = 17 on, and exp(a) overflows beyond 88. Hence "
    "chapters 8 and 9 compare seeds and rounding rather than D, r and T. Welch's tests of the "
    "thesis's own numbers agree: among {pairs} pairs of estimators of one divergence {low} have a "
    "p below 0.05, the smallest {smallest:.2g}; {chance:.1f} are expected by chance."
)

ILL_POSED = (
    "The joint contrast with five atoms has no optimum. It compares q*(x) q(z|x) with p(z) p(x|z), "
    "where q*(x) consists of five atoms and p(x) is continuous: no ratio exists, the divergence is "
    "infinite, and the better the estimator recognises the five values, the larger the NELBO. This "
    "explains why the NELBO rises while the posterior improves, which sections 5.3 and 9.3 leave "
    "open. With x drawn from p(x) (experiment.observations=model) the minimum is 0. This needs "
    "experiment.numerics=stable, because the tail of p(x) overflows the published form of the "
    "losses. Only runs with experiment.observations=data experiment.numerics=stable can tell the "
    "effects of both settings apart."
)

CLAIMS_STATEMENT = (
    "Claims of chapters 5 to 9, each checked on the available runs by the rule in the same row. "
    "The last column applies the rule to the thesis's own numbers, if its tables suffice. C15 and "
    "C16 are lemmas; experiment=estimator_parametrisations has their numbers. Rules with a "
    "statistical test need ten repetitions of every configuration."
)

P_STATEMENT = (
    "p: Welch's two-sided t-test of the difference, uncorrected, with 30 repetitions of the "
    "thesis. It is shown only if no setting except the number of repetitions differs and at least "
    "two repetitions finished."
)

STATEMENT = (
    "Final average KL in nats; lower is better. Ours: mean ± standard error over the repetitions "
    "that did not fail, and the standard deviation with divisor n, as in the thesis. Difference: "
    f"ours minus the thesis's. {P_STATEMENT}"
)

RUN_STATEMENT = (
    "Average KL: as computed in the thesis. KL: of q from the exact posterior, by nearest "
    f"neighbours, nats; exact draws score {EXACT_KL}. All are over the repetitions that did not "
    "fail."
)

AUTHOR = "github.com/Lammyy/IHateMaths, Sprinkler/part 2"

ONE_RUN = "D, r and T: one run, by the lemma"
"""Marks a run with stable numerics, which represents every estimator of its divergence."""

SCORES = ("average_kl", "kl")
"""Scores in the table of all runs."""

COMPARISON: Mapping[str, Cell] = {
    "Ours": with_stderr("mean", "stderr"),
    "Std": "{std:.4f}",
    "Thesis": "{thesis_mean:.4f}",
    "Thesis std": "{thesis_std:.4f}",
    "Difference": "{difference:+.4f}",
    "p": lambda row: p_value_text(row["p"]),
}
"""Cells with the numbers of `comparison`."""


def finished(row: Row) -> str:
    """Return `9 of 10` for the repetitions that did not fail; empty without a run."""
    total = row["repetitions"]
    return f"{total - row['failed']} of {total}" if total else ""


DIFFERENCES: Mapping[str, Cell] = {"Differs from the thesis in": "{settings_differ}"}

TABLE = columns(
    {"Configuration": "{configuration}"},
    {"Repetitions": finished, "Failed": "{failures}", **COMPARISON},
    DIFFERENCES,
)

RUNS = columns(
    {name.capitalize(): f"{{{name}}}" for name in ("configuration", "numerics", "observations")},
    {
        "Repetitions": finished,
        "Failed": "{failures}",
        "Average KL": with_stderr("average_kl"),
        "Median average KL": "{average_kl_median:.4f}",
        "KL": with_stderr("kl"),
    },
    DIFFERENCES,
)


def blocks_of(name: str, cells: Sequence[Column], rows: Sequence[Row]) -> Iterator[Block]:
    """Yield a table and, at full precision, the file `name` with its rows."""
    yield fill(cells, rows)
    yield DataFile(name, pd.DataFrame(rows))


def table_blocks(evidence: SprinklerEvidence) -> Iterator[Block]:
    """Yield every table with at least one run."""
    for number, title in TABLES.items():
        if evidence.tables.get(number):
            yield Heading(f"Table {number}: {title}", 3)
            name = f"density_ratio_table_{number.replace('.', '_')}"
            yield from blocks_of(name, TABLE, list(comparison_rows(evidence, number)))
            yield from author_blocks(evidence, number)


def comparison_rows(evidence: SprinklerEvidence, number: str) -> Iterator[dict[str, Any]]:
    """Yield the rows of one table, with the thesis's and our values at full precision."""
    for cell, theirs in printed_tables()[number].items():
        run = evidence.runs.get(cell) or evidence.shared_run(cell)
        differences = [*run.deviations, *([ONE_RUN] if run.is_stable else [])] if run else []
        yield {
            "configuration": cell.name,
            "settings_differ": ", ".join(differences),
            "repetitions": len(run.scores) if run else 0,
            "failed": run.failed if run else 0,
            "failures": run.failures if run else "",
            **comparison(
                run.sample() if run else Sample(),
                theirs,
                comparable=run is not None and not run.deviating_settings,
            ),
        }


def comparison(ours: Sample, theirs: Sample, comparable: bool) -> dict[str, float]:
    """Return both samples, their difference and, if they are comparable, its p by column."""
    tested = comparable and min(ours.size, theirs.size) > 1
    return {
        f"{prefix}{key}": getattr(sample, key)
        for prefix, sample in (("", ours), ("thesis_", theirs))
        for key in ("mean", "std", "stderr")
    } | {"difference": ours.mean - theirs.mean, "p": welch(ours, theirs).p if tested else math.nan}


def author_blocks(evidence: SprinklerEvidence, number: str) -> Iterator[Block]:
    """Yield a sentence on each configuration of a table for which the author published runs."""
    ours, table = evidence.tables.get(number, {}), printed_tables()[number]
    for cell, theirs in author_repetitions().items():
        if cell in table:
            sentence = (
                f"The author's own {theirs.size} repetitions of {cell.name} ({AUTHOR}) end at "
                f"{theirs.mean:.4f} ± {theirs.stderr:.4f}, std {theirs.std:.4f}; the table prints "
                f"{table[cell].mean:.4f} and {table[cell].std:.4f}."
            )
            if cell in ours and ours[cell].size > 1:
                sentence += f" Ours minus these: {welch(ours[cell], theirs)} (Welch)."
            yield Paragraph(sentence)


def run_blocks(runs: Sequence[SprinklerRun]) -> Iterator[Block]:
    """Yield a table of every run, with a score that needs no kernel density too."""
    yield Heading("Every run", 3)
    yield Paragraph(RUN_STATEMENT)
    rows = sorted(map(run_row, runs), key=lambda row: row["configuration"])
    yield from blocks_of("density_ratio_runs", RUNS, rows)


def run_row(run: SprinklerRun) -> dict[str, Any]:
    """Return the scores of a run at full precision."""
    row = {
        "run": run.digest,
        "configuration": f"{run.metadata['schedule']}, {run.cell.name}",
        **{name: run.metadata[name] for name in ("numerics", "observations", "seed")},
        "repetitions": len(run.scores),
        "failed": run.failed,
        "failures": run.failures,
        "settings_differ": ", ".join(run.deviations),
    }
    for name in (*SCORES, "seconds"):
        sample = run.sample(name)
        row |= {name: sample.mean, f"{name}_std": sample.std, f"{name}_stderr": sample.stderr}
    return {**row, "average_kl_median": run.finished["average_kl"].median()}


def section(runs: Runs, style: Style) -> Iterator[Block]:
    """Yield the section, if there are finished sprinkler runs."""
    sprinkler = sprinkler_runs(runs)
    if not sprinkler:
        return
    evidence = evidence_of(sprinkler)
    yield Heading("The continuous sprinkler (density-ratio thesis, chapters 5 to 9)")
    yield Paragraph(METRIC)
    yield from run_blocks(sprinkler)
    if any(evidence.tables.values()):
        yield Heading("The thesis's tables compared with ours", 3)
        yield Paragraph(STATEMENT)
        yield from table_blocks(evidence)
    yield Heading("Equivalence of the estimators", 3)
    yield Paragraph(equivalence_paragraph())
    yield Heading("Five atoms", 3)
    yield Paragraph(ILL_POSED)
    yield Heading("The thesis's figures from our runs", 3)
    yield from figure_blocks(evidence)
    yield Heading("Claims of the thesis on the sprinkler", 3)
    yield Paragraph(CLAIMS_STATEMENT)
    yield from claims_blocks(checked_claims(evidence), "density_ratio_claims")


def equivalence_paragraph() -> str:
    """Explain that the estimators are equivalent, with tests of the thesis's own numbers."""
    thesis = thesis_evidence()
    every_group = (*groups("optimal"), *groups("undertrained"))
    ps = [test.p for group in every_group for _, test in pairwise_tests(thesis, group)]
    low = sum(p < LEVEL for p in ps)
    return ONE_ALGORITHM.format(pairs=len(ps), low=low, smallest=min(ps), chance=LEVEL * len(ps))
