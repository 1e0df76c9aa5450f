"""Page of a finished sprinkler run: scores, learning curves and posteriors."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from math import nan

import pandas as pd

from bnnbench.experiment.store.answer_tables import ANSWERS, Answer
from bnnbench.experiment.store.run_folder import RunFolder
from bnnbench.files import write_text
from bnnbench.notes import quantity
from bnnbench.report.blocks import (
    TableBlock,
    format_number,
    label_columns,
    number_columns,
    plus_minus,
)
from bnnbench.report.claims_table import claims_data, claims_notes
from bnnbench.report.run_page import FigureFunctions, RunPage
from bnnbench.results.claims.claims import Claim
from bnnbench.results.claims.saved_run import CLAIMS
from bnnbench.suites.lam_density_ratio.comparison.claims import checked_claims
from bnnbench.suites.lam_density_ratio.comparison.evidence import (
    SprinklerRun,
    evidence_of,
    read_sprinkler,
)
from bnnbench.suites.lam_density_ratio.comparison.thesis import exact_scores, published_values
from bnnbench.suites.lam_density_ratio.figures import posteriors_figure, run_figure
from bnnbench.suites.lam_density_ratio.names import KIND, OK

FINAL = "final q"
"""Name of the approximation in all answers."""

SUCCESS_RATE = "fraction of repetitions that did not fail"

SCORES = {
    "average_kl": "average KL",
    "kl": "KL(q || posterior), by nearest neighbours",
    "estimator_loss": "estimator loss",
    "nelbo": "NELBO",
    "seconds": "seconds of one repetition",
}
"""Names of the columns of `repetitions.csv`."""

CAPTION = (
    "mean ± standard error over repetitions that did not fail; std: standard deviation with "
    "divisor n, as in the thesis; nats, except for seconds; exact: the score of exact "
    "posterior draws, which can be beaten by chance only"
)

ILL_POSED = (
    "q*(x) is five atoms and p(x) is continuous, so that the divergence of the joint densities is "
    "infinite and the best estimator degenerate; use experiment.observations=model "
    "experiment.numerics=stable to draw x from p(x)."
)

CAPTIONS = {
    "learning_curves": "Average KL, estimator loss and NELBO by iteration. Thin grey lines: single "
    "repetitions; blue line: their median; dashed line: score of exact posterior draws",
    "posteriors": "Contours of the posterior, one column per observation x. First row: kernel "
    "density estimate of the repetition with the median average KL; last row: the exact posterior",
}


def write_run_page(folder: RunFolder) -> None:
    """Write `answers.csv` and `claims.csv`."""
    run = read_sprinkler(folder)
    write_text(folder.table(ANSWERS), pd.DataFrame(answers(run)).to_csv(index=False))
    write_text(folder.table(CLAIMS), claims_data(claims_of(run)).to_csv(index=False))


def claims_of(run: SprinklerRun) -> list[Claim]:
    """Return the thesis's claims, checked on this run alone."""
    return checked_claims(evidence_of([run]))


def answers(run: SprinklerRun) -> Iterator[Answer]:
    """Yield every score, and the fraction of repetitions that did not fail."""
    deviations, exact = ", ".join(run.deviations), exact_scores(run.metadata)
    thesis = published_values().get(run.cell)
    published = {"average_kl": thesis.mean} if thesis else {}
    for column, name in SCORES.items():
        score, more = run.sample(column), (exact.get(column, nan), published.get(column, nan))
        yield Answer(name, FINAL, score.mean, deviations, score.stderr, *more)
    yield Answer(SUCCESS_RATE, FINAL, len(run.finished) / len(run.scores), deviations)


def run_figures(folder: RunFolder) -> FigureFunctions:
    """Return the learning curves, and the posteriors of one repetition."""
    run, figures = read_sprinkler(folder), {}
    if len(run.curves):
        figures["learning_curves"] = partial(run_figure, run.curves, exact_scores(run.metadata))
    repetition = median_repetition(run)
    if repetition is not None:
        score = run.scores.set_index("repetition")["average_kl"][repetition]
        draws = {f"repetition {repetition}, average KL {score:.4f}": run.draws(repetition)}
        figures["posteriors"] = partial(posteriors_figure, draws, run.metadata["data"])
    return figures


def median_repetition(run: SprinklerRun) -> int | None:
    """Return the repetition with the median average KL, or None if all failed."""
    ordered = run.finished.dropna(subset=["average_kl"]).sort_values("average_kl")
    return int(ordered["repetition"].iloc[len(ordered) // 2]) if len(ordered) else None


def run_table(folder: RunFolder) -> TableBlock:
    """Return the scores over repetitions, of exact draws, and of the thesis."""
    run = read_sprinkler(folder)
    exact, thesis = exact_scores(run.metadata), published_values().get(run.cell)
    mark = " (settings differ)" if run.deviations else ""
    published = {"average_kl": (f"{thesis.mean:.4f}", f"{thesis.std:.4f}")} if thesis else {}
    thesis_columns = (f"thesis{mark}", "thesis std") if thesis else ()
    rows = []
    for column, name in SCORES.items():
        sample = run.sample(column)
        ours = plus_minus(sample.mean, sample.stderr), format_number(sample.std, ".2g")
        exact_score = format_number(exact.get(column, nan), ".5g")
        rows.append((name, *ours, exact_score, *published.get(column, ("",) * len(thesis_columns))))
    numbers = number_columns("mean ± stderr", "std", "exact", *thesis_columns)
    size = f"{quantity(len(run.scores), 'repetition')}, {run.failed} failed"
    title = f"{run.cell.name}, {run.metadata['schedule']}: {size}"
    return TableBlock(
        (*label_columns("score"), *numbers), tuple(rows), title=title, caption=CAPTION
    )


def run_notes(folder: RunFolder) -> list[str]:
    """Return failures, deviations from the thesis, and the verdicts on claims."""
    run = read_sprinkler(folder)
    notes = []
    failed = run.scores[run.scores["status"] != OK]
    for status, rows in failed.groupby("status"):
        numbers = ", ".join(
            f"{row['repetition']:g} (iteration {row['failed_at']:g})"
            for row in rows.to_dict("records")
        )
        notes.append(
            f"{len(rows)} of {len(run.scores)} repetitions failed ({status}) and are excluded "
            f"from all means: {numbers}."
        )
    if run.deviations:
        notes.append(f"Deviations from the thesis: {', '.join(run.deviations)}.")
    if run.metadata["contrast"] == "joint" and run.metadata["observations"] == "data":
        notes.append(ILL_POSED)
    return [*notes, *claims_notes(claims_of(run))]


PAGE = RunPage(KIND, run_table, run_notes, (ANSWERS, CLAIMS), write_run_page, run_figures, CAPTIONS)
