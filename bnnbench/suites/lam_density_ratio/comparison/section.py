"""The part of a report on the sprinkler: the thesis's tables, figures and claims beside ours."""

from __future__ import annotations

from collections.abc import Iterator

from bnnbench.report.claims_table import claims_blocks
from bnnbench.report.section import Block, Heading, Paragraph, Section, Style
from bnnbench.results.reader import Runs
from bnnbench.suites.lam_density_ratio.comparison.claims import claims, groups
from bnnbench.suites.lam_density_ratio.comparison.drawings import drawings
from bnnbench.suites.lam_density_ratio.comparison.estimator_rules import pairs_of
from bnnbench.suites.lam_density_ratio.comparison.evidence import (
    SprinklerRun,
    evidence_of,
    sprinkler_runs,
)
from bnnbench.suites.lam_density_ratio.comparison.published import FLOOR, printed
from bnnbench.suites.lam_density_ratio.comparison.rules import SURE
from bnnbench.suites.lam_density_ratio.comparison.shared_starts import shared_blocks
from bnnbench.suites.lam_density_ratio.comparison.tables import (
    STATEMENT,
    TEST_STATEMENT,
    run_blocks,
    table_blocks,
)

METRIC = (
    "The average KL is the thesis's (section 5.2): a kernel density of 1000 draws of q for each of "
    "five observations, evaluated at these draws, against the posterior without its normaliser. It "
    f"is no divergence: exact posterior draws score {FLOOR}, with a standard deviation of 0.002, "
    "and that is its floor."
)

ONE_ALGORITHM = (
    "The three estimators are one algorithm. With the activations that the thesis gives their "
    "outputs, T = a, r = exp(a) and D = 1 / (1 + exp(-a)) of the same pre-activation a, the losses "
    "of a divergence are the same function of a, and so are their gradients in the weights: the "
    "activation's slope cancels what differs between the losses' derivatives (section 9.1.2). Only "
    "rounding differs: in single precision D is 1 from a = 17 on, and exp(a) overflows beyond 88. "
    "So what chapters 8 and 9 compare between D, r and T is seeds and rounding. Welch's tests of "
    "the thesis's own numbers agree: among {pairs} pairs of estimators of one divergence {low} "
    "have a p below 0.05, the least {least:.2g}, and chance would give {chance:.1f}."
)

ILL_POSED = (
    "The joint contrast with five atoms has no optimum. It compares q*(x) q(z|x) with p(z) p(x|z), "
    "and q*(x) is five numbers where p(x) is continuous: no ratio exists, the divergence is "
    "infinite, and the better the estimator tells the five numbers from all others, the larger the "
    "NELBO. That explains why it rises while the posterior improves (sections 5.3 and 9.3 find it "
    "unclear). The remedy is observations=model: with x drawn from p(x) the NELBO falls towards 0. "
    "It needs numerics=stable, since the tail of p(x) overflows the published form of the losses."
)

CLAIMS_STATEMENT = (
    "What chapters 5 to 9 say, judged by the rule beside it on the runs that are there; where the "
    "thesis's tables allow, the last column applies the same rule to its own numbers. C15 and C16 "
    "are judged by experiment=estimator_parametrisations. A rule that needs a test asks for ten "
    "repetitions of everything it compares."
)


def section(runs: Runs, style: Style) -> Section | None:
    """The section; None without a finished sprinkler."""
    own = sprinkler_runs(runs)
    return Section(tuple(_blocks(own))) if own else None


def _blocks(runs: list[SprinklerRun]) -> Iterator[Block]:
    evidence = evidence_of(runs)
    yield Heading("The continuous sprinkler (density-ratio thesis, chapters 5 to 9)")
    yield Paragraph(METRIC)
    yield from run_blocks(runs)
    if any(evidence.tables.values()):
        yield Heading("The thesis's tables beside ours", 3)
        yield Paragraph(STATEMENT)
        yield Paragraph(TEST_STATEMENT)
        yield from table_blocks(evidence)
    yield Heading("What these tables compare", 3)
    yield Paragraph(one_algorithm())
    yield from shared_blocks(evidence)
    yield Heading("Five atoms", 3)
    yield Paragraph(ILL_POSED)
    yield Heading("Its figures from our runs", 3)
    yield from drawings(evidence)
    yield Heading("What the thesis says of the sprinkler", 3)
    yield Paragraph(CLAIMS_STATEMENT)
    yield from claims_blocks(claims(evidence), "density_ratio_claims")


def one_algorithm() -> str:
    """What chapters 8 and 9 compare, with the tests of the thesis's own numbers."""
    tables, found = printed(), [*groups("optimal"), *groups("undertrained")]
    ps = [p for table, group in found for _, p in pairs_of(tables[table], group)]
    low = sum(p < SURE for p in ps)
    return ONE_ALGORITHM.format(pairs=len(ps), low=low, least=min(ps), chance=SURE * len(ps))
