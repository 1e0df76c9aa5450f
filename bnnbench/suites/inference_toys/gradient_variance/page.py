"""The page of a run on gradient variances."""

from __future__ import annotations

from bnnbench.report.experiment_page import ExperimentPage
from bnnbench.suites.inference_toys.gradient_variance.figures import (
    convergence_figure,
    variances_figure,
)
from bnnbench.suites.inference_toys.gradient_variance.names import CONTROL_VARIATE, KIND, SCORE
from bnnbench.suites.inference_toys.gradient_variance.rules import (
    BiasedByLogarithm,
    ControlVariateReducesVariance,
    ConvergesCloser,
    HigherVariance,
    RaoBlackwellReducesVariance,
    Unbiased,
    ZeroVarianceAtPosterior,
)
from bnnbench.suites.inference_toys.gradient_variance.saved_run import read_run
from bnnbench.suites.inference_toys.sources import BOOK

CAPTION = (
    "Gradients with respect to the mean and the log standard deviation of q = Normal(mean, std^2), "
    "from independent samples, ± standard error. Exact: closed forms for the quadratic and the "
    "ELBO, quadrature for the cosine."
)

STATEMENTS = (
    ("Both estimators are unbiased", f"{BOOK}, A.1", Unbiased()),
    (
        "Gradient estimates by eq. 3.77 are biased because of the logarithm",
        f"{BOOK}, 3.2.4.1",
        BiasedByLogarithm(),
    ),
    (
        "The score-function estimator generally has a higher variance than the pathwise estimator",
        f"{BOOK}, A.1",
        HigherVariance(),
    ),
    (
        "Control variates reduce the variance of the score-function estimator",
        f"{BOOK}, 3.2.4.1, Ranganath et al. 2014",
        ControlVariateReducesVariance(),
    ),
    (
        "Rao-Blackwellisation reduces the variance of the score-function estimator",
        f"{BOOK}, 3.2.4.1, Ranganath et al. 2014",
        RaoBlackwellReducesVariance(),
    ),
    (
        "With equal samples, the pathwise gradient converges closer than the score function",
        f"{BOOK}, 3.2.4.1",
        ConvergesCloser(SCORE),
    ),
    (
        "With equal samples, the pathwise gradient converges closer than the control variate",
        f"{BOOK}, 3.2.4.1",
        ConvergesCloser(CONTROL_VARIATE),
    ),
    (
        "At the posterior, estimators that sample both log p and log q have zero variance",
        f"{BOOK}, eq. 3.77, Roeder et al. 2017",
        ZeroVarianceAtPosterior(),
    ),
)

EXPERIMENT_PAGE = ExperimentPage(
    kind=KIND,
    title="Variance of gradient estimators",
    caption=CAPTION,
    figures={"variances": variances_figure, "convergence": convergence_figure},
    captions={
        "variances": "Variance of each estimator of the gradient (bars, on a log scale) with "
        "respect to the mean (top) and log standard deviation (bottom) of q. Black lines: exact "
        "values where known; a grey 0 marks a variance of zero",
        "convergence": "Left: divergence from the posterior during gradient ascent on the ELBO; "
        "lines and bands: median and 10 % to 90 % quantiles over repetitions. Right: variance of "
        "one gradient component by number of latent variables; dots: measured, lines: exact",
    },
    statements=STATEMENTS,
    read_evidence=read_run,
)
