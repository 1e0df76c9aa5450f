"""Report section on the sprinkler: comparison with the thesis's tables, figures and claims."""

from __future__ import annotations

from collections.abc import Iterator

from bnnbench.report.blocks import Block, Heading, Paragraph, Style
from bnnbench.report.claims_table import claims_blocks
from bnnbench.results.claims.mean_tests import LEVEL
from bnnbench.results.read.run_tables import Runs
from bnnbench.suites.lam_density_ratio.comparison.claims import checked_claims
from bnnbench.suites.lam_density_ratio.comparison.evidence import (
    evidence_of,
    sprinkler_runs,
    thesis_evidence,
)
from bnnbench.suites.lam_density_ratio.comparison.figures import figure_blocks
from bnnbench.suites.lam_density_ratio.comparison.rules import (
    groups,
    pairwise_tests,
)
from bnnbench.suites.lam_density_ratio.comparison.tables import (
    STATEMENT,
    run_blocks,
    table_blocks,
)
from bnnbench.suites.lam_density_ratio.comparison.thesis import AVERAGE_KL_FLOOR

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
