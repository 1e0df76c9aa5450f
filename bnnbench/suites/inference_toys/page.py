"""What the toys show: each has an exhibit of its own."""

from __future__ import annotations

from bnnbench.report.exhibit import Exhibit, page_of, section_of
from bnnbench.suites.inference_toys.clutter import page as clutter
from bnnbench.suites.inference_toys.conjugate_pairs import page as conjugate_pairs
from bnnbench.suites.inference_toys.em_factory import page as em_factory
from bnnbench.suites.inference_toys.expectation_maximisation import page as em
from bnnbench.suites.inference_toys.gaussian_mixture import page as gaussian_mixture
from bnnbench.suites.inference_toys.gradient_variance import page as gradient_variance
from bnnbench.suites.inference_toys.kl_shapes import page as kl_shapes
from bnnbench.suites.inference_toys.noise_precision import page as noise_precision

EXHIBITS: tuple[Exhibit, ...] = (
    conjugate_pairs.EXHIBIT,
    em_factory.EXHIBIT,
    clutter.EXHIBIT,
    em.EXHIBIT,
    gaussian_mixture.EXHIBIT,
    gradient_variance.EXHIBIT,
    kl_shapes.EXHIBIT,
    noise_precision.EXHIBIT,
)

PAGES = tuple(page_of(exhibit) for exhibit in EXHIBITS)

SECTIONS = (section_of(EXHIBITS),)
