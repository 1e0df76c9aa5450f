"""What a run on the Bayesian mixture shows: its figures, and what its sources say."""

from __future__ import annotations

from bnnbench.report.exhibit import Exhibit
from bnnbench.suites.inference_toys.gaussian_mixture import rules, tables
from bnnbench.suites.inference_toys.gaussian_mixture.figures import (
    densities_figure,
    prior_variance_figure,
    starts_figure,
    stochastic_figure,
)
from bnnbench.suites.inference_toys.sources import BOOK, LECTURE, THESIS

SETTINGS = (tables.FEW_POINTS, tables.MANY_POINTS)

STATEMENTS = (
    (
        "Coordinate ascent raises the ELBO in every iteration",
        f"{THESIS}, Alg. 3; {BOOK}, 3.2.1.4",
        rules.NeverFalls(tables.ASCENT, SETTINGS),
    ),
    (
        "The optimum it reaches is a local one",
        f"{BOOK}, 3.2.1.4",
        rules.LocalOptima(),
    ),
    (
        "The ELBO is a lower bound of the log evidence",
        f"{THESIS}, 3.4; {LECTURE}, variational EM",
        rules.BelowEvidence(),
    ),
    (
        "The approximation matches a single mode of the posterior",
        f"{BOOK}, 3.2.1.6",
        rules.OneMode(),
    ),
    (
        "It underestimates the marginal variances",
        f"{BOOK}, 3.2.1.6",
        rules.TooNarrow(),
    ),
    (
        "Stochastic VI converges with steps whose sum is infinite, that of their squares finite",
        f"{BOOK}, (3.19)",
        rules.Converges(tables.DECREASING, True),
    ),
    (
        "Without a finite sum of squares it does not: constant steps",
        f"{BOOK}, (3.19), second condition",
        rules.Converges(tables.CONSTANT, False),
    ),
    (
        "Without an infinite sum it does not: steps that fall too fast",
        f"{BOOK}, (3.19), first condition",
        rules.Converges(tables.TOO_FAST, False),
    ),
    (
        "Stochastic VI is faster than assessing all data",
        f"{BOOK}, 3.2.1.5",
        rules.Sooner(),
    ),
    (
        "Variational EM raises the ELBO in every iteration",
        f"{BOOK}, 3.2.1.4, steps 1 and 2; {LECTURE}",
        rules.NeverFalls(tables.VARIATIONAL_EM, (tables.FEW_POINTS,)),
    ),
    (
        "Maximising the ELBO by a parameter stands for maximising the evidence",
        f"{BOOK}, 3.2.1.4, step 2",
        rules.MaximisesEvidence(),
    ),
)

EXHIBIT = Exhibit(
    kind=tables.KIND,
    title="Bayesian mixture of Gaussians",
    caption=(
        "CAVI and variational EM: the best of all starts, whose ELBO approximates the log "
        "evidence; few points: exact by a sum over all assignments; held-out: mean over new "
        "points; stochastic VI: mean ± standard error over repetitions, distance = root mean "
        "square over the means of the components, one pass = as many points as there are"
    ),
    figures={
        "densities": densities_figure,
        "starts": starts_figure,
        "stochastic": stochastic_figure,
        "prior_variance": prior_variance_figure,
    },
    statements=STATEMENTS,
)
