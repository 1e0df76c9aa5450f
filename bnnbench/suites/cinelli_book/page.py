"""Report section on the book's comparison: Tables 4.3 and 4.4, log-likelihoods and claims."""

from __future__ import annotations

from collections.abc import Iterator

from bnnbench.report import blocks
from bnnbench.report.claims_table import claims_blocks
from bnnbench.results.compare.outcomes import all_pairs
from bnnbench.results.compare.published_scores import with_published
from bnnbench.results.read.run_tables import Runs
from bnnbench.suites.cinelli_book.claims import claims
from bnnbench.suites.cinelli_book.comparison import (
    CONFIGURATIONS,
    SPLITS,
    BookRuns,
    book_runs,
    book_seconds,
)
from bnnbench.suites.cinelli_book.practice import PRACTICE_STATEMENT, RULES, practice_table
from bnnbench.suites.cinelli_book.times import times_blocks

LIKELIHOODS_STATEMENT = (
    "Three quantities are called log-likelihood; all are averages over test points, in nats."
)

LIKELIHOODS = (
    "Per point: the log of the predictive density (averaged over weight samples) at each point. "
    "Published for MC dropout and in most papers; elsewhere in this report, log-likelihood means "
    "this quantity.",
    "Joint: the joint density of all test points is averaged over weight samples, and its log is "
    "divided by their number. Computed by the code of Vadam and SLANG; the published values of BBB "
    "are from the SLANG paper, and no value of Vadam could be confirmed.",
    "Gaussian: the log density of one Gaussian with the mean and variance of the mixture. PBP "
    "predicts such a Gaussian, so for PBP all three agree and its published values are listed "
    "under per point.",
)

LIKELIHOOD_OF_THE_BOOK = (
    "The book plots its log-likelihoods (Fig. 4.17) without printing numbers. It defines the "
    "Gaussian density of one network (eq. 4.1) but not how it is averaged over its 100 weight "
    "samples."
)

LIKELIHOOD_COLUMNS = (
    blocks.Column("Data set", "label", "{dataset}"),
    blocks.Column("Method", "label", lambda run: CONFIGURATIONS[run["method"]]),
    blocks.Column("Per point", cell=blocks.score("log_likelihood")),
    blocks.Column("published", cell=blocks.with_stderr("log_likelihood_published")),
    blocks.Column("Joint", cell=blocks.score("log_likelihood_joint")),
    blocks.Column("published", cell=blocks.with_stderr("log_likelihood_joint_published")),
    blocks.Column("Gaussian", cell=blocks.score("log_likelihood_gaussian")),
)

CLAIMS_STATEMENT = (
    "Claims of section 4.7.5, each tested by the rule in the last column on the data sets with "
    "runs of every configuration it mentions. A number is confirmed if ours is between half and "
    "twice it (for an excess of 16 %: 8 to 32 %). Claims about total time are also tested on the "
    "book's own Table 4.3, over the same data sets; the book prints no scores or fit times."
)


def section(runs: Runs, style: blocks.Style) -> Iterator[blocks.Block]:
    """Yield the report section on the book's comparison, if there are runs of it."""
    suite = book_runs(with_published(runs), runs.cached(all_pairs))
    if suite is None:
        return
    yield blocks.Heading("The book's comparison (section 4.7)")
    yield blocks.Paragraph(coverage_sentence(suite))
    if suite.runs.empty:
        return
    yield from times_blocks(suite)
    yield blocks.Heading("Practitioner's table (Table 4.4)", 3)
    yield blocks.Paragraph(PRACTICE_STATEMENT)
    yield blocks.ItemList(RULES)
    yield practice_table(suite)
    yield blocks.Heading("Three log-likelihoods", 3)
    yield blocks.Paragraph(LIKELIHOODS_STATEMENT)
    yield blocks.ItemList(LIKELIHOODS)
    yield blocks.Paragraph(LIKELIHOOD_OF_THE_BOOK)
    yield blocks.fill(LIKELIHOOD_COLUMNS, suite.runs)
    yield blocks.Heading("Claims of the book (section 4.7.5)", 3)
    yield blocks.Paragraph(CLAIMS_STATEMENT)
    yield from claims_blocks(claims(suite), "claims")


def coverage_sentence(suite: BookRuns) -> str:
    """Describe which runs of the book's comparison are finished, missing or left out."""
    runs, book = suite.runs, book_seconds()
    if runs.empty:
        return (
            f"No results: the settings of all {suite.n_deviating} runs deviate from the protocol."
        )
    text = [f"{len(runs)} of the {book.size} runs of the book's comparison are finished."]
    missing = []
    for dataset in book.index:
        finished = set(runs[runs["dataset"] == dataset]["method"])
        gaps = ", ".join(CONFIGURATIONS[name] for name in book if name not in finished)
        missing += [f"{dataset} ({gaps if finished else 'all'})"] if gaps else []
    if missing:
        text.append(f"Missing: {'; '.join(missing)}. All results below are based on the others.")
    if (n_short := int((runs["splits"] < SPLITS).sum())) > 0:
        text.append(
            f"{n_short} of them have fewer than {SPLITS} splits and are not used to test claims "
            "about scores."
        )
    reasons = {
        "because the settings deviate from the protocol": suite.n_deviating,
        "in favour of a run of the same configuration with more splits": suite.n_duplicates,
    }
    text += [
        f"{count} more {'was' if count == 1 else 'were'} left out {reason}."
        for reason, count in reasons.items()
        if count
    ]
    return " ".join(text)


SECTIONS = (section,)
