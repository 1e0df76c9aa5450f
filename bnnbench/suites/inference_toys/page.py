"""The report pages of the toys."""

from __future__ import annotations

from bnnbench.report.experiment_page import ExperimentPage, make_run_page, make_section
from bnnbench.suites.inference_toys.clutter import page as clutter
from bnnbench.suites.inference_toys.conjugate_pairs import page as conjugate_pairs
from bnnbench.suites.inference_toys.em_factory import page as em_factory
from bnnbench.suites.inference_toys.expectation_maximisation import page as em
from bnnbench.suites.inference_toys.gaussian_mixture import page as gaussian_mixture
from bnnbench.suites.inference_toys.gradient_variance import page as gradient_variance
from bnnbench.suites.inference_toys.kl_shapes import page as kl_shapes
from bnnbench.suites.inference_toys.noise_precision import page as noise_precision

EXPERIMENT_PAGES: tuple[ExperimentPage, ...] = (
    conjugate_pairs.EXPERIMENT_PAGE,
    em_factory.EXPERIMENT_PAGE,
    clutter.EXPERIMENT_PAGE,
    em.EXPERIMENT_PAGE,
    gaussian_mixture.EXPERIMENT_PAGE,
    gradient_variance.EXPERIMENT_PAGE,
    kl_shapes.EXPERIMENT_PAGE,
    noise_precision.EXPERIMENT_PAGE,
)

PAGES = tuple(make_run_page(page) for page in EXPERIMENT_PAGES)

SECTIONS = (make_section(EXPERIMENT_PAGES),)
