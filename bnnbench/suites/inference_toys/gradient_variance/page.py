"""What a run of the gradient variances shows."""

from __future__ import annotations

from bnnbench.report.exhibit import Exhibit
from bnnbench.suites.inference_toys.gradient_variance.figures import (
    convergence_figure,
    variances_figure,
)
from bnnbench.suites.inference_toys.gradient_variance.findings import read_findings
from bnnbench.suites.inference_toys.gradient_variance.rules import (
    BiasedByTheLog,
    ControlLowersVariance,
    EndsNearer,
    HigherVariance,
    RaoBlackwellLowersVariance,
    Unbiased,
    VanishesAtTheOptimum,
)
from bnnbench.suites.inference_toys.gradient_variance.tables import CONTROLLED, KIND, SCORE
from bnnbench.suites.inference_toys.sources import BOOK

CAPTION = (
    "gradients by the mean and the log deviation of q = Normal(mean, deviation^2), measured on "
    "independent draws, ± standard error; exact: closed forms for the quadratic and the ELBO, "
    "quadrature for the wave. Variances of single estimates have no units but those of f"
)

STATEMENTS = (
    ("Both estimators are unbiased", f"{BOOK}, A.1", Unbiased()),
    (
        "Estimates by eq. 3.77 are not unbiased, due to the log function",
        f"{BOOK}, 3.2.4.1",
        BiasedByTheLog(),
    ),
    (
        "The score function estimator generally has higher variance",
        f"{BOOK}, A.1",
        HigherVariance(),
    ),
    (
        "Methods that lower the variance keep the black box: control variates",
        f"{BOOK}, 3.2.4.1, Ranganath et al. 2014",
        ControlLowersVariance(),
    ),
    (
        "The same: Rao-Blackwellisation",
        f"{BOOK}, 3.2.4.1, Ranganath et al. 2014",
        RaoBlackwellLowersVariance(),
    ),
    (
        "With as many draws the pathwise gradient leads nearer than the score function's",
        f"{BOOK}, 3.2.4.1",
        EndsNearer(SCORE),
    ),
    (
        "The same against the score function with control variate",
        f"{BOOK}, 3.2.4.1",
        EndsNearer(CONTROLLED),
    ),
    (
        "At the posterior, estimators that sample log q with log p have no variance",
        f"{BOOK}, eq. 3.77, Roeder et al. 2017",
        VanishesAtTheOptimum(),
    ),
)

EXHIBIT = Exhibit(
    kind=KIND,
    title="Gradients of expectations, and how noisy they are",
    caption=CAPTION,
    figures={"variances": variances_figure, "convergence": convergence_figure},
    statements=STATEMENTS,
    given=read_findings,
)
