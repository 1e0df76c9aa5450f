"""The page of a run on the Bayesian mixture."""

from __future__ import annotations

from bnnbench.report.experiment_page import ExperimentPage
from bnnbench.suites.inference_toys.gaussian_mixture import names
from bnnbench.suites.inference_toys.gaussian_mixture.claims import claims
from bnnbench.suites.inference_toys.gaussian_mixture.figures import (
    densities_figure,
    prior_variance_figure,
    starts_figure,
    stochastic_figure,
)

EXPERIMENT_PAGE = ExperimentPage(
    kind=names.KIND,
    title="Bayesian mixture of Gaussians",
    caption=(
        "CAVI and variational EM: the start with the highest ELBO, which approximates the log "
        "evidence. Few points: exact values by a sum over all assignments. Held-out: mean over new "
        "points. Stochastic VI: mean ± standard error over repetitions; distance is the root mean "
        "square over the means of the components, one pass is N points."
    ),
    figures={
        "densities": densities_figure,
        "starts": starts_figure,
        "stochastic": stochastic_figure,
        "prior_variance": prior_variance_figure,
    },
    captions={
        "densities": "Predictive density (blue line) at selected iterations of the best start of "
        "CAVI, over a histogram of the data (grey). Dashed vertical lines: means of the components",
        "starts": "ELBO and mean log density of held-out points by iteration of CAVI, one line "
        "per random start; dots: last iteration. Black line: exact log evidence; dashed line: the "
        "same minus log K!, since each start finds one of K! equivalent modes; dotted line: log "
        "density under the true means",
        "stochastic": "Root mean square distance of the component means to the fixed point of "
        "CAVI, against passes through the data. Lines and bands: mean and range over repetitions "
        "of stochastic VI; dashed line: CAVI",
        "prior_variance": "Exact log evidence and ELBO against the prior variance of the "
        "component means. Dots: E-steps of variational EM; dashed lines: bounds with the factors "
        "of the first two E-steps fixed, each maximised by the next prior variance",
    },
    statements=claims,
)
