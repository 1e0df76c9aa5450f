"""Page of a finished sprinkler run: scores, learning curves and posteriors."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import pandas as pd

from bnnbench.experiment.run_folder import RunFolder
from bnnbench.files import write_text
from bnnbench.report.blocks import Table, label_columns, number_columns
from bnnbench.report.claims_table import claims_data
from bnnbench.report.experiment_page import verdict
from bnnbench.report.formatting import format_number, plus_minus
from bnnbench.report.run_page import FigureFunctions, RunPage
from bnnbench.results.answers import ANSWERS, CLAIMS, Answer
from bnnbench.results.claims import VERDICTS, Claim
from bnnbench.suites.lam_density_ratio.comparison.claims import claims
from bnnbench.suites.lam_density_ratio.comparison.evidence import (
    SprinklerRun,
    evidence_of,
    read_sprinkler,
)
from bnnbench.suites.lam_density_ratio.comparison.published import (
    exact_scores,
    published_values,
)
from bnnbench.suites.lam_density_ratio.comparison.samples import load_samples
from bnnbench.suites.lam_density_ratio.figures.contours import posteriors_figure
from bnnbench.suites.lam_density_ratio.figures.learning_curves import run_figure
from bnnbench.suites.lam_density_ratio.tables import KIND, OK

FINAL = "final q"
"""Name of the approximation in all answers."""

SUCCESS_RATE = "fraction of repetitions that did not fail"

SCORES = {
    "average_kl": "average KL",
    "average_kl_last5": "average KL, mean of the last five",
    "kl": "KL(q || posterior), by nearest neighbours",
    "sliced_wasserstein": "sliced Wasserstein distance",
    "estimator_loss": "estimator loss",
    "nelbo": "NELBO",
    "seconds": "seconds of one repetition",
}
"""Names of the columns of `repetitions.csv`."""

CAPTION = (
    "mean ± standard error over repetitions that did not fail; std: standard deviation with "
    "divisor n, as in the thesis; nats, except for distance and seconds; exact: the score of exact "
    "posterior draws, which can be beaten by chance only"
)


def write_run_page(folder: RunFolder) -> None:
    """Write `answers.csv` and `claims.csv`."""
    run = read_sprinkler(folder)
    rows = [answer.row() for answer in answers(run)]
    write_text(folder.table(ANSWERS), pd.DataFrame(rows).to_csv(index=False))
    write_text(folder.table(CLAIMS), claims_data(claims(evidence_of([run]))).to_csv(index=False))


def run_figures(folder: RunFolder) -> FigureFunctions:
    """Return the learning curves, and the posteriors of one repetition."""
    run, figures = read_sprinkler(folder), {}
    if len(run.curves):
        figures["learning_curves"] = partial(run_figure, run.curves, exact_scores(run.metadata))
    repetition = median_repetition(run)
    if repetition is not None:
        name = f"repetition {repetition}, average KL {_score(run, repetition):.4f}"
        samples = {name: load_samples(run, repetition)}
        figures["posteriors"] = partial(posteriors_figure, samples, run.metadata["data"])
    return figures


def answers(run: SprinklerRun) -> Iterator[Answer]:
    """Yield every score, and the fraction of repetitions that did not fail."""
    thesis = published_values().get(run.cell) if run.cell else None
    deviations = ", ".join(run.deviations)
    exact = exact_scores(run.metadata)
    for column, name in SCORES.items():
        sample, exact_score = run.sample(column), exact.get(column, float("nan"))
        published = thesis.mean if thesis and column == "average_kl" else float("nan")
        yield Answer(name, FINAL, sample.mean, deviations, sample.stderr, exact_score, published)
    fraction = len(run.finished) / len(run.repetitions)
    yield Answer(SUCCESS_RATE, FINAL, fraction, deviations)


def testable_claims(run: SprinklerRun) -> list[Claim]:
    """Return the thesis's claims that this run alone can test."""
    return [claim for claim in claims(evidence_of([run])) if claim.verdict != VERDICTS[None]]


def median_repetition(run: SprinklerRun) -> int | None:
    """Return the repetition with the median average KL, or None if all failed."""
    ordered = run.finished.dropna(subset=["average_kl"]).sort_values("average_kl")
    return int(ordered["repetition"].iloc[len(ordered) // 2]) if len(ordered) else None


def _score(run: SprinklerRun, repetition: int) -> float:
    rows = run.repetitions
    return float(rows.loc[rows["repetition"] == repetition, "average_kl"].iloc[0])


def run_table(folder: RunFolder) -> Table:
    """Return the scores over repetitions, of exact draws, and of the thesis."""
    run = read_sprinkler(folder)
    thesis = published_values().get(run.cell) if run.cell else None
    mark = " (settings differ)" if run.deviations else ""
    thesis_columns = (f"thesis{mark}", "thesis std") if thesis else ()
    rows = []
    exact = exact_scores(run.metadata)
    for column, name in SCORES.items():
        sample = run.sample(column)
        cells = [name, plus_minus(sample.mean, sample.stderr), format_number(sample.std, ".2g")]
        cells.append(format_number(exact.get(column, float("nan")), ".5g"))
        if thesis:
            is_published = column == "average_kl"
            cells += [f"{thesis.mean:.4f}", f"{thesis.std:.4f}"] if is_published else ["", ""]
        rows.append(tuple(cells))
    numbers = number_columns("mean ± stderr", "std", "exact", *thesis_columns)
    failed = len(run.repetitions) - len(run.finished)
    title = (
        f"{run.name}, {run.metadata['schedule']}: {len(run.repetitions)} repetitions, "
        f"{failed} failed"
    )
    return Table((*label_columns("score"), *numbers), tuple(rows), title=title, caption=CAPTION)


def run_notes(folder: RunFolder) -> list[str]:
    """Return failures, deviations from the thesis, and the claims that this run can test."""
    run = read_sprinkler(folder)
    notes = list(failures(run))
    if run.deviations:
        notes.append(f"Deviations from the thesis: {', '.join(run.deviations)}.")
    if run.metadata["contrast"] == "joint" and run.metadata["observations"] == "data":
        notes.append(ILL_POSED)
    return [*notes, *map(verdict, testable_claims(run))]


ILL_POSED = (
    "q*(x) is five atoms and p(x) is continuous, so that the divergence of the joint densities is "
    "infinite and the best estimator degenerate; use experiment.observations=model "
    "experiment.numerics=stable to draw x from p(x)."
)


def failures(run: SprinklerRun) -> Iterator[str]:
    """Yield the number of failed repetitions by kind of failure, with their iterations."""
    failed = run.repetitions[run.repetitions["status"] != OK]
    for status, rows in failed.groupby("status"):
        numbers = ", ".join(
            f"{row['repetition']:g} (iteration {row['failed_at']:g})"
            for row in rows.to_dict("records")
        )
        yield (
            f"{len(rows)} of {len(run.repetitions)} repetitions failed ({status}) and are excluded "
            f"from all means: {numbers}."
        )


CAPTIONS = {
    "learning_curves": "Average KL, estimator loss and NELBO by iteration. Thin grey lines: single "
    "repetitions; blue line: their mean; dashed line: score of exact posterior draws",
    "posteriors": "Contours of the posterior, one column per observation x. First row: kernel "
    "density estimate of the repetition with the median average KL; last row: the exact posterior",
}

PAGE = RunPage(KIND, write_run_page, run_table, run_notes, figures=run_figures, captions=CAPTIONS)
