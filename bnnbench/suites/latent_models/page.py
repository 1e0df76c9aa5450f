"""The report pages of this suite."""

from __future__ import annotations

from bnnbench.report.experiment_page import make_run_page, make_section
from bnnbench.suites.latent_models import distortion_rate_page, planar_flows_page
from bnnbench.suites.latent_models.latent_sizes import page as latent_sizes
from bnnbench.suites.latent_models.semi_supervised import page as semi_supervised

EXPERIMENT_PAGES = (
    distortion_rate_page.EXPERIMENT_PAGE,
    latent_sizes.EXPERIMENT_PAGE,
    planar_flows_page.EXPERIMENT_PAGE,
    semi_supervised.EXPERIMENT_PAGE,
)

PAGES = tuple(map(make_run_page, EXPERIMENT_PAGES))

SECTIONS = (make_section(EXPERIMENT_PAGES),)
