"""Report sections of the suite and pages of its runs."""

from __future__ import annotations

from bnnbench.report.experiment_page import make_run_page, make_section
from bnnbench.suites.lam_density_ratio.comparison.section import section
from bnnbench.suites.lam_density_ratio.run_page import PAGE
from bnnbench.suites.lam_density_ratio.theory.bounds_page import EXPERIMENT_PAGE as BOUNDS
from bnnbench.suites.lam_density_ratio.theory.parametrisations_page import (
    EXPERIMENT_PAGE as FUNCTIONALS,
)

EXPERIMENT_PAGES = (BOUNDS, FUNCTIONALS)

SECTIONS = (section, make_section(EXPERIMENT_PAGES))

PAGES = (PAGE, *(make_run_page(page) for page in EXPERIMENT_PAGES))
