"""What one finished sprinkler shows: scores beside their floors, courses and posteriors."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import pandas as pd

from bnnbench.experiment.run_folder import RunFolder
from bnnbench.files import write_text
from bnnbench.report.claims_table import claims_data
from bnnbench.report.exhibit import verdict
from bnnbench.report.numbers import number, plus_minus
from bnnbench.report.page import Drawings, Page
from bnnbench.report.section import Table, numbers, words
from bnnbench.results.answers import ANSWERS, CLAIMS, Answer
from bnnbench.results.claims import VERDICTS, Claim
from bnnbench.suites.lam_density_ratio.comparison.claims import claims
from bnnbench.suites.lam_density_ratio.comparison.evidence import (
    SprinklerRun,
    evidence_of,
    read_sprinkler,
)
from bnnbench.suites.lam_density_ratio.comparison.published import (
    everything,
    exact_scores,
)
from bnnbench.suites.lam_density_ratio.comparison.samples import samples_of
from bnnbench.suites.lam_density_ratio.figures.contours import posteriors_figure
from bnnbench.suites.lam_density_ratio.figures.courses import run_figure
from bnnbench.suites.lam_density_ratio.tables import KIND, OK

SCORES = {
    "average_kl": "average KL",
    "average_kl_last5": "average KL, mean of the last five",
    "kl": "KL(q || posterior), by nearest neighbours",
    "sliced_wasserstein": "sliced Wasserstein distance",
    "estimator_loss": "estimator loss",
    "nelbo": "NELBO",
    "seconds": "seconds of one repetition",
}
"""Columns of `repetitions.csv`, and what they are called."""

CAPTION = (
    "mean ± standard error over repetitions that did not fail; std: standard deviation with "
    "divisor n, as the thesis has it; nats, but for distance and seconds; exact: the score of "
    "exact posterior draws, below which there is nothing but chance"
)


def write_run_page(folder: RunFolder) -> None:
    """Writes `answers.csv` and `claims.csv`."""
    run = read_sprinkler(folder)
    rows = [answer.row() for answer in answers(run)]
    write_text(folder.table(ANSWERS), pd.DataFrame(rows).to_csv(index=False))
    write_text(folder.table(CLAIMS), claims_data(claims(evidence_of([run]))).to_csv(index=False))


def run_drawings(folder: RunFolder) -> Drawings:
    """The courses of the training, and the samples of one repetition beside the posteriors."""
    run, found = read_sprinkler(folder), {}
    if len(run.curves):
        found["courses"] = partial(run_figure, run.curves, exact_scores(run.names))
    chosen = median_repetition(run)
    if chosen is not None:
        name = f"repetition {chosen}, average KL {_score(run, chosen):.4f}"
        shown = {name: samples_of(run, chosen)}
        found["posteriors"] = partial(posteriors_figure, shown, run.names["data"])
    return found


def answers(run: SprinklerRun) -> Iterator[Answer]:
    """Every score, and the share of repetitions that did not fail."""
    printed = everything().get(run.cell) if run.cell else None
    what = ", ".join(run.departures)
    exact = exact_scores(run.names)
    for column, name in SCORES.items():
        own, best = run.sample(column), exact.get(column, float("nan"))
        published = printed.mean if printed and column == "average_kl" else float("nan")
        yield Answer(name, "q at the end", own.mean, what, own.stderr, best, published)
    share = len(run.finished) / len(run.repetitions)
    yield Answer("share of repetitions that did not fail", "q at the end", share, what)


def judged(run: SprinklerRun) -> list[Claim]:
    """The thesis's claims that a single run can be held against, alone."""
    return [claim for claim in claims(evidence_of([run])) if claim.verdict != VERDICTS[None]]


def median_repetition(run: SprinklerRun) -> int | None:
    """The repetition in the middle by average KL, which is shown; None if all failed."""
    own = run.finished.dropna(subset=["average_kl"]).sort_values("average_kl")
    return int(own["repetition"].iloc[len(own) // 2]) if len(own) else None


def _score(run: SprinklerRun, repetition: int) -> float:
    rows = run.repetitions
    return float(rows.loc[rows["repetition"] == repetition, "average_kl"].iloc[0])


def run_table(folder: RunFolder) -> Table:
    """The scores over repetitions, the exact posterior's and what the thesis prints."""
    run = read_sprinkler(folder)
    published = everything().get(run.cell) if run.cell else None
    head = _published_head(run, published is not None)
    rows = []
    exact = exact_scores(run.names)
    for column, name in SCORES.items():
        own = run.sample(column)
        cells = [name, plus_minus(own.mean, own.stderr), number(own.std, ".2g")]
        cells.append(number(exact.get(column, float("nan")), ".5g"))
        if head:
            beside = published and column == "average_kl"
            cells.append(f"{published.mean:.4f}" if beside and published else "")
            cells.append(f"{published.std:.4f}" if beside and published else "")
        rows.append(tuple(cells))
    columns = (*words("score"), *numbers("mean ± stderr", "std", "exact", *head))
    failed = len(run.repetitions) - len(run.finished)
    title = f"{_title(run)}: {len(run.repetitions)} repetitions, {failed} failed"
    return Table(columns, tuple(rows), title=title, caption=CAPTION)


def _published_head(run: SprinklerRun, there: bool) -> tuple[str, ...]:
    mark = " (settings differ)" if run.departures else ""
    return (f"thesis{mark}", "its std") if there else ()


def _title(run: SprinklerRun) -> str:
    names = run.names
    return ", ".join(str(names[n]) for n in ("contrast", "divergence", "estimator", "protocol"))


def run_notes(folder: RunFolder) -> list[str]:
    """Failures, what differs from the thesis, and the claims that this run can be held against."""
    run = read_sprinkler(folder)
    notes = list(failures(run))
    if run.departures:
        notes.append(f"Other than in the thesis: {', '.join(run.departures)}.")
    if run.names["contrast"] == "joint" and run.names["observations"] == "data":
        notes.append(ILL_POSED)
    return [*notes, *map(verdict, judged(run))]


ILL_POSED = (
    "q*(x) is five atoms and p(x) is continuous, so that the divergence of the joint densities is "
    "infinite and the best estimator degenerate; observations=model numerics=stable draws x from "
    "p(x), where it is not."
)


def failures(run: SprinklerRun) -> Iterator[str]:
    """How many repetitions failed, in what way and when; they are in no mean."""
    failed = run.repetitions[run.repetitions["status"] != OK]
    for status, own in failed.groupby("status"):
        places = ", ".join(
            f"{row['repetition']:g} (iteration {row['failed_at']:g})"
            for row in own.to_dict("records")
        )
        yield (
            f"{len(own)} of {len(run.repetitions)} repetitions failed, {status}, and are in no "
            f"mean: {places}."
        )


PAGE = Page(KIND, write_run_page, run_table, run_notes, drawings=run_drawings)
