"""The book's comparison in a report, with its Tables 4.3 and 4.4 and what it says of them."""

from __future__ import annotations

from bnnbench.report.claims_table import claims_blocks
from bnnbench.report.numbers import plus_minus
from bnnbench.report.section import (
    Block,
    Heading,
    Items,
    Paragraph,
    Section,
    Style,
    Table,
    numbers,
    words,
)
from bnnbench.results.reader import Runs
from bnnbench.results.significance import all_pairs
from bnnbench.results.with_published import with_published
from bnnbench.suites.cinelli_book.claims import claims
from bnnbench.suites.cinelli_book.comparison import (
    CONFIGURATIONS,
    SPLITS,
    BookRuns,
    book_runs,
    book_seconds,
)
from bnnbench.suites.cinelli_book.practice import practice_blocks
from bnnbench.suites.cinelli_book.times import times_blocks

LIKELIHOODS_STATEMENT = (
    "Three quantities go by this name; all are averages over test points, in nats."
)

LIKELIHOODS = (
    "Per point: the log of the density averaged over weight samples, point by point. Published for "
    "MC dropout and in most papers; it is what this report means by log-likelihood.",
    "Joint: the density of all test points together is averaged over weight samples, and its log "
    "divided by their number. The code of Vadam and SLANG computes it; the published values of BBB "
    "are the SLANG paper's, and none of Vadam's could be confirmed.",
    "Gaussian: one Gaussian with the mixture's mean and variance. PBP predicts just that, so for "
    "PBP all three agree, and its published values may stand under per point.",
)

LIKELIHOOD_OF_THE_BOOK = (
    "The book draws its log-likelihoods (Fig. 4.17) and prints none. It names the Gaussian density "
    "of one network (eq. 4.1) and does not say how it averages that over its 100 weight samples."
)

CLAIMS_STATEMENT = (
    "What section 4.7.5 says, checked by the rule in the last column on the data sets that have "
    "every configuration it names. A number counts as confirmed from half to twice it (an excess "
    "of 16 %: 8 to 32 %). Claims about total time are checked on the book's own Table 4.3 as well, "
    "over the same data sets; its scores and its fits' times it does not print."
)


def section(runs: Runs, style: Style) -> Section | None:
    """The part of the report on the book's comparison; None without runs of it."""
    if runs.scored.empty:
        return None
    suite = book_runs(with_published(runs), runs.once(all_pairs))
    if suite is None:
        return None
    opening = (Heading("The book's comparison (section 4.7)"), Paragraph(coverage_sentence(suite)))
    if suite.runs.empty:
        return Section(opening)
    return Section((
        *opening,
        *times_blocks(suite),
        *practice_blocks(suite),
        *likelihood_blocks(suite),
        Heading("What the book says (section 4.7.5)", 3),
        Paragraph(CLAIMS_STATEMENT),
        *claims_blocks(claims(suite), "claims"),
    ))  # fmt: skip


def coverage_sentence(suite: BookRuns) -> str:
    """Which part of the book's comparison is there, and what was left out."""
    runs, book = suite.runs, book_seconds()
    if runs.empty:
        return f"Nothing is said of it: runs with settings that are not its own: {suite.departing}."
    text = [f"{len(runs)} of the {book.size} runs of the book's comparison are finished."]
    missing = []
    for dataset in book.index:
        there = set(runs[runs["dataset"] == dataset]["method"])
        gaps = ", ".join(CONFIGURATIONS[name] for name in book if name not in there)
        missing += [f"{dataset} ({gaps if there else 'all'})"] if gaps else []
    if missing:
        text.append(f"Missing: {'; '.join(missing)}. What follows rests on the others alone.")
    if (short := int((runs["splits"] < SPLITS).sum())) > 0:
        text.append(
            f"{short} of them have fewer than {SPLITS} splits: no claim about scores rests on them."
        )
    if suite.departing:
        more = f"{suite.departing} more {'was' if suite.departing == 1 else 'were'} left out"
        text.append(f"{more}: the settings differ from the protocol's.")
    if suite.surplus:
        more = f"{suite.surplus} more {'was' if suite.surplus == 1 else 'were'} left out"
        text.append(f"{more}: of each kind the run of most splits is taken.")
    return " ".join(text)


def likelihood_blocks(suite: BookRuns) -> tuple[Block, ...]:
    """What the page says of the three log-likelihoods."""
    return (
        Heading("Three log-likelihoods", 3),
        Paragraph(LIKELIHOODS_STATEMENT),
        Items(LIKELIHOODS),
        Paragraph(LIKELIHOOD_OF_THE_BOOK),
        likelihoods_table(suite),
    )


def likelihoods_table(suite: BookRuns) -> Table:
    """The three log-likelihoods of every run, published ones beside."""
    heads = ("Per point", "published", "Joint", "published", "Gaussian")
    kinds = ("", "_published", "_joint", "_joint_published", "_gaussian")
    rows = []
    for run in suite.runs.to_dict("records"):
        cells = [run["dataset"], CONFIGURATIONS[run["method"]]]
        for kind in kinds:
            name = f"log_likelihood{kind}"
            mean = name if kind.endswith("published") else f"{name}_mean"
            cells.append(plus_minus(run[mean], run[f"{name}_stderr"]))
        rows.append(tuple(cells))
    return Table((*words("Data set", "Method"), *numbers(*heads)), tuple(rows))


SECTIONS = (section,)
