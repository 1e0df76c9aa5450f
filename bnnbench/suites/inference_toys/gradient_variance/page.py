"""The page of a run on gradient variances."""

from __future__ import annotations

from bnnbench.report.experiment_page import ExperimentPage
from bnnbench.suites.inference_toys.gradient_variance.claims import claims
from bnnbench.suites.inference_toys.gradient_variance.figures import (
    convergence_figure,
    variances_figure,
)
from bnnbench.suites.inference_toys.gradient_variance.names import KIND
from bnnbench.suites.inference_toys.gradient_variance.saved_run import read_run

CAPTION = (
    "Gradients with respect to the mean and the log standard deviation of q = Normal(mean, std^2), "
    "from independent samples, ± standard error. Exact: closed forms for the quadratic and the "
    "ELBO, quadrature for the cosine."
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
    statements=claims,
    read_evidence=read_run,
)
